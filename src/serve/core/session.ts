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
  type Owner,
  type SessionEvent,
  type SessionState,
  type SessionStatus,
  sessionKey,
  type Turn,
} from './session-contract.js';
import { type Episode, type KeptSnapshot, REMEMBERED, type SessionRecord, type SessionStore } from './session-store.js';
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

/** A request as it is told apart from others. */
interface RepeatableRequest {
  /** The request's own id; without one it is done anew whenever it is sent. */
  readonly id?: string;
  readonly kind: string;
  /** What is asked: a repeated request asks the same. */
  readonly content: unknown;
}

interface AskOptions {
  /** The client may leave by it. */
  readonly signal?: AbortSignal;
  /** Until the deadline, if that is sooner than the server's. */
  readonly seconds?: number;
}

/** What makes a turn. */
interface Play {
  /** Answers the episode as it would be after the turn. */
  readonly play: () => Promise<Episode>;
  /** What observers are told. */
  readonly event: (done: { session: SessionState; turn: Turn; seconds: number }) => SessionEvent;
  /** A request that may be repeated, after a restart too. */
  readonly request?: RepeatableRequest;
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
  private readonly requests = new RequestMemory();
  private readonly lock = new Slots(1);
  private readonly pending = new Set<Deadline>();
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
    return this.lock.active > 0;
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
    if (this.episode === undefined) throw this.notReset();
    return this.episode.turn;
  }

  /** As it is written down. */
  record(episode: Episode | undefined = this.episode): SessionRecord {
    const { id, owner, served, openedAt, parent } = this;
    return { id, owner, env: served.name, version: served.version, parent, openedAt, episode };
  }

  /** An answer that was given by a server that has ended. */
  remember(id: string, print: string, answer: unknown): void {
    this.requests.remember(id, print, answer);
  }

  touch(): void {
    this.lastUsedAt = Date.now();
  }

  /** Does what a request wants: once, in its turn, before its deadline. @throws what `work` throws, nothing changed then */
  async ask<R>(
    request: RepeatableRequest,
    { signal, seconds = Number.POSITIVE_INFINITY }: AskOptions,
    work: (deadline: Deadline) => Promise<R>,
  ): Promise<R> {
    signal?.throwIfAborted();
    const deadline = new Deadline(Math.min(seconds, this.host.limits.stepSeconds));
    return this.requests.ask(request, deadline, signal, () =>
      this.perform(deadline, () => work(deadline)).finally(() => deadline.end()),
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

  /** Plays one turn, within `perform`. @throws what `play` throws, what ends `deadline`; nothing changed then */
  async take(deadline: Deadline, { play, event, request }: Play): Promise<Turn> {
    const started = performance.now();
    const seconds = () => (performance.now() - started) / 1000;
    const { store } = this.host;
    try {
      await this.orBack(async () => {
        const { world } = this;
        const playing = async () => {
          const episode = await play();
          return { episode, snapshot: store && (await world.save()) };
        };
        const { episode, snapshot } = await deadline.race(playing());
        const answer = request?.id === undefined ? undefined : answered(request.id, request, episode.turn);
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
  async save(deadline: Deadline): Promise<Omit<KeptSnapshot, 'id'>> {
    const { observation, stepCount, return: sum, terminated, truncated } = this.turn;
    const { task, seed } = this.episode!;
    const env = this.served.name;
    const snapshot = await this.orBack(() => deadline.race(this.world.save()), deadline);
    return { env, snapshot, observation, stepCount, return: sum, task, seed, terminated, truncated };
  }

  /** @param seed  of what follows; the snapshot's own unless given @throws SNAPSHOT_MISMATCH */
  async load(id: string, kept: Omit<KeptSnapshot, 'id'>, deadline: Deadline, seed?: number): Promise<Episode> {
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

  async closeEnvironment(): Promise<void> {
    await this.world.close();
  }

  /** The episode under way. @throws ENV_NOT_RESET */
  running(): Episode {
    if (this.episode === undefined || this.status !== 'running') throw this.notReset();
    return this.episode;
  }

  /** Where `work` fails the session is where it was; what ends after its deadline is dropped. */
  private async orBack<R>(work: () => Promise<R>, deadline: Deadline): Promise<R> {
    const { world } = this;
    const { past } = world;
    try {
      return await work();
    } catch (error) {
      if (deadline.isOver || world.past !== past) {
        this.world = new World(this.served, past);
        world.close().catch((problem: Error) => process.emitWarning(problem));
      }
      throw error;
    }
  }

  private notReset() {
    return reverieError('ENV_NOT_RESET', { id: this.served.name });
  }
}

function turnAfter(last: Turn, { observation, reward: given, terminated, truncated, info }: StepResult<unknown>): Turn {
  const { verdict } = info as Partial<ToolsStepInfo>;
  // The episode ended and could not be judged: never a silent 0.
  const reward = verdict?.reward === null ? null : given;
  const stepCount = last.stepCount + 1;
  const sum = reward === null || last.return === null ? null : last.return + reward;
  return { observation, reward, terminated, truncated, info, episodeId: last.episodeId, stepCount, return: sum };
}

function answered(id: string, request: RepeatableRequest, turn: Turn) {
  return { id, print: printOf(request), turn };
}

/** A digest of what a request asks. */
function printOf({ kind, content }: RepeatableRequest): string {
  const isRow = content instanceof Float32Array;
  const bytes = isRow ? new Uint8Array(content.buffer, content.byteOffset, content.byteLength) : canonicalJson(content);
  return createHash('sha256')
    .update(kind)
    .update(bytes ?? '')
    .digest('base64');
}

interface Call {
  readonly print: string;
  readonly answer: Promise<unknown>;
  readonly deadline?: Deadline;
  /** How many wait for it: it is called off when the last of them has left. */
  waiting: number;
  isAnswered: boolean;
}

/** A repeated request gets the first one's answer, and waits for it while that is under way. What failed may be tried again. */
class RequestMemory {
  private readonly calls = new Map<string, Call>();

  /** @throws REQUEST_CONFLICT where another request had this id; what `signal` is aborted with; what `begin` throws */
  ask<R>(
    request: RepeatableRequest,
    deadline: Deadline,
    signal: AbortSignal | undefined,
    begin: () => Promise<R>,
  ): Promise<R> {
    const { id } = request;
    const print = id === undefined ? '' : printOf(request);
    const known = id === undefined ? undefined : this.calls.get(id);
    if (known !== undefined && known.print !== print) throw reverieError('REQUEST_CONFLICT', { id });
    const call = known ?? { print, answer: begin(), deadline, waiting: 0, isAnswered: false };
    if (id !== undefined && known === undefined) this.add(id, call);
    return attend<R>(call, signal);
  }

  remember(id: string, print: string, answer: unknown): void {
    this.calls.set(id, { print, answer: Promise.resolve(answer), waiting: 0, isAnswered: true });
  }

  private add(id: string, call: Call): void {
    this.calls.set(id, call);
    call.answer.then(
      () => {
        call.isAnswered = true;
        const done = [...this.calls].filter(([, { isAnswered }]) => isAnswered);
        for (const [old] of done.slice(0, Math.max(0, done.length - REMEMBERED))) this.calls.delete(old);
      },
      () => this.calls.delete(id),
    );
  }
}

async function attend<R>(call: Call, signal: AbortSignal | undefined): Promise<R> {
  call.waiting++;
  if (signal === undefined) return call.answer as Promise<R>;
  return new Promise<R>((resolve, reject) => {
    const leave = () => {
      call.waiting--;
      if (call.waiting === 0) call.deadline?.callOff(signal.reason);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    (call.answer as Promise<R>).then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
