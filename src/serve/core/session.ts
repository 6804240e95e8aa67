// One session: a world, the episode it is in, and a lock, as it takes one request at a time. A request that carries an id is
// done once, however often it is sent. What is asked is answered by its deadline: a turn that is not answered has not happened,
// and the session resumes from its past in another environment.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../core/canonical-json.js';
import type { EnvSnapshot, StepResult } from '../../core/environment.js';
import { ReverieError, reverieError } from '../../core/errors.js';
import type { ToolsStepInfo } from '../../env/tools/tools-family.js';
import type { Servable } from '../../run/servable.js';
import { Deadline, type SessionLimits, Slots } from './limits.js';
import {
  type Action,
  type Done,
  type Owner,
  type RepeatOptions,
  type SessionEvent,
  type SessionState,
  type SessionStatus,
  sessionKey,
  type Turn,
} from './session-contract.js';
import { type Episode, type KeptState, REMEMBERED, type SessionRecord, type SessionStore } from './session-store.js';
import { World } from './world.js';

/** What a session needs of the server it is on. */
export interface SessionHost {
  readonly limits: SessionLimits;
  /** Writes sessions down, so that they outlive the process. */
  readonly store?: SessionStore;
  announce(event: SessionEvent): void;
  /** A request has left the session in the state that it keeps. */
  onRest(session: Session): void;
}

export interface NewSession {
  readonly served: Servable;
  readonly id: string;
  readonly owner: Owner;
  readonly parent?: string;
  /** It was given one of the slots its maker has taken. */
  readonly hasSlot?: boolean;
  /** Milliseconds since the epoch; now unless given. */
  readonly openedAt?: number;
  /** Where another process has left it. */
  readonly left?: { readonly episode?: Episode; readonly snapshot?: EnvSnapshot };
}

interface AskOptions extends RepeatOptions {
  /** The client may leave by it. */
  readonly signal?: AbortSignal;
  /** Until the deadline, if that is sooner than the server's. */
  readonly seconds?: number;
}

const START = { reward: null, terminated: false, truncated: false, stepCount: 0, return: 0 };

export class Session {
  readonly id: string;
  readonly owner: Owner;
  readonly served: Servable;
  /** Its name among all sessions of the server. */
  readonly key: string;
  readonly openedAt: number;
  lastUsedAt: number;
  /** Whether it holds a slot. */
  hasSlot: boolean;
  episode: Episode | undefined;
  private readonly parent: string | undefined;
  private readonly lock = new Slots(1);
  private readonly pending = new Set<Deadline>();
  /** By the ids of requests: what was asked, and its answer. What failed may be tried again. */
  private readonly answers = new Map<string, { readonly print: string; readonly answer: Promise<unknown> }>();
  /** Ids of those that were answered, in the order of their answers. */
  private readonly answered: string[] = [];
  /** The request that is done now, where it may be sent again. */
  private asked: { readonly id: string; readonly print: string } | undefined;
  private world: World;
  private shutBy: { readonly error: unknown } | undefined;

  constructor(
    private readonly host: SessionHost,
    { served, id, owner, parent, hasSlot = false, openedAt = Date.now(), left }: NewSession,
  ) {
    this.id = id;
    this.owner = owner;
    this.served = served;
    this.parent = parent;
    this.key = sessionKey(owner, id);
    this.hasSlot = hasSlot;
    this.openedAt = openedAt;
    this.lastUsedAt = openedAt;
    this.episode = left?.episode;
    this.world = new World(served, { snapshot: left?.snapshot, commands: [] });
  }

  /** Requests are under way or waiting. */
  get busy(): boolean {
    return this.lock.counts.active > 0;
  }

  get status(): SessionStatus {
    if (this.episode === undefined) return 'idle';
    const { terminated, truncated } = this.episode.turn;
    return terminated || truncated ? 'done' : 'running';
  }

  get state(): SessionState {
    const { episode, parent } = this;
    return {
      id: this.id,
      env: this.served.name,
      owner: this.owner,
      status: this.status,
      episodeId: episode?.id ?? null,
      task: episode?.task ?? null,
      seed: episode?.seed ?? null,
      stepCount: episode?.turn.stepCount ?? 0,
      return: episode?.turn.return ?? null,
      openedAt: this.openedAt,
      lastUsedAt: this.lastUsedAt,
      ...(parent !== undefined && { parent }),
    };
  }

  /** @throws ENV_NOT_RESET */
  get turn(): Turn {
    if (this.episode === undefined) throw reverieError('ENV_NOT_RESET', { id: this.served.name });
    return this.episode.turn;
  }

  /** As it is written down. */
  record(episode: Episode | undefined = this.episode): SessionRecord {
    const { id, owner, served, openedAt, parent } = this;
    return { id, owner, env: served.name, version: served.version, parent, openedAt, episode };
  }

  touch(): void {
    this.lastUsedAt = Date.now();
  }

  /**
   * Does what a request wants: once, in its turn, before its deadline. One that has an id is not called off by `signal`, as
   * it may be sent again meanwhile.
   * @param content  what is asked: a repeated request asks the same
   * @throws REQUEST_CONFLICT where another request had this id; what `work` throws, nothing changed then
   */
  async ask<R>(
    kind: string,
    content: unknown,
    { requestId: id, signal, seconds = Number.POSITIVE_INFINITY }: AskOptions,
    work: (deadline: Deadline) => Promise<R>,
  ): Promise<R> {
    const asked = id === undefined ? undefined : { id, print: printOf(kind, content) };
    const known = asked && this.answers.get(asked.id);
    if (known !== undefined) {
      if (known.print !== asked?.print) throw reverieError('REQUEST_CONFLICT', { id });
      return known.answer as Promise<R>;
    }
    signal?.throwIfAborted();
    const deadline = new Deadline(Math.min(seconds, this.host.limits.stepSeconds), asked ? undefined : signal);
    const answer = this.perform(deadline, () => {
      this.asked = asked;
      return work(deadline);
    }).finally(() => deadline.end());
    if (asked !== undefined) this.remember(asked.id, asked.print, answer);
    return answer;
  }

  /** Also an answer that was given by a server that has ended. */
  remember(id: string, print: string, answer: Promise<unknown>): void {
    this.answers.set(id, { print, answer });
    answer.then(
      () => {
        if (this.answered.push(id) > REMEMBERED) this.answers.delete(this.answered.shift()!);
      },
      () => this.answers.delete(id),
    );
  }

  /** Runs `work` after everything asked before. @throws what ends `deadline`; what `work` throws */
  async perform<R>(deadline: Deadline, work: () => Promise<R>): Promise<R> {
    if (this.shutBy !== undefined) throw this.shutBy.error;
    this.touch();
    this.pending.add(deadline);
    try {
      await this.lock.take(deadline);
      try {
        deadline.throwIfOver();
        return await work();
      } finally {
        this.host.onRest(this);
        this.lock.release();
      }
    } finally {
      this.pending.delete(deadline);
      this.touch();
    }
  }

  /**
   * Takes one turn, within `perform`: the episode that `play` answers; `event` is what observers are told. @throws what `play` throws, what ends `deadline`;
   * nothing changed then
   */
  async take(event: (done: Done) => SessionEvent, deadline: Deadline, play: () => Promise<Episode>): Promise<Turn> {
    const started = performance.now();
    const seconds = () => (performance.now() - started) / 1000;
    const { store } = this.host;
    try {
      await this.orBack(async (world) => {
        const playing = async () => {
          const episode = await play();
          return { episode, snapshot: store && (await world.save()) };
        };
        const { episode, snapshot } = await deadline.race(playing());
        const answer = this.asked && { ...this.asked, turn: episode.turn };
        await store?.keep({ record: this.record(episode), snapshot, answer });
        this.episode = episode;
      }, deadline);
    } catch (error) {
      const code = error instanceof ReverieError ? error.code : 'ENVIRONMENT';
      this.host.announce({ kind: 'failed', session: this.state, code, seconds: seconds() });
      throw error;
    }
    this.host.announce(event({ session: this.state, turn: this.turn, seconds: seconds() }));
    return this.turn;
  }

  async begin(id: string, options: { seed?: number; task?: string }, deadline: Deadline): Promise<Episode> {
    const { seed, task } = options;
    const given = { ...(seed !== undefined && { seed }), ...(task !== undefined && { task }) };
    const { observation, info } = await this.world.do({ kind: 'reset', options: given }, () => deadline.signal);
    const drawn = typeof info['seed'] === 'number' ? info['seed'] : null;
    const begun = typeof info['task'] === 'string' ? info['task'] : null;
    const turn = { ...START, observation, info, episodeId: id };
    return { id, task: begun ?? task ?? null, seed: seed ?? drawn, turn };
  }

  /** @throws ENV_NOT_RESET where no episode is running, and what the environment throws; nothing changed then */
  async act(action: Action, deadline: Deadline): Promise<Episode> {
    const episode = this.running();
    const result = await this.world.do({ kind: 'step', action }, () => deadline.signal);
    return { ...episode, turn: turnAfter(episode.turn, result) };
  }

  /** Its state, without changing it; within `perform`. @throws ENV_NOT_RESET */
  async save(deadline: Deadline): Promise<KeptState> {
    const { observation, stepCount, return: sum, terminated, truncated } = this.turn;
    const { task, seed } = this.episode!;
    const env = this.served.name;
    const snapshot = await this.orBack((world) => deadline.race(world.save()), deadline);
    return { env, snapshot, observation, stepCount, return: sum, task, seed, terminated, truncated };
  }

  /** @param seed  of what follows; the snapshot's own unless given @throws SNAPSHOT_MISMATCH */
  async load(id: string, kept: KeptState, deadline: Deadline, seed?: number): Promise<Episode> {
    if (kept.env !== this.served.name) {
      throw reverieError('SNAPSHOT_MISMATCH', { from: kept.env, into: this.served.name });
    }
    const options = seed === undefined ? {} : { seed };
    await this.world.do({ kind: 'restore', snapshot: kept.snapshot, options }, () => deadline.signal);
    const { observation, stepCount, task, terminated, truncated, return: sum } = kept;
    const turn = { ...START, observation, stepCount, return: sum, terminated, truncated, info: {}, episodeId: id };
    return { id, task, seed: seed ?? kept.seed, turn };
  }

  /** Every request that is under way or comes after throws `error`; resolves once all of them have ended. */
  async shut(error: unknown): Promise<void> {
    this.shutBy ??= { error };
    for (const deadline of this.pending) deadline.callOff(error);
    await this.lock.take(new Deadline(Number.POSITIVE_INFINITY));
  }

  closeEnvironment(): Promise<void> {
    return this.world.close();
  }

  /** The episode under way. @throws ENV_NOT_RESET */
  running(): Episode {
    if (this.status === 'running') return this.episode!;
    throw reverieError('ENV_NOT_RESET', { id: this.served.name });
  }

  /** Where `work` fails the session is where it was; what ends after its deadline is dropped. */
  private async orBack<R>(work: (world: World) => Promise<R>, deadline: Deadline): Promise<R> {
    const { world } = this;
    const { past } = world;
    try {
      return await work(world);
    } catch (error) {
      if (deadline.isOver || world.past !== past) {
        this.world = new World(this.served, past);
        world.close().catch((problem: Error) => process.emitWarning(problem));
      }
      throw error;
    }
  }
}

function turnAfter(last: Turn, { observation, reward: given, terminated, truncated, info }: StepResult<unknown>): Turn {
  const { verdict, outcome } = info as Partial<ToolsStepInfo>;
  // The episode ended and could not be judged: never a silent 0.
  const reward = verdict?.reward === null ? null : given;
  const stepCount = last.stepCount + 1;
  const sum = reward === null || last.return === null ? null : last.return + reward;
  const { episodeId } = last;
  // An episode is one attempt: a reset starts another one.
  const details = outcome === undefined ? info : { ...info, outcome: { ...outcome, attempt: episodeId } };
  return { observation, reward, terminated, truncated, info: details, episodeId, stepCount, return: sum };
}

/** A digest of what a request asks. */
export function printOf(kind: string, content: unknown): string {
  const isRow = content instanceof Float32Array;
  const bytes = isRow ? new Uint8Array(content.buffer, content.byteOffset, content.byteLength) : canonicalJson(content);
  return createHash('sha256')
    .update(kind)
    .update(bytes ?? '')
    .digest('base64');
}
