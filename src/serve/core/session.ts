// One session: an environment, the episode it is in, and a lock, as it takes one request at a time. A request that carries an id
// is done once, however often it is sent. What is asked is answered by its deadline; work that ends later is rolled back before
// the next request is let in, and a session whose work never ends is lost. A turn that is not answered has not happened.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../core/canonical-json.js';
import type { Awaitable, Environment, EnvSnapshot, StepResult } from '../../core/environment.js';
import { ReverieError, reverieError } from '../../core/errors.js';
import type { ToolsStepInfo } from '../../env/tools/tools-family.js';
import type { Servable } from '../../run/serving/servable.js';
import { Deadline, Gate, type Quotas, type SessionLimits } from './limits.js';
import {
  type Action,
  type Owner,
  type SessionEvent,
  type SessionState,
  type SessionStatus,
  sessionKey,
  type Turn,
} from './session-contract.js';
import {
  type Episode,
  type KeptSnapshot,
  type KeptTurn,
  REMEMBERED,
  type SessionRecord,
  type SessionStore,
} from './session-store.js';

/** What a session needs of the server it is on. */
export interface SessionHost {
  readonly limits: SessionLimits;
  readonly quotas: Quotas;
  /** Writes sessions down, so that they outlive the process. */
  readonly store?: SessionStore;
  announce(event: SessionEvent): void;
  /** The state its environment was left in by another process. @throws where it cannot be read */
  stateLeft(session: Session): EnvSnapshot | undefined;
  /** A request has left the session in the state that it keeps. */
  onRest(session: Session): void;
  /** Its work did not end in time: the environment is in an unknown state. */
  onLost(session: Session): void;
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
}

/** A request as it is told apart from others. */
interface RepeatableRequest {
  /** The request's own id; without one it is done anew whenever it is sent. */
  readonly id?: string;
  readonly kind: string;
  /** What is asked: a repeated request asks the same. */
  readonly content: unknown;
}

export interface AskOptions {
  /** The client may leave by it. */
  readonly signal?: AbortSignal;
  /** Until the deadline, if that is sooner than the server's. */
  readonly seconds?: number;
}

/** What makes a turn. */
export interface Play {
  /** Answers the episode as it would be after the turn. */
  readonly play: () => Promise<Episode>;
  /** Whether `info` tells of costs that are new. */
  readonly isPaid?: boolean;
  /** What observers are told. */
  readonly event: (done: { session: SessionState; turn: Turn; seconds: number }) => SessionEvent;
  /** A request that may be repeated, after a restart too. */
  readonly request?: RepeatableRequest;
}

/** Environments whose steps and resets can be called off. */
interface CancellableEnvironment extends Environment {
  reset(options: { seed?: number; task?: string }, signal?: AbortSignal): ReturnType<Environment['reset']>;
  step(action: unknown, signal?: AbortSignal): ReturnType<Environment['step']>;
}

/** Undoes what was done since. */
type Rollback = () => Awaitable<void>;

const NOTHING: Rollback = () => {};
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
  /** Resolves when it is lost. */
  readonly whenLost: Promise<void>;
  private lose = () => {};
  private readonly parent: string | undefined;
  private readonly requests = new RequestMemory();
  private readonly gate = new Gate();
  private readonly pending = new Set<Deadline>();
  private late: Promise<void> | undefined;
  private shutBy: { readonly error: unknown } | undefined;
  /** Made when it is first needed. */
  private environment: CancellableEnvironment | undefined;
  /** Whether the environment is in an episode, over or not: there is a state to come back to. */
  private isBegun = false;
  private isClosed = false;
  /** What is durable of the environment. */
  private written: EnvSnapshot | undefined;

  constructor(
    private readonly host: SessionHost,
    { served, id, owner, parent, hasSlot = false, openedAt = Date.now() }: NewSession,
  ) {
    this.id = id;
    this.owner = owner;
    this.served = served;
    this.parent = parent;
    this.key = sessionKey(owner, id);
    this.hasSlot = hasSlot;
    this.openedAt = openedAt;
    this.lastUsedAt = openedAt;
    this.whenLost = new Promise((resolve) => {
      this.lose = resolve;
    });
  }

  /** Requests are under way or waiting, or late work is. */
  get busy(): boolean {
    return this.gate.busy;
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

  /** As it is written down. @param episode  the one it is in unless given */
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
      if (!this.gate.enterNow()) await this.gate.enter(deadline);
      try {
        deadline.throwIfOver();
        return await work();
      } finally {
        this.leave();
      }
    } finally {
      this.pending.delete(deadline);
      this.touch();
    }
  }

  /** Plays one turn, within `perform`. @throws what `play` throws, what ends `deadline`; nothing changed then */
  async take(deadline: Deadline, { play, isPaid = false, event, request }: Play): Promise<Turn> {
    const started = performance.now();
    const seconds = () => (performance.now() - started) / 1000;
    const { store, quotas } = this.host;
    const before = store && this.record();
    const kept: { turn?: KeptTurn } = {};
    const work = async () => {
      const episode = await play();
      // What was spent counts, in time or not.
      const isSpent = isPaid && quotas.charge(this.owner, episode.turn.info);
      if (store === undefined) return episode;
      deadline.throwIfOver();
      kept.turn = {
        record: this.record(episode),
        snapshot: await (await this.ready()).snapshot(),
        spend: isSpent ? quotas.spentBy(this.owner) : undefined,
        answer: answeredRequest(request, episode.turn),
      };
      await store.keep(kept.turn);
      return episode;
    };
    const unkeep = async () => {
      if (kept.turn === undefined || before === undefined) return;
      await store?.keepInstead({ record: before, snapshot: this.written }, kept.turn.answer);
    };
    try {
      this.episode = await this.attempt(deadline, work, unkeep);
      this.written = kept.turn?.snapshot;
    } catch (error) {
      const code = error instanceof ReverieError ? error.code : 'ENVIRONMENT';
      this.host.announce({ kind: 'failed', session: this.state, code, seconds: seconds() });
      throw error;
    }
    const { turn } = this.episode;
    this.host.announce(event({ session: this.state, turn, seconds: seconds() }));
    return turn;
  }

  async begin(id: string, options: { seed?: number; task?: string }, deadline: Deadline): Promise<Episode> {
    const environment = await this.ready();
    const signal = environment.synchronous ? undefined : deadline.signal;
    const { observation, info } = await environment.reset({ seed: options.seed, task: options.task }, signal);
    this.isBegun = true;
    const drawn = typeof info['seed'] === 'number' ? info['seed'] : null;
    const begun = typeof info['task'] === 'string' ? info['task'] : null;
    const turn = { ...START, observation, info, episodeId: id };
    return { id, task: begun ?? options.task ?? null, seed: options.seed ?? drawn, turn };
  }

  /** @throws ENV_NOT_RESET where no episode is running, and what the environment throws; nothing changed then */
  async act(action: Action, deadline: Deadline): Promise<Episode> {
    const episode = this.running();
    const ready = this.ready();
    const environment = ready instanceof Promise ? await ready : ready;
    const signal = environment.synchronous ? undefined : deadline.signal;
    return { ...episode, turn: turnAfter(episode.turn, await environment.step(action, signal)) };
  }

  /** Its state, without changing it; within `perform`. @throws ENV_NOT_RESET */
  save(deadline: Deadline): Promise<Omit<KeptSnapshot, 'id'>> {
    const saved = async () => {
      const { observation, stepCount, return: sum, terminated, truncated } = this.turn;
      const { task, seed } = this.episode!;
      const snapshot = await (await this.ready()).snapshot();
      return {
        env: this.served.name,
        snapshot,
        observation,
        stepCount,
        return: sum,
        task,
        seed,
        terminated,
        truncated,
      };
    };
    return this.within(deadline, saved(), NOTHING);
  }

  /** @param seed  of what follows; the snapshot's own unless given @throws SNAPSHOT_MISMATCH */
  async load(id: string, kept: Omit<KeptSnapshot, 'id'>, seed?: number): Promise<Episode> {
    if (kept.env !== this.served.name) {
      throw reverieError('SNAPSHOT_MISMATCH', { from: kept.env, into: this.served.name });
    }
    const environment = await this.ready();
    await environment.restore(kept.snapshot, seed === undefined ? {} : { seed });
    this.isBegun = true;
    const { observation, stepCount, task, terminated, truncated, return: sum } = kept;
    const turn = { ...START, observation, stepCount, return: sum, terminated, truncated, info: {}, episodeId: id };
    return { id, task, seed: seed ?? kept.seed, turn };
  }

  /** Every request that is under way or comes after throws `error`. */
  shut(error: unknown): void {
    this.shutBy ??= { error };
    for (const deadline of this.pending) deadline.callOff(error);
  }

  /** Resolves once everything asked before has ended; `shut` comes first. */
  ended(): Promise<void> {
    return this.gate.shut();
  }

  async closeEnvironment(): Promise<void> {
    this.isClosed = true;
    await this.environment?.close();
  }

  /** The episode under way. @throws ENV_NOT_RESET */
  running(): Episode {
    if (this.episode === undefined || this.status !== 'running') throw this.notReset();
    return this.episode;
  }

  /**
   * Does `work` on the environment. Throws at the deadline though the work has not ended: then no other request is let in
   * until it has and was rolled back.
   */
  private async attempt<R>(deadline: Deadline, work: () => Promise<R>, undoMore: Rollback): Promise<R> {
    const marking = this.rollback();
    const rollback = marking instanceof Promise ? await this.within(deadline, marking, NOTHING) : marking;
    return this.within(deadline, work(), async () => {
      await rollback();
      await undoMore();
    });
  }

  private async within<R>(deadline: Deadline, running: Promise<R>, rollback: Rollback): Promise<R> {
    try {
      return await deadline.race(running);
    } catch (error) {
      this.late = this.settle(running, rollback);
      if (!deadline.isOver) await deadline.race(this.late);
      throw error;
    }
  }

  /** Resolves once the work has ended and was rolled back; never, and the session is lost, where that takes too long. */
  private async settle(running: Promise<unknown>, rollback: Rollback): Promise<void> {
    const grace = new Deadline(this.host.limits.graceSeconds);
    try {
      await grace.race(running.then(rollback, rollback));
    } catch {
      this.lose();
      this.host.onLost(this);
      await new Promise(() => {});
    } finally {
      grace.end();
    }
  }

  private leave(): void {
    const { late } = this;
    this.late = undefined;
    const rest = () => {
      this.host.onRest(this);
      this.gate.leave();
    };
    if (late === undefined) rest();
    else void late.then(rest);
  }

  /** @throws as `Servable.make`; SNAPSHOT_MISMATCH */
  private ready(): Awaitable<CancellableEnvironment> {
    return this.environment ?? this.made();
  }

  /** A new one is brought to where another, or another process, left it. */
  private async made(): Promise<CancellableEnvironment> {
    const made = (await this.served.make()) as CancellableEnvironment;
    // A session that was given up meanwhile needs it no more.
    if (this.isClosed) await made.close();
    const left = this.written ?? this.host.stateLeft(this);
    if (left !== undefined) {
      await made.restore(left);
      this.isBegun = true;
    }
    this.environment = made;
    return made;
  }

  /** Brings the environment back to this moment. */
  private rollback(): Awaitable<Rollback> {
    const { environment, written } = this;
    if (environment?.mark !== undefined) return environment.mark();
    if (environment === undefined || !this.isBegun) return () => this.discard();
    const to = (snapshot: EnvSnapshot) => async () => void (await environment.restore(snapshot));
    if (written !== undefined) return to(written);
    if (environment.synchronous) return NOTHING;
    const snapshot = environment.snapshot();
    return snapshot instanceof Promise ? snapshot.then(to) : to(snapshot);
  }

  private async discard(): Promise<void> {
    const { environment } = this;
    this.environment = undefined;
    this.isBegun = false;
    await environment?.close();
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

function answeredRequest(request: RepeatableRequest | undefined, turn: Turn): KeptTurn['answer'] {
  return request?.id === undefined ? undefined : { id: request.id, print: printOf(request), turn };
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
        const answered = [...this.calls].filter(([, { isAnswered }]) => isAnswered);
        for (const [old] of answered.slice(0, Math.max(0, answered.length - REMEMBERED))) this.calls.delete(old);
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
