// Which session of a server stands where in which episode. An episode is its start and the calls since: that finds the session that
// goes on, and brings the episode back in another session where it was lost, forked, or put aside for others.

import { contentHash } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { CallSpec } from '../tools/domain.js';
import {
  type EnvironmentServer,
  type EpisodeStart,
  type ServerAnswer,
  ServerFull,
  type ServerSession,
  SessionLost,
} from './server-http.js';

interface EpisodesOptions {
  /** Sessions held at once; fewer where the server takes fewer. */
  readonly sessions: number;
  /** How long a server that is gone, or full, is asked again. */
  readonly patienceSeconds: number;
}

/** A call that was made, and what it was answered; absent where that does not matter. */
export interface Played {
  readonly call: CallSpec;
  readonly answer?: Pick<ServerAnswer, 'observation'>;
}

/** How an episode went so far. */
export interface EpisodeSoFar {
  readonly start: EpisodeStart;
  /** What was seen first; absent where that does not matter. */
  readonly opening?: string;
  readonly played: readonly Played[];
}

/** A session in mid-episode that has no request at the moment. */
interface Resting {
  readonly session: ServerSession;
  readonly key: string;
}

/** Sessions in a row that one call may lose before the episode is given up. */
const LOSSES = 3;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2000;
/** A session without an episode is kept for the next one for so long: others may wait for its place on the server. */
const LINGER_MS = 1000;

export class ServerEpisodes {
  /** In mid-episode, the one asked longest ago first. */
  private resting: Resting[] = [];
  /** Whose episodes are over. */
  private readonly free: ServerSession[] = [];
  /** Resting, free and asked ones. */
  private held = 0;
  private limit: number;
  private waiting: (() => void)[] = [];

  constructor(
    private readonly server: EnvironmentServer,
    private readonly options: EpisodesOptions,
  ) {
    this.limit = options.sessions;
  }

  /** Begins an episode; answers what is seen first. @throws what the server is at fault with, once patience is over */
  async begin(start: EpisodeStart, signal?: AbortSignal): Promise<string> {
    const { session, opening } = await this.begun(start, signal);
    this.rest({ session, key: keyOf(start, []) });
    return opening;
  }

  /**
   * Makes the call after those that were played.
   * @throws EPISODE_LOST where no session comes to where the episode was; what the server is at fault with
   */
  async answer(soFar: EpisodeSoFar, call: CallSpec, signal?: AbortSignal): Promise<ServerAnswer> {
    const { start, played } = soFar;
    const calls = played.map((one) => one.call);
    let session = this.taken(keyOf(start, calls));
    for (let losses = 0; ; ) {
      try {
        session ??= await this.replayed(soFar, signal);
        const answer = await session.call(call, signal);
        if (answer.done) this.leave(session);
        else this.rest({ session, key: keyOf(start, [...calls, call]) });
        return answer;
      } catch (error) {
        if (session !== undefined) await this.drop(session);
        session = undefined;
        losses++;
        if (!(error instanceof SessionLost) || losses >= LOSSES) throw this.told(error, played.length);
      }
    }
  }

  /** The episode is over: its session is free for others. */
  ended(start: EpisodeStart, calls: readonly CallSpec[]): void {
    const session = this.taken(keyOf(start, calls));
    if (session !== undefined) this.leave(session);
  }

  async close(): Promise<void> {
    const sessions = [...this.free.splice(0), ...this.resting.splice(0).map(({ session }) => session)];
    this.held -= sessions.length;
    await Promise.all(sessions.map((session) => session.close()));
    await this.server.close();
  }

  /** @throws EPISODE_LOST where it goes otherwise than it went */
  private async replayed({ start, opening, played }: EpisodeSoFar, signal?: AbortSignal): Promise<ServerSession> {
    const { session, opening: seen } = await this.begun(start, signal);
    try {
      if (opening !== undefined && seen !== opening) throw this.lost(0, otherwise('It begins', seen, opening));
      for (const [i, { call, answer: expected }] of played.entries()) {
        const { observation, done } = await session.call(call, signal);
        if (expected !== undefined && observation !== expected.observation) {
          throw this.lost(i + 1, otherwise(`Call ${i + 1} is answered`, observation, expected.observation));
        }
        if (done) throw this.lost(i + 1, `It ended with call ${i + 1}, as it had not before.`);
      }
      return session;
    } catch (error) {
      await this.drop(session);
      throw error;
    }
  }

  /** A session in which the episode has just begun, as soon as there is one. */
  private async begun(start: EpisodeStart, signal?: AbortSignal): Promise<{ session: ServerSession; opening: string }> {
    const until = performance.now() + this.options.patienceSeconds * 1000;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      let session: ServerSession | undefined;
      try {
        session = await this.acquired(signal);
        return { session, opening: await session.begin(start, signal) };
      } catch (error) {
        if (session !== undefined) await this.drop(session);
        if (error instanceof ServerFull) this.limit = Math.max(1, this.held);
        else if (!(error instanceof SessionLost)) throw error;
        if (performance.now() > until) throw error.cause ?? error;
      }
      signal?.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** A free one, a new one, the one asked longest ago, or whichever comes to rest next. */
  private async acquired(signal?: AbortSignal): Promise<ServerSession> {
    for (;;) {
      signal?.throwIfAborted();
      const free = this.free.pop();
      if (free !== undefined) return free;
      if (this.held < this.limit) return this.opened();
      const idle = this.resting.shift();
      if (idle !== undefined) return idle.session;
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  private async opened(): Promise<ServerSession> {
    this.held++;
    try {
      return await this.server.open();
    } catch (error) {
      this.held--;
      throw error;
    }
  }

  private taken(key: string): ServerSession | undefined {
    const at = this.resting.findIndex((one) => one.key === key);
    return at < 0 ? undefined : this.resting.splice(at, 1)[0].session;
  }

  private rest(resting: Resting): void {
    this.resting.push(resting);
    this.wake();
  }

  private leave(session: ServerSession): void {
    this.free.push(session);
    this.wake();
    setTimeout(() => {
      const at = this.free.indexOf(session);
      if (at >= 0) void this.drop(this.free.splice(at, 1)[0]);
    }, LINGER_MS).unref();
  }

  private async drop(session: ServerSession): Promise<void> {
    this.held--;
    await session.close();
    this.wake();
  }

  private wake(): void {
    this.waiting.shift()?.();
  }

  /** As users are shown it. A call that is never answered would not be in another session, either. */
  private told(error: unknown, calls: number): unknown {
    if (error instanceof SessionLost) return this.lost(calls, error.message, error.cause);
    const { code, message } = error as { code?: string; message: string };
    return code === 'REMOTE_TIMEOUT' ? this.lost(calls, message, error) : error;
  }

  private lost(calls: number, problem: string, cause?: unknown): Error {
    const { protocol, url } = this.server;
    return reverieError('EPISODE_LOST', { protocol, url, calls, problem, retryable: true }, cause);
  }
}

function keyOf({ task, seed }: EpisodeStart, calls: readonly CallSpec[]): string {
  return contentHash({ task: task.id, seed, calls: calls.map(({ name, arguments: given }) => [name, given]) });
}

function otherwise(what: string, now: string, before: string): string {
  return `${what} "${now.slice(0, 80)}" and was "${before.slice(0, 80)}".`;
}
