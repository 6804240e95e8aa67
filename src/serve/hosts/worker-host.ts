// Where environments that compute live: worker threads, so that the event loop that serves is never blocked by physics or
// networks. Environments are spread evenly, and survive the death of their thread.

import { availableParallelism } from 'node:os';
import type { ResourceLimits } from 'node:worker_threads';
import { reverieError } from '../../core/errors.js';
import type {
  EnvSnapshot,
  ResetOptions,
  ResetResult,
  RestoreOptions,
  StepResult,
  VectorEnvironment,
  VectorSpace,
} from '../../env/index.js';
import type { Servable, VectorBlueprint } from '../../run/serving/index.js';
import { BatchHistogram, type BatchSizes } from './batching-model.js';
import { Lane, type Resident } from './lane.js';
import { type Description, Journal } from './messages.js';

export interface WorkerHostOptions {
  /** Threads; from 1. Default: `defaultWorkers()`. */
  readonly workers?: number;
  /** Rows of one step of a world model at most; 1: dreams are not batched. Default 256. */
  readonly batchRows?: number;
  /** Requests in a thread at once; others wait outside of it. Default 256. */
  readonly inFlight?: number;
  /** Times that a request may kill a thread, alone, until its environment is given up. Default 3. */
  readonly attempts?: number;
  /** Seconds without any answer, once a request was called off, after which a thread is taken for hung and replaced. Default 5. */
  readonly hungSeconds?: number;
  /** Limits of each thread's JavaScript heap; weights and physics lie outside of it. Default: 512 MB of old generation. */
  readonly resourceLimits?: ResourceLimits;
  /** URL of a module that exports a `vectorMaker`, for environments of one's own; default: the package's. */
  readonly maker?: string;
}

/** Numbers of a host; lists have an element for each worker. */
export interface HostStats {
  readonly workers: number;
  readonly environments: readonly number[];
  /** Requests that wait outside of the threads. */
  readonly queued: readonly number[];
  /** Requests that the threads have. */
  readonly underWay: readonly number[];
  /** Steps taken since the start. */
  readonly steps: readonly number[];
  /** Threads that died and were replaced. */
  readonly restarts: readonly number[];
  /** Batches that world models were asked, of all workers. */
  readonly batches: BatchSizes;
}

/** A thread for each core but the one that serves. */
export function defaultWorkers(): number {
  return Math.max(1, availableParallelism() - 1);
}

export class WorkerHost {
  private readonly lanes: readonly Lane[];
  private readonly blueprints = new Map<string, VectorBlueprint>();
  private readonly batches = new BatchHistogram();
  private lastEnv = 0;

  /** @throws WORKERS_INVALID */
  constructor(options: WorkerHostOptions = {}) {
    const { workers = defaultWorkers(), batchRows = 256, inFlight = 256, attempts = 3, hungSeconds = 5 } = options;
    for (const [what, value] of Object.entries({ workers, batchRows, inFlight, attempts })) {
      if (!Number.isSafeInteger(value) || value < 1) throw reverieError('WORKERS_INVALID', { what, value });
    }
    const { maker, resourceLimits = { maxOldGenerationSizeMb: 512 } } = options;
    const { blueprints, batches } = this;
    const lane = {
      blueprints,
      batches,
      batchRows,
      inFlight,
      attempts,
      hung: hungSeconds * 1000,
      maker,
      resourceLimits,
    };
    this.lanes = Array.from({ length: workers }, () => new Lane(lane));
  }

  /** Says what environments of `model`, a name of one's own choice, are made from. */
  add(model: string, blueprint: VectorBlueprint): void {
    this.blueprints.set(model, blueprint);
  }

  /**
   * An environment in the worker that has fewest.
   * @throws what making it throws; ENVIRONMENT_LOST, WORKER_UNUSABLE
   */
  async make(model: string): Promise<RemoteEnvironment> {
    const lane = this.lanes.reduce((least, one) => (one.residents.size < least.residents.size ? one : least));
    const resident: Resident = { env: ++this.lastEnv, model, journal: new Journal(), isLive: false };
    lane.residents.add(resident);
    try {
      return new RemoteEnvironment(await lane.ask(resident, { kind: 'describe' }), lane, resident);
    } catch (error) {
      lane.remove(resident);
      throw error;
    }
  }

  get stats(): HostStats {
    const { lanes } = this;
    return {
      workers: lanes.length,
      environments: lanes.map(({ residents }) => residents.size),
      queued: lanes.map(({ queued }) => queued),
      underWay: lanes.map(({ underWay }) => underWay),
      steps: lanes.map(({ steps }) => steps),
      restarts: lanes.map(({ restarts }) => restarts),
      batches: this.batches.sizes,
    };
  }

  /** Replaces a worker's thread, as its death would: no environment notices. */
  async restart(worker: number): Promise<void> {
    await this.lanes[worker].restart();
  }

  /** Ends the threads; whoever waits is told SERVER_DRAINING. */
  async close(): Promise<void> {
    await Promise.all(this.lanes.map((lane) => lane.close()));
  }
}

// An environment that lives in a worker thread. Whoever has it cannot tell from one of its own: what it answers is the same
// to the byte, also where its thread dies meanwhile.

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

// Puts what computes into worker threads: environments of family `vector`. Those of tools and text wait for others and stay
// on the event loop (their rules have a sandbox of their own).

export interface Hosting {
  readonly served: readonly Servable[];
  /** None where nothing computes, or no workers are wanted. */
  readonly host?: WorkerHost;
  /** Closes what is served, and ends the threads. */
  close(): Promise<void>;
}

/**
 * @param options  `workers` 0: everything lives in this thread
 * @throws WORKERS_INVALID; what was opened is closed then
 */
export async function hosted(opened: readonly Servable[], options: WorkerHostOptions = {}): Promise<Hosting> {
  const { workers = defaultWorkers() } = options;
  const closeAll = async () => {
    for (const one of opened) await one.close();
  };
  if (workers === 0 || !opened.some(({ blueprint }) => blueprint)) return { served: opened, close: closeAll };
  const host = await startedHost({ ...options, workers }, closeAll);
  const served = opened.map((one): Servable => {
    if (one.blueprint === undefined) return one;
    host.add(one.name, one.blueprint);
    return { ...one, make: () => host.make(one.name) };
  });
  const close = async () => {
    await host.close();
    await closeAll();
  };
  return { served, host, close };
}

async function startedHost(options: WorkerHostOptions, onFailure: () => Promise<void>): Promise<WorkerHost> {
  try {
    return new WorkerHost(options);
  } catch (error) {
    await onFailure();
    throw error;
  }
}

/** Numbers of a host, for metrics. */
export function hostGauges({ stats }: WorkerHost): Record<string, number> {
  const { workers, environments, queued, underWay, steps, restarts, batches } = stats;
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    workers,
    worker_environments: sum(environments),
    worker_requests_queued: sum(queued),
    worker_requests_under_way: sum(underWay),
    worker_steps: sum(steps),
    worker_restarts: sum(restarts),
    model_batches: batches.batches,
    model_batch_rows: batches.rows,
  };
}
