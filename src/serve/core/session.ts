// One session: an environment, the episode it is in, and a gate, as it takes one request at a time. What is asked is
// answered by its deadline; work that comes later is taken back before the next request is let in, and a session whose
// work never ends is lost.

import { reverieError } from '../../core/errors.js';
import type { EnvSnapshot, StepResult } from '../../env/index.js';
import type { Servable } from '../../run/serving/index.js';
import { Deadline, Gate } from './queues.js';

import { RequestMemory } from './request-memory.js';
import type { Action, Owner, SessionState, SessionStatus, Turn } from './session-contract.js';
import { sessionKey } from './session-ids.js';
import type { KeptSnapshot } from './snapshot-store.js';
import { rewardOf } from './values.js';
import { type TakeBack, World } from './world.js';

export interface Episode {
  readonly id: string;
  readonly task: string | null;
  readonly seed: number | null;
  readonly turn: Turn;
}

export interface SessionOptions {
  readonly id: string;
  readonly owner: Owner;
  readonly served: Servable;
  readonly parent?: string;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  /** Milliseconds for work that was called off to end. */
  readonly grace: number;
  /** The state its environment was left in by another process, or undefined. @throws where it cannot be read */
  readonly origin: (session: Session) => EnvSnapshot | undefined;
  /** Told whenever a request has left the session as it is to stay. */
  readonly onRest: (session: Session) => void;
  /** Told when work did not end in time: nobody knows what state the environment is in. */
  readonly onLost: (session: Session) => void;
}

export class Session {
  readonly id: string;
  readonly owner: Owner;
  /** Its name among all sessions of the server. */
  readonly key: string;
  readonly served: Servable;
  readonly openedAt: number;
  readonly requests = new RequestMemory();
  lastUsedAt: number;
  /** Whether it holds a slot. */
  hasSlot = false;
  /** What is durable of its environment; undefined where nothing is written. */
  written: EnvSnapshot | undefined;
  /** Resolves when it is lost. */
  readonly whenLost: Promise<void>;
  private lost = () => {};
  private readonly world: World;
  private readonly gate = new Gate();
  private readonly pending = new Set<Deadline>();
  private current: Episode | undefined;
  private late: Promise<void> | undefined;
  private shutBy: { readonly error: unknown } | undefined;

  constructor(private readonly options: SessionOptions) {
    this.id = options.id;
    this.owner = options.owner;
    this.key = sessionKey(options.owner, options.id);
    this.served = options.served;
    this.openedAt = options.openedAt;
    this.lastUsedAt = options.openedAt;
    this.world = new World(options.served, () => this.written ?? options.origin(this));
    this.whenLost = new Promise((resolve) => {
      this.lost = resolve;
    });
  }

  /** Requests are under way or waiting, or late work is. */
  get busy(): boolean {
    return this.gate.busy;
  }

  get status(): SessionStatus {
    if (this.current === undefined) return 'idle';
    const { terminated, truncated } = this.current.turn;
    return terminated || truncated ? 'done' : 'running';
  }

  get state(): SessionState {
    const { current: episode, options } = this;
    const { parent } = options;
    const state: SessionState = {
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
    };
    return parent === undefined ? state : { ...state, parent };
  }

  get episode(): Episode | undefined {
    return this.current;
  }

  /** @throws ENV_NOT_RESET */
  get turn(): Turn {
    if (this.current === undefined) throw this.notReset();
    return this.current.turn;
  }

  touch(): void {
    this.lastUsedAt = Date.now();
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

  /**
   * Does `work` on the environment, within `perform`. Throws at the deadline though the work has not ended: then no
   * other request is let in until it has and was taken back. @throws what ends `deadline`; what `work` throws; nothing
   * changed then
   */
  async attempt<R>(deadline: Deadline, work: () => Promise<R>, takeBackMore: TakeBack = NOTHING): Promise<R> {
    const marking = this.world.wayBack(this.written);
    const wayBack = marking instanceof Promise ? await this.within(deadline, marking, NOTHING) : marking;
    return this.within(deadline, work(), async () => {
      await wayBack();
      await takeBackMore();
    });
  }

  /** What the environment tells without changing, within `perform`. @throws as `attempt` */
  look<R>(deadline: Deadline, work: () => Promise<R>): Promise<R> {
    return this.within(deadline, work(), NOTHING);
  }

  private async within<R>(deadline: Deadline, running: Promise<R>, takeBack: TakeBack): Promise<R> {
    try {
      return await deadline.race(running);
    } catch (error) {
      this.late = this.settle(running, takeBack);
      if (!deadline.isOver) await deadline.race(this.late);
      throw error;
    }
  }

  /** From here on this is the episode. */
  commit(episode: Episode | undefined): void {
    this.current = episode;
  }

  async begin(
    id: string,
    { seed, task }: { readonly seed?: number; readonly task?: string },
    deadline: Deadline,
  ): Promise<Episode> {
    const environment = await this.world.ready();
    const signal = environment.synchronous ? undefined : deadline.signal;
    const { observation, info } = await environment.reset({ seed, task }, signal);
    this.world.begun();
    const turn = { ...START, observation, info, episodeId: id };
    const drawn = typeof info['seed'] === 'number' ? info['seed'] : null;
    const begun = typeof info['task'] === 'string' ? info['task'] : null;
    return { id, task: begun ?? task ?? null, seed: seed ?? drawn, turn };
  }

  /** @throws ENV_NOT_RESET where no episode is running, and what the environment throws; nothing changed then */
  async act(action: Action, deadline: Deadline): Promise<Episode> {
    const episode = this.running();
    const ready = this.world.ready();
    const environment = ready instanceof Promise ? await ready : ready;
    const signal = environment.synchronous ? undefined : deadline.signal;
    const result = await environment.step(action, signal);
    return episodeAfter(episode, result);
  }

  async save(): Promise<Omit<KeptSnapshot, 'id'>> {
    const { observation, stepCount, return: sum, terminated, truncated } = this.turn;
    const { task, seed } = this.current!;
    const snapshot = await this.world.snapshot();
    return { env: this.served.name, snapshot, observation, stepCount, return: sum, task, seed, terminated, truncated };
  }

  snapshot(): Promise<EnvSnapshot> {
    return this.world.snapshot();
  }

  /** @param seed  of what follows; the snapshot's own unless given @throws SNAPSHOT_MISMATCH */
  async load(id: string, kept: Omit<KeptSnapshot, 'id'>, seed?: number): Promise<Episode> {
    if (kept.env !== this.served.name) {
      throw reverieError('SNAPSHOT_MISMATCH', { from: kept.env, into: this.served.name });
    }
    await this.revive(kept.snapshot, seed);
    const { observation, stepCount, task, terminated, truncated, return: sum } = kept;
    const turn = { ...START, observation, stepCount, return: sum, terminated, truncated, info: {}, episodeId: id };
    return { id, task, seed: seed ?? kept.seed, turn };
  }

  /** Puts the environment into a state, which is no turn. */
  async revive(snapshot: EnvSnapshot, seed?: number): Promise<void> {
    const environment = await this.world.ready();
    await environment.restore(snapshot, seed === undefined ? {} : { seed });
    this.world.begun();
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

  closeWorld(): Promise<void> {
    return this.world.close();
  }

  running(): Episode {
    if (this.current === undefined || this.status !== 'running') throw this.notReset();
    return this.current;
  }

  private leave(): void {
    const { late } = this;
    this.late = undefined;
    if (late === undefined) this.rest();
    else void late.then(() => this.rest());
  }

  private rest(): void {
    this.options.onRest(this);
    this.gate.leave();
  }

  /** Resolves once the work has ended and was taken back; never, and the session is lost, where that takes too long. */
  private async settle(running: Promise<unknown>, takeBack: TakeBack): Promise<void> {
    const grace = new Deadline(this.options.grace / 1000);
    const ended = running.then(takeBack, takeBack);
    try {
      await grace.race(ended);
    } catch {
      this.lost();
      this.options.onLost(this);
      await new Promise(() => {});
    } finally {
      grace.end();
    }
  }

  private notReset() {
    return reverieError('ENV_NOT_RESET', { id: this.served.name });
  }
}

const NOTHING: TakeBack = () => {};
const START = { reward: null, terminated: false, truncated: false, stepCount: 0, return: 0 };

function episodeAfter({ id, task, seed, turn }: Episode, result: StepResult<unknown>): Episode {
  return { id, task, seed, turn: turnAfter(turn, result) };
}

function turnAfter(last: Turn, { observation, reward: given, terminated, truncated, info }: StepResult<unknown>): Turn {
  const reward = rewardOf(given, info);
  return {
    observation,
    reward,
    terminated,
    truncated,
    info,
    episodeId: last.episodeId,
    stepCount: last.stepCount + 1,
    return: reward === null || last.return === null ? null : last.return + reward,
  };
}
