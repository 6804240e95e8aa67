// One session: an environment, the episode it is in, and a queue, as it takes one request at a time.

import { LRUCache } from 'lru-cache';
import type { Environment, EnvSnapshot, StepResult } from '../../env/index.js';
import { reverieError } from '../../errors.js';
import type { Servable } from '../../run/index.js';
import type { Action, Owner, SessionState, SessionStatus, Turn } from './session-contract.js';
import type { KeptSnapshot } from './snapshot-store.js';
import { rewardOf } from './turn.js';

/** Answers kept for requests that are sent again. */
const REMEMBERED = 16;

/** Environments whose steps and resets can be called off. */
export interface Cancellable {
  reset(options: { seed?: number; task?: string }, signal?: AbortSignal): ReturnType<Environment['reset']>;
  step(action: unknown, signal?: AbortSignal): ReturnType<Environment['step']>;
}

interface Episode {
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
  readonly now: () => number;
}

export class Session {
  readonly id: string;
  readonly owner: Owner;
  readonly served: Servable;
  readonly openedAt: number;
  lastUsedAt: number;
  /** Whether it holds a slot. */
  hasSlot = false;
  private environment: (Environment & Cancellable) | undefined;
  private episode: Episode | undefined;
  private queue: Promise<unknown> = Promise.resolve();
  private pending = 0;
  private readonly answers = new LRUCache<string, Promise<Turn>>({ max: REMEMBERED });

  constructor(private readonly options: SessionOptions) {
    this.id = options.id;
    this.owner = options.owner;
    this.served = options.served;
    this.openedAt = options.now();
    this.lastUsedAt = this.openedAt;
  }

  /** Requests under way or waiting. */
  get busy(): boolean {
    return this.pending > 0;
  }

  get state(): SessionState {
    const { episode, options } = this;
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
      ...(options.parent === undefined ? {} : { parent: options.parent }),
      openedAt: this.openedAt,
      lastUsedAt: this.lastUsedAt,
    };
  }

  /** @throws ENV_NOT_RESET */
  get turn(): Turn {
    if (this.episode === undefined) throw reverieError('ENV_NOT_RESET', { id: this.served.name });
    return this.episode.turn;
  }

  touch(): void {
    this.lastUsedAt = this.options.now();
  }

  /** Runs `work` after everything asked before. A request of an id that was answered gets that answer. */
  enqueue(work: () => Promise<Turn>, requestId?: string): Promise<Turn> {
    const known = requestId === undefined ? undefined : this.answers.get(requestId);
    if (known !== undefined) return known;
    const answer = this.alone(work);
    if (requestId !== undefined) {
      this.answers.set(requestId, answer);
      // What failed changed nothing, so it may be tried again.
      answer.catch(() => this.answers.delete(requestId));
    }
    return answer;
  }

  alone<R>(work: () => Promise<R>): Promise<R> {
    this.touch();
    this.pending++;
    const answer = this.queue.then(work).finally(() => {
      this.pending--;
      this.touch();
    });
    this.queue = answer.catch(() => {});
    return answer;
  }

  async begin(
    id: string,
    { seed, task }: { readonly seed?: number; readonly task?: string },
    signal: AbortSignal,
  ): Promise<Turn> {
    const environment = await this.made();
    const { observation, info } = await environment.reset({ seed, task }, signal);
    const turn = { ...START, observation, info, episodeId: id };
    const drawn = typeof info['seed'] === 'number' ? info['seed'] : null;
    const begun = typeof info['task'] === 'string' ? info['task'] : null;
    this.episode = { id, task: begun ?? task ?? null, seed: seed ?? drawn, turn };
    return turn;
  }

  /** @throws ENV_NOT_RESET where no episode is running, and what the environment throws; nothing changed then */
  async act(action: Action, signal: AbortSignal): Promise<Turn> {
    const { turn: last, environment } = this.running();
    return this.after(last, await environment.step(action, signal));
  }

  /** Answers a function that takes the next step back, should it come too late to count. */
  async mark(): Promise<() => Promise<void>> {
    const { environment, episode } = this.running();
    const before = await environment.snapshot();
    return async () => {
      await environment.restore(before);
      this.episode = episode;
    };
  }

  async save(): Promise<Omit<KeptSnapshot, 'id'>> {
    const { observation, stepCount, return: sum, terminated, truncated } = this.turn;
    const { task, seed } = this.episode!;
    const snapshot: EnvSnapshot = await this.environment!.snapshot();
    const done = terminated || truncated;
    return { env: this.served.name, snapshot, observation, stepCount, return: sum, task, seed, done };
  }

  /** @throws SNAPSHOT_MISMATCH */
  async load(id: string, kept: KeptSnapshot): Promise<Turn> {
    if (kept.env !== this.served.name) {
      throw reverieError('SNAPSHOT_MISMATCH', { from: kept.env, into: this.served.name });
    }
    const environment = await this.made();
    await environment.restore(kept.snapshot);
    const { observation, stepCount, task, seed, done } = kept;
    const turn = { ...START, observation, stepCount, return: kept.return, terminated: done, info: {}, episodeId: id };
    this.episode = { id, task, seed, turn };
    return turn;
  }

  async end(): Promise<void> {
    await this.queue;
    await this.environment?.close();
  }

  private get status(): SessionStatus {
    if (this.episode === undefined) return 'idle';
    const { terminated, truncated } = this.episode.turn;
    return terminated || truncated ? 'done' : 'running';
  }

  private running() {
    const { episode, environment } = this;
    if (episode === undefined || environment === undefined || this.status !== 'running') {
      throw reverieError('ENV_NOT_RESET', { id: this.served.name });
    }
    return { episode, environment, turn: episode.turn };
  }

  private async made(): Promise<Environment & Cancellable> {
    this.environment ??= (await this.served.make()) as Environment & Cancellable;
    return this.environment;
  }

  private after(last: Turn, { observation, reward: given, terminated, truncated, info }: StepResult<unknown>): Turn {
    const reward = rewardOf(given, info);
    const turn: Turn = {
      observation,
      reward,
      terminated,
      truncated,
      info,
      episodeId: last.episodeId,
      stepCount: last.stepCount + 1,
      return: reward === null || last.return === null ? null : last.return + reward,
    };
    this.episode = { ...this.episode!, turn };
    return turn;
  }
}

const START = { reward: null, terminated: false, truncated: false, stepCount: 0, return: 0 };
