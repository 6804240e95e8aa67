// An environment on somebody else's server as a domain of tools. Its state stays there and is not known: here it is an empty object,
// and the conversation is what brings an episode back. What its episodes are worth is what the server paid.

import { contentHash } from '../../core/canonical-json.js';
import { NO_COST } from '../../core/cost.js';
import { nameHint, reverieError } from '../../core/errors.js';
import { callChecks } from '../tools/check-action.js';
import type { CallSpec, ToolSpec, ToolsTask } from '../tools/domain.js';
import type { Message } from '../tools/message.js';
import { exactPrediction } from '../tools/prediction.js';
import type { DomainElsewhere } from '../tools/rules-responder.js';
import { ScriptedUser } from '../tools/scripted-user.js';
import type { CallQuery, Responder, UserSimulator } from '../tools/tools-family.js';
import {
  type EnvironmentServer,
  type EpisodeStart,
  type ServerAnswer,
  type ServerCard,
  ServerFull,
  type ServerSession,
  type ServerSettings,
  type ServerTask,
  SessionLost,
} from './server-http.js';

const BACKEND = 'real';
/** Said where an environment shows nothing before the first call. */
const NOTHING_SHOWN = 'Begin.';
const POLICY = 'You act in an environment by calling its tools. Read what they answer, and reach what is asked for.';
const GOAL = 'What the environment pays for.';

/**
 * The domain of a server; talks to it once.
 * @param protocol  as scenarios name it
 * @throws as `EnvironmentServer.describe`
 */
export async function serverDomain(
  protocol: string,
  server: EnvironmentServer,
  settings: ServerSettings,
): Promise<DomainElsewhere> {
  const card = await described(server);
  const tools = card.tools.map(
    ({ isRead, ...tool }): ToolSpec => ({ ...tool, kind: isRead === true ? 'read' : 'write' }),
  );
  const starts = new Map(withOwnIds(card.tasks).map((task) => [task.id, task]));
  const tasks = [...starts.values()];
  const { name, version, instructions } = card;
  const policy = instructions === '' ? POLICY : instructions;
  const domainVersion = contentHash({ protocol, name, version, policy, tools, tasks });
  const episodes = new ServerEpisodes(server, settings);
  const of = `${protocol} ${name} ${domainVersion.slice(0, 16)}`;
  /** @throws TASK_UNKNOWN for a task that was made here */
  const startOf = ({ id }: ToolsTask, seed: number): EpisodeStart => {
    const task = starts.get(id);
    if (task !== undefined) return { task, seed };
    const hint = nameHint(id, [...starts.keys()]);
    throw reverieError('TASK_UNKNOWN', { id: 'server', task: id, count: starts.size, hint });
  };
  return {
    id: name,
    version: domainVersion,
    policy,
    tools,
    stateSchema: { type: 'object', additionalProperties: false, properties: {} },
    initialState: Object.freeze({}),
    tasks: tasks.map(({ id, split }): ToolsTask => {
      return { id, family: id, split, user: { goal: GOAL }, verifier: { rewards: 'sum' } };
    }),
    real: {
      sessions: settings.sessions,
      responder: responderOf(`${BACKEND}:${of}`, { episodes, startOf, tools }),
      user: userOf(`server:${of}`, { episodes, startOf }),
    },
    close: () => void episodes.close(),
  };
}

async function described(server: EnvironmentServer): Promise<ServerCard> {
  try {
    const card = await server.describe();
    if (card.tools.length > 0) return card;
    throw server.http.invalid('a list of its tools', '[]', 'there is nothing that an agent could call');
  } catch (error) {
    await server.http.close();
    throw error instanceof SessionLost ? (error.cause ?? error) : error;
  }
}

/** Two splits may each have a task of one id. */
function withOwnIds(tasks: readonly ServerTask[]): readonly ServerTask[] {
  const seen = new Set<string>();
  return tasks.map((task) => {
    const id = seen.has(task.id) ? `${task.split}/${task.id}` : task.id;
    seen.add(id);
    return { ...task, id };
  });
}

interface ServerParts {
  readonly episodes: ServerEpisodes;
  readonly startOf: (task: ToolsTask, seed: number) => EpisodeStart;
  readonly tools: readonly ToolSpec[];
}

/** Answers calls by the session that stands where the conversation does. */
function responderOf(version: string, { episodes, startOf, tools }: ServerParts): Responder {
  /** @param until  the call that is to be made next */
  const soFar = ({ task, seed, messages }: Pick<CallQuery, 'task' | 'seed' | 'messages'>, until?: string) => {
    const opening = messages.find(({ role }) => role === 'user')?.content ?? NOTHING_SHOWN;
    const played = callsMade(messages, tools, until);
    return { start: startOf(task, seed), played, ...(opening === NOTHING_SHOWN ? {} : { opening }) };
  };
  return {
    version,
    trusts: (backend) => backend === BACKEND,
    async answer(query, signal) {
      const { call } = query;
      const { reward, done, ...outcome } = await episodes.answer(soFar(query, call.id), call, signal);
      const why = [`the server answered ${call.name}`];
      const told = exactPrediction({ operations: [], ...outcome }, { backend: BACKEND, modelVersion: version, why });
      return { ...told, reward, terminated: done };
    },
    ended(episode) {
      const { start, played } = soFar(episode);
      episodes.ended(
        start,
        played.map(({ call }) => call),
      );
    },
    close: () => {},
  };
}

/** Calls that reached the server: those that break a tool's schema never do. */
function callsMade(messages: readonly Message[], tools: readonly ToolSpec[], until: string | undefined) {
  const checks = callChecks(tools);
  const answers = new Map(messages.flatMap((one) => (one.role === 'tool' ? [[one.toolCallId, one.content]] : [])));
  const made: Played[] = [];
  for (const call of messages.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : []))) {
    const observation = answers.get(call.id);
    if (call.id === until) break;
    if (observation !== undefined && checks.problems(call).length === 0) made.push({ call, observation });
  }
  return made;
}

/** Shows what the server shows first; what is said to no user is answered as a user without a script does. */
function userOf(version: string, { episodes, startOf }: Omit<ServerParts, 'tools'>): UserSimulator {
  const listener = new ScriptedUser();
  return {
    version,
    async open({ task, seed }, signal) {
      const shown = await episodes.begin(startOf(task, seed), signal);
      return { content: shown.trim() === '' ? NOTHING_SHOWN : shown, done: false, cost: NO_COST };
    },
    reply: (query) => listener.reply(query),
  };
}

// Which session of a server stands where in which episode. An episode is its start and the calls since: that finds the session that
// goes on, and brings the episode back in another session where it was lost, forked, or put aside for others.

/** A call that was made, and what it was answered. */
interface Played {
  readonly call: CallSpec;
  readonly observation: string;
}

/** How an episode went so far. */
interface EpisodeSoFar {
  readonly start: EpisodeStart;
  /** What was seen first; absent where that does not matter. */
  readonly opening?: string;
  readonly played: readonly Played[];
}

/** Sessions in a row that one call may lose before the episode is given up. */
const LOSSES = 3;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2000;
/** A session without an episode is kept for the next one for so long: others may wait for its place on the server. */
const LINGER_MS = 1000;

class ServerEpisodes {
  /** In mid-episode, without a request at the moment; the one asked longest ago first. */
  private readonly resting: { readonly session: ServerSession; readonly key: string }[] = [];
  /** Whose episodes are over. */
  private readonly free: ServerSession[] = [];
  /** Resting, free and asked ones. */
  private held = 0;
  private limit: number;
  private readonly waiting: (() => void)[] = [];

  constructor(
    private readonly server: EnvironmentServer,
    private readonly options: Pick<ServerSettings, 'sessions' | 'patienceSeconds'>,
  ) {
    this.limit = options.sessions;
  }

  /** Begins an episode; answers what is seen first. @throws what the server is at fault with, once patience is over */
  async begin(start: EpisodeStart, signal?: AbortSignal): Promise<string> {
    const { session, opening } = await this.begun(start, signal);
    this.rest(session, keyOf(start, []));
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
        else this.rest(session, keyOf(start, [...calls, call]));
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
    await this.server.http.close();
  }

  /** @throws EPISODE_LOST where it goes otherwise than it went */
  private async replayed({ start, opening, played }: EpisodeSoFar, signal?: AbortSignal): Promise<ServerSession> {
    const { session, opening: seen } = await this.begun(start, signal);
    try {
      if (opening !== undefined && seen !== opening) throw this.lost(0, otherwise('It begins', seen, opening));
      for (const [i, { call, observation: before }] of played.entries()) {
        const { observation, done } = await session.call(call, signal);
        if (observation !== before) throw this.lost(i + 1, otherwise(`Call ${i + 1} is answered`, observation, before));
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
      if (this.held < this.limit) {
        this.held++;
        return this.server.open().catch((error) => {
          this.held--;
          throw error;
        });
      }
      const idle = this.resting.shift();
      if (idle !== undefined) return idle.session;
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  private taken(key: string): ServerSession | undefined {
    const at = this.resting.findIndex((one) => one.key === key);
    return at < 0 ? undefined : this.resting.splice(at, 1)[0].session;
  }

  private rest(session: ServerSession, key: string): void {
    this.resting.push({ session, key });
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
    const { protocol, url } = this.server.http;
    return reverieError('EPISODE_LOST', { protocol, url, calls, problem, retryable: true }, cause);
  }
}

function keyOf({ task, seed }: EpisodeStart, calls: readonly CallSpec[]): string {
  return contentHash({ task: task.id, seed, calls: calls.map(({ name, arguments: given }) => [name, given]) });
}

function otherwise(what: string, now: string, before: string): string {
  return `${what} "${now.slice(0, 80)}" and was "${before.slice(0, 80)}".`;
}
