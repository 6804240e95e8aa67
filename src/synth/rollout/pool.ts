// Runs the chunks of a job, in this thread, on worker threads or on a device, and joins them to one batch with its provenance.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { reverieError } from '../../core/errors.js';
import { WorkerPool, type WorkerPoolOptions } from '../../core/pool.js';
import { inOrder, type PoolTask, shareBytes } from '../../core/pool-task.js';
import type { Provenance } from '../../replay/transition.js';
import type { ModelPlace } from '../../worldmodel/dynamics.js';
import {
  type ChunkInput,
  type ChunkRecord,
  chunkRecordTask,
  chunkTask,
  packChunk,
  Restored,
  rolloutChunk,
  wholeChunk,
} from './chunk.js';
import {
  type Drawn,
  type FrozenRolloutRequest,
  type RolloutChunk,
  type RolloutControls,
  type RolloutCounts,
  RolloutPlan,
  type RolloutResult,
} from './plan.js';

/** The part of provenance that all rows of a job share. */
export type SharedProvenance = Pick<
  Provenance,
  'source' | 'backend' | 'modelVersion' | 'policyVersion' | 'scenario' | 'seed'
>;

type Identified = Pick<FrozenRolloutRequest, 'scenario' | 'model' | 'policy'>;

export function sharedProvenance({ scenario, model, policy }: Identified, plan: RolloutPlan): SharedProvenance {
  return {
    source: 'synthetic',
    ...{ backend: model.backend, modelVersion: model.modelVersion, policyVersion: policy.version },
    scenario: scenario ?? '',
    seed: plan.seed,
  };
}

/** Where each row of a chunk came from. */
export function provenanceOfChunk(chunk: RolloutChunk, shared: SharedProvenance): Provenance {
  const { episode, step, parent, confidence, logProb } = chunk;
  return { ...shared, episode, step, parent, ...(confidence && { confidence }), ...(logProb && { logProb }) };
}

export function mergeChunks(chunks: readonly RolloutChunk[], request: Identified, plan: RolloutPlan): RolloutResult {
  // A chunk without rows may not know the width of an action.
  const filled = chunks.filter((chunk) => chunk.rows > 0);
  const column = <T extends Column>(of: (chunk: RolloutChunk) => T, type: new (length: number) => T) =>
    joined(filled.map(of), type);
  const has = (of: (chunk: RolloutChunk) => unknown) => filled.length > 0 && filled.every(of);
  return {
    batch: {
      rows: filled.reduce((rows, chunk) => rows + chunk.rows, 0),
      obs: column((chunk) => chunk.obs, Float32Array),
      action: column((chunk) => chunk.action, Float32Array),
      reward: column((chunk) => chunk.reward, Float32Array),
      terminated: column((chunk) => chunk.terminated, Uint8Array),
      truncated: column((chunk) => chunk.truncated, Uint8Array),
      nextObs: column((chunk) => chunk.nextObs, Float32Array),
    },
    provenance: {
      ...sharedProvenance(request, plan),
      episode: column((chunk) => chunk.episode, Float64Array),
      step: column((chunk) => chunk.step, Uint32Array),
      parent: column((chunk) => chunk.parent, Float64Array),
      ...(has((chunk) => chunk.confidence) && { confidence: column((chunk) => chunk.confidence!, Float32Array) }),
      ...(has((chunk) => chunk.logProb) && { logProb: column((chunk) => chunk.logProb!, Float32Array) }),
    },
    counts: sumCounts(chunks.map((chunk) => chunk.counts)),
  };
}

export function sumCounts(counts: readonly RolloutCounts[]): RolloutCounts {
  const sum = (key: keyof RolloutCounts) => counts.reduce((total, one) => total + one[key], 0);
  return {
    episodes: sum('episodes'),
    rows: sum('rows'),
    terminated: sum('terminated'),
    outOfHorizon: sum('outOfHorizon'),
    doubted: sum('doubted'),
  };
}

interface Column extends ArrayLike<number> {
  set(values: ArrayLike<number>, offset: number): void;
}

function joined<T extends Column>(parts: readonly T[], type: new (length: number) => T): T {
  const out = new type(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export interface RolloutPoolOptions extends WorkerPoolOptions {
  /** A device that models run on, fed by the calling thread, which never waits for it; the processor unless given. */
  readonly device?: ModelPlace['device'];
  /** URL of a module exporting `loadWorldModel(snapshot)`, for models of one's own; default: the world-model room. */
  readonly modelLoader?: string;
}

interface ChunkRange {
  /** First chunk to run: those before it are there already. Default 0. */
  readonly from?: number;
  readonly signal?: AbortSignal;
}

type AnyRequest = FrozenRolloutRequest | Drawn<FrozenRolloutRequest>;

/** Undefined where it was stopped. */
type ChunkWork<T> = (index: number, signal: AbortSignal) => Promise<T | undefined>;

/** A chunk on the device, and one whose rows are laid out and consumed meanwhile. */
const CHUNKS_ON_DEVICE = 2;

export class RolloutPool {
  readonly workers: number;
  readonly device?: ModelPlace['device'];
  private readonly modelLoader?: string;
  private readonly pool: WorkerPool;
  private readonly restored = new Restored();
  private readonly shared = new WeakMap<object, unknown>();
  private readonly jobs = new Set<Promise<unknown>>();

  /** With a device there are no threads. Throws POOL_OPTION_INVALID. */
  constructor({ workers, device, modelLoader, ...limits }: RolloutPoolOptions) {
    this.pool = new WorkerPool({ ...limits, workers: device ? 0 : workers });
    this.workers = this.pool.workers;
    // A device that is the processor has as many threads of its own.
    this.device = device && { ...device, threads: Math.max(1, workers ?? 0) };
    this.modelLoader = modelLoader;
  }

  /**
   * Short simulated runs from given states (MBPO, 1906.08253): each start runs up to `horizon` steps of the policy inside the model.
   * Rows come branch after branch in the order of starts; same bytes for any number of workers.
   * Throws what the model throws, WORKER_LOST, POOL_CLOSED, or the signal's reason.
   */
  async branchedRollouts(
    request: FrozenRolloutRequest,
    { signal, onProgress }: RolloutControls = {},
  ): Promise<RolloutResult> {
    const plan = new RolloutPlan(request);
    const chunks: RolloutChunk[] = [];
    let rows = 0;
    for await (const chunk of this.chunks(request, { signal })) {
      chunks.push(chunk);
      rows += chunk.rows;
      onProgress?.({ chunksDone: chunks.length, chunks: plan.chunks, rows });
    }
    return mergeChunks(chunks, request, plan);
  }

  /**
   * The chunks of a job, in order. Only a few are run ahead of the reader: a reader that waits makes the workers wait.
   * Leaving the loop early gives the rest up.
   */
  chunks(request: AnyRequest, range: ChunkRange = {}): AsyncGenerator<RolloutChunk> {
    const plan = new RolloutPlan(request);
    const work = this.workers > 0 ? this.onWorkers(chunkTask, request, plan) : this.inThisThread(request, plan);
    return this.inOrder(plan, work, range);
  }

  /** As `chunks`, each as the record that a journal keeps of it, made where the chunk is run. */
  records(request: AnyRequest, range: ChunkRange = {}): AsyncGenerator<ChunkRecord> {
    const plan = new RolloutPlan(request);
    if (this.workers > 0) return this.inOrder(plan, this.onWorkers(chunkRecordTask, request, plan), range);
    const run = this.inThisThread(request, plan);
    const work: ChunkWork<ChunkRecord> = async (index, signal) => {
      const chunk = await run(index, signal);
      return chunk && packChunk(chunk);
    };
    return this.inOrder(plan, work, range);
  }

  /** Ends the threads, each after the steps it is at; jobs under way reject with POOL_CLOSED. */
  async close(): Promise<void> {
    await this.pool.close();
    await Promise.allSettled(this.jobs);
    await this.restored.close();
  }

  private async *inOrder<T>(
    plan: RolloutPlan,
    work: ChunkWork<T>,
    { from = 0, signal }: ChunkRange,
  ): AsyncGenerator<T> {
    // Two chunks a worker: the next one waits at the thread while the pool is busy with the last.
    const ahead = this.device ? CHUNKS_ON_DEVICE : Math.max(1, this.workers * 2);
    const numbers = Array.from({ length: Math.max(0, plan.chunks - from) }, (_, i) => from + i);
    for await (const answer of inOrder(numbers, work, { ahead, signal })) {
      if (answer === undefined) throw this.pool.closed ? reverieError('POOL_CLOSED') : signal?.reason;
      yield answer;
    }
  }

  private inThisThread(request: AnyRequest, plan: RolloutPlan): ChunkWork<RolloutChunk> {
    const run = async (index: number, signal: AbortSignal) => {
      const model = await this.restored.model(request.model, this.modelLoader, { device: this.device });
      const policy = await this.restored.policy(request.policy);
      // A model that never waits would keep timers, signals and progress from running.
      const isStopped = async () => {
        await nextTurn();
        return signal.aborted || this.pool.closed;
      };
      const [task, rng] = [plan.task(index), plan.rng(index)];
      if (await isStopped()) return undefined;
      const whole = this.device && (await wholeChunk(model, policy, task, rng));
      return whole ?? rolloutChunk(model, policy, task, rng, isStopped);
    };
    return async (index, signal) => {
      if (this.pool.closed) throw reverieError('POOL_CLOSED');
      const running = run(index, signal);
      this.jobs.add(running);
      return running.finally(() => this.jobs.delete(running));
    };
  }

  private onWorkers<T>(
    task: PoolTask<ChunkInput, T | undefined>,
    request: AnyRequest,
    plan: RolloutPlan,
  ): ChunkWork<T> {
    const model = this.share(request.model);
    const policy = this.share(request.policy);
    return (index, signal) => {
      const make = (): ChunkInput => ({
        ...{ model, policy, modelLoader: this.modelLoader },
        task: plan.task(index),
        rng: plan.rng(index).state(),
      });
      const transfer = ({ task: { starts, parent } }: ChunkInput) => [starts.buffer, parent.buffer];
      return this.pool.run(task, make, { signal, transfer, label: `chunk ${index}` });
    };
  }

  private share<T extends object>(snapshot: T): T {
    const known = this.shared.get(snapshot);
    if (known !== undefined) return known as T;
    const shared = shareBytes(snapshot);
    this.shared.set(snapshot, shared);
    return shared;
  }
}
