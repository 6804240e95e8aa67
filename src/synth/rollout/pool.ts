// The pool's side: sends chunks to worker threads, brings them back in order, does a chunk again whose worker died.
// What a chunk contains is decided by the plan and its number alone, so workers, deaths and retries leave no trace in the bytes.

import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises';
import { Piscina } from 'piscina';
import { reverieError, unpackError } from '../../core/errors.js';
import { makeStopFlag, raise, type StopFlag } from '../../core/stop-flag.js';
import { compiledUrl } from '../../core/worker-url.js';
import type { ModelPlace } from '../../worldmodel/index.js';
import { rolloutChunk } from './chunk.js';
import { type EpisodeRequest, episodeRollouts } from './episodes.js';
import type { ChunkMessage, WakeMessage, WorkerReply } from './messages.js';
import { RolloutPlan } from './plan.js';
import type { FrozenRolloutRequest, RolloutChunk, RolloutControls, RolloutResult } from './request.js';
import { identityOf, mergeChunks } from './result.js';
import { Revival } from './revival.js';
import { shareBytes } from './sharing.js';
import { wholeChunk } from './whole-chunk.js';

export interface RolloutPoolOptions {
  /** Threads, each with one thread of ONNX Runtime; 0 lives all rollouts in the calling thread. None with a device. */
  readonly workers: number;
  /** A device that models run on, fed by the calling thread, which never waits for it; the processor unless given. */
  readonly device?: ModelPlace['device'];
  /** URL of a module exporting `loadWorldModel(snapshot)`, for models of one's own; default: the world-model room. */
  readonly modelLoader?: string;
  /** Times a chunk is tried before its dying workers are an error. Default 3. */
  readonly attempts?: number;
  /** Limits of each thread's JavaScript heap; batches and weights lie outside of it. Default: 512 MB of old generation. */
  readonly resourceLimits?: { readonly maxOldGenerationSizeMb?: number; readonly maxYoungGenerationSizeMb?: number };
}

export interface ChunkRange {
  /** First chunk to live: those before it are there already. Default 0. */
  readonly from?: number;
  readonly signal?: AbortSignal;
}

type LiveChunk = (index: number, stop: StopFlag) => Promise<RolloutChunk | undefined>;

const WORKER_URL = compiledUrl(import.meta.url, './worker.js');

/** A chunk on the device, and one whose rows are laid out and consumed meanwhile. */
const CHUNKS_ON_DEVICE = 2;

/** Milliseconds that a pool which is closed waits for its threads. */
const PATIENCE = 10_000;

export class RolloutPool {
  readonly workers: number;
  readonly device?: ModelPlace['device'];
  private readonly attempts: number;
  private readonly modelLoader?: string;
  private readonly threads?: Piscina;
  private readonly revival = new Revival();
  private readonly shared = new WeakMap<object, unknown>();
  private readonly stops = new Set<StopFlag>();
  private readonly asked = new Set<Promise<WorkerReply>>();
  private isClosed = false;

  /** Throws ROLLOUT_INVALID. */
  constructor({ workers, modelLoader, attempts = 3, resourceLimits, device }: RolloutPoolOptions) {
    for (const [name, value, least] of [['workers', workers, 0] as const, ['attempts', attempts, 1] as const]) {
      if (Number.isSafeInteger(value) && value >= least) continue;
      throw reverieError('ROLLOUT_INVALID', {
        problem: `${name} is ${value}.`,
        hint: `Give a whole number >= ${least}.`,
      });
    }
    this.workers = device ? 0 : workers;
    this.device = device;
    this.attempts = attempts;
    this.modelLoader = modelLoader;
    if (this.workers > 0) this.threads = this.startThreads({ maxOldGenerationSizeMb: 512, ...resourceLimits });
  }

  /**
   * Branched rollouts as `branchedRollouts`, on the workers; same bytes for any number of them.
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
    return mergeChunks(chunks, request, plan, identityOf(request));
  }

  /** Whole dreamt episodes as `dreamEpisodes`, on the workers. */
  dreamEpisodes(request: EpisodeRequest<FrozenRolloutRequest>, controls: RolloutControls = {}): Promise<RolloutResult> {
    return this.branchedRollouts(episodeRollouts<FrozenRolloutRequest>(request), controls);
  }

  /**
   * The chunks of a job, in order. Only a few are lived ahead of the reader: a reader that waits makes the workers wait.
   * Leaving the loop early gives the rest up.
   */
  async *chunks(request: FrozenRolloutRequest, { from = 0, signal }: ChunkRange = {}): AsyncGenerator<RolloutChunk> {
    const plan = new RolloutPlan(request);
    const live = this.threads ? this.onWorkers(request, plan, this.threads) : this.inThisThread(request, plan);
    const stop = makeStopFlag();
    const giveUp = () => raise(stop);
    this.stops.add(stop);
    signal?.addEventListener('abort', giveUp);
    // Two chunks a worker: the next one waits at the thread while the pool is busy with the last.
    const ahead = this.device ? CHUNKS_ON_DEVICE : Math.max(1, this.workers * 2);
    const underWay: Promise<RolloutChunk | undefined>[] = [];
    let next = from;
    try {
      while (next < plan.chunks || underWay.length > 0) {
        signal?.throwIfAborted();
        while (next < plan.chunks && underWay.length < ahead) underWay.push(observed(live(next++, stop)));
        const chunk = await underWay.shift();
        if (chunk === undefined) throw signal?.reason;
        yield chunk;
      }
    } finally {
      giveUp();
      signal?.removeEventListener('abort', giveUp);
      await Promise.allSettled(underWay);
      this.stops.delete(stop);
    }
  }

  /** Ends the threads, each after the steps it is at; jobs under way reject with POOL_CLOSED. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const stop of this.stops) raise(stop);
    await Promise.race([Promise.allSettled(this.asked), setTimeout(PATIENCE, undefined, { ref: false })]);
    await this.threads?.destroy();
    await this.revival.close();
  }

  private startThreads(resourceLimits: RolloutPoolOptions['resourceLimits']): Piscina {
    const threads = new Piscina({
      minThreads: this.workers,
      maxThreads: this.workers,
      concurrentTasksPerWorker: 1,
      atomics: 'sync',
      stricterFIFO: true,
      recordTiming: false,
      resourceLimits,
    });
    // A thread that dies with no chunk has nothing to lose: it is replaced, and not an error.
    threads.on('error', () => {});
    threads.on('workerDestroy', () => setImmediate(() => this.wake(threads)));
    return threads;
  }

  /** piscina does not replace a thread that died while starting; the next task does. Without one, queued chunks would wait for ever. */
  private wake(threads: Piscina): void {
    if (this.isClosed || threads.threads.length > 0 || threads.queueSize === 0) return;
    threads.run({ kind: 'wake' } satisfies WakeMessage, { filename: WORKER_URL }).catch(() => {});
  }

  private inThisThread(request: FrozenRolloutRequest, plan: RolloutPlan): LiveChunk {
    return async (index, stop) => {
      if (this.isClosed) throw reverieError('POOL_CLOSED');
      const model = await this.revival.model(request.model, this.modelLoader, { device: this.device });
      const policy = await this.revival.policy(request.policy);
      const isStopped = async () => {
        await nextTurn();
        if (this.isClosed) throw reverieError('POOL_CLOSED');
        return stop[0] !== 0;
      };
      const [task, rng] = [plan.task(index), plan.rng(index)];
      if (await isStopped()) return undefined;
      const whole = this.device && (await wholeChunk(model, policy, task, rng));
      return whole ?? rolloutChunk(model, policy, task, rng, isStopped);
    };
  }

  private onWorkers(request: FrozenRolloutRequest, plan: RolloutPlan, threads: Piscina): LiveChunk {
    const model = this.share(request.model);
    const policy = this.share(request.policy);
    return async (index, stop) => {
      const make = (): ChunkMessage => ({
        kind: 'chunk',
        model,
        policy,
        modelLoader: this.modelLoader,
        task: plan.task(index),
        rng: plan.rng(index).state(),
        stop,
      });
      const reply = await this.ask(threads, make, index);
      if (reply.kind === 'failed') throw unpackError(reply.error);
      if (reply.kind === 'done') return reply.chunk;
      if (this.isClosed) throw reverieError('POOL_CLOSED');
      return undefined;
    };
  }

  /** Sends a chunk until a worker lives long enough to answer. The message is made anew each time: its arrays go with the worker. */
  private async ask(threads: Piscina, make: () => ChunkMessage, chunk: number): Promise<WorkerReply> {
    for (let attempt = 1; ; attempt++) {
      if (this.isClosed) throw reverieError('POOL_CLOSED');
      const message = make();
      const { starts, parent, group } = message.task;
      const transferList = [starts, parent, group].map((column) => column.buffer as ArrayBuffer);
      try {
        // The file is named with each task, not to the pool: a file that fails to load then fails a task, not the thread.
        const reply: Promise<WorkerReply> = threads.run(message, { filename: WORKER_URL, transferList });
        this.asked.add(reply);
        return await reply.finally(() => this.asked.delete(reply));
      } catch (cause) {
        if (this.isClosed) throw reverieError('POOL_CLOSED', {}, cause);
        refuseUncloneable(cause);
        if (attempt < this.attempts) continue;
        throw reverieError('WORKER_LOST', { attempts: attempt, chunk, problem: String(cause) }, cause);
      }
    }
  }

  private share<T extends object>(snapshot: T): T {
    const known = this.shared.get(snapshot);
    if (known !== undefined) return known as T;
    const shared = shareBytes(snapshot);
    this.shared.set(snapshot, shared);
    return shared;
  }
}

/** A promise that others may fail before: its failure is seen when its turn comes. */
function observed<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function refuseUncloneable(cause: unknown): void {
  if (!(cause instanceof Error) || cause.name !== 'DataCloneError') return;
  const problem = `the model or policy snapshot cannot be sent to a thread: ${cause.message}`;
  throw reverieError('ROLLOUT_INVALID', { problem, hint: 'Snapshots hold plain data and typed arrays only.' }, cause);
}
