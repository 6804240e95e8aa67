// An environment that lives in a worker thread. Whoever has it cannot tell from one of its own: what it answers is the same
// to the byte, also where its thread dies meanwhile.

import type {
  EnvSnapshot,
  ResetOptions,
  ResetResult,
  RestoreOptions,
  StepResult,
  VectorEnvironment,
  VectorSpace,
} from '../../env/index.js';
import { reverieError } from '../../errors.js';
import type { Lane, Resident } from './lane.js';
import type { Description } from './messages.js';

export class RemoteEnvironment implements VectorEnvironment {
  readonly family = 'vector' as const;
  readonly id: string;
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  readonly maxEpisodeSteps?: number;
  /** Calls wait for those before them. */
  private last: Promise<unknown> = Promise.resolve();
  private isClosed = false;

  constructor(
    description: Description,
    private readonly lane: Lane,
    private readonly resident: Resident,
  ) {
    this.id = description.id;
    this.observationSpace = description.observationSpace;
    this.actionSpace = description.actionSpace;
    this.maxEpisodeSteps = description.maxEpisodeSteps;
  }

  /** @throws as the environment; ENVIRONMENT_LOST, WORKER_UNUSABLE; what `signal` is aborted with, and nothing was done then */
  async reset({ seed }: ResetOptions = {}, signal?: AbortSignal): Promise<ResetResult<Float32Array>> {
    const options = seed === undefined ? {} : { seed };
    return this.inTurn(() => this.lane.ask(this.resident, { kind: 'reset', options }, signal));
  }

  /** @throws as `reset` */
  async step(action: Float32Array, signal?: AbortSignal): Promise<StepResult<Float32Array>> {
    // A copy: the caller's may change before it is done, or be a part of something large.
    const own = action instanceof Float32Array ? action.slice() : structuredClone(action);
    return this.inTurn(() => this.lane.ask(this.resident, { kind: 'step', action: own }, signal));
  }

  async snapshot(): Promise<EnvSnapshot> {
    return this.inTurn(async () => {
      const { journal } = this.resident;
      journal.ask();
      return journal.current ?? this.lane.ask(this.resident, { kind: 'snapshot' });
    });
  }

  async restore(snapshot: EnvSnapshot, options: RestoreOptions = {}): Promise<Float32Array> {
    const own = structuredClone(snapshot);
    return this.inTurn(() => this.lane.ask(this.resident, { kind: 'restore', snapshot: own, options }));
  }

  mark(): () => void {
    const { resident } = this;
    const takeBack = resident.journal.mark();
    return () => {
      takeBack();
      resident.isLive = false;
    };
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.last;
    this.lane.remove(this.resident);
  }

  private inTurn<R>(ask: () => Promise<R>): Promise<R> {
    if (this.isClosed) return Promise.reject(reverieError('ENV_NOT_RESET', { id: this.id }));
    const answer = this.last.then(ask);
    this.last = answer.catch(() => {});
    return answer;
  }
}
