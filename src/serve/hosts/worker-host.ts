// Where environments live: worker threads, so that the event loop that serves is never blocked by physics, networks or rules.
// Environments are spread evenly, and survive the death of their thread.

import { availableParallelism } from 'node:os';
import type { ResourceLimits } from 'node:worker_threads';
import { reverieError } from '../../core/errors.js';
import type {
  EnvFamily,
  Environment,
  EnvSnapshot,
  ResetOptions,
  ResetResult,
  RestoreOptions,
  Space,
  StepResult,
} from '../../env/index.js';
import { type Blueprint, runsRules, type Servable } from '../../run/serving/index.js';
import { BatchHistogram, type BatchSizes } from './batching-model.js';
import type { Answering } from './calls.js';
import { type HostedModel, Lane, type LaneOptions, type Resident } from './lane.js';
import { type Description, Journal } from './messages.js';

export interface WorkerHostOptions {
  /** Threads for all worlds of numbers, and for each world that runs rules; from 1. Default: `defaultWorkers()`, with rules at least 2. */
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
  /** URL of a module that exports an `environmentMaker`, for environments of one's own; default: the package's. */
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

/** Threads for a world that runs rules: where one of them waits for a rule that takes long, the other goes on. */
const LEAST_FOR_RULES = 2;
/** Sessions of structured worlds wait for language models, which is no work for their thread. */
const IN_FLIGHT_WITH_RULES = 4096;
/** Megabytes: records and states of a world lie on the heap. */
const HEAP_WITH_RULES = 2048;
/** Milliseconds for a rule, until others of its thread are moved out of its way; most take less than one. */
const PATIENCE_WITH_RULES = 500;

export class WorkerHost {
  /** Those of numbers first, if there are any. */
  private readonly lanes: Lane[] = [];
  private readonly lanesOf = new Map<string, readonly Lane[]>();
  private readonly models = new Map<string, HostedModel>();
  private readonly batches = new BatchHistogram();
  private forNumbers: readonly Lane[] | undefined;
  private lastEnv = 0;

  /** @throws WORKERS_INVALID */
  constructor(private readonly options: WorkerHostOptions = {}) {
    const { workers = 1, batchRows = 1, inFlight = 1, attempts = 1 } = options;
    for (const [what, value] of Object.entries({ workers, batchRows, inFlight, attempts })) {
      if (!Number.isSafeInteger(value) || value < 1) throw reverieError('WORKERS_INVALID', { what, value });
    }
  }

  /**
   * Says what environments of `model`, a name of one's own choice, are made from. Those of numbers share threads; a world that
   * runs rules has threads of its own, so that no other waits for its rules.
   * @param answering  answers what its environments ask @throws NOT_REGISTERED, SCENARIO_FAMILY
   */
  add(model: string, blueprint: Blueprint, answering: Answering = NOBODY): void {
    const { workers = defaultWorkers() } = this.options;
    this.models.set(model, { blueprint, answering });
    if (!runsRules(blueprint)) {
      this.forNumbers ??= this.newLanes(workers, {});
      this.lanesOf.set(model, this.forNumbers);
      return;
    }
    const count = this.options.workers ?? Math.max(LEAST_FOR_RULES, workers);
    // Whoever waits for a language model is in nobody's way.
    const patience = blueprint.asks ? Number.POSITIVE_INFINITY : PATIENCE_WITH_RULES;
    const resourceLimits = { maxOldGenerationSizeMb: HEAP_WITH_RULES };
    this.lanesOf.set(model, this.newLanes(count, { inFlight: IN_FLIGHT_WITH_RULES, resourceLimits, patience }));
  }

  /** Has threads started before they are needed: one for each model. */
  warm(): void {
    for (const [model, [lane]] of this.lanesOf) lane.warm(model);
  }

  /**
   * An environment in the worker that has fewest.
   * @throws what making it throws; ENVIRONMENT_LOST, WORKER_UNUSABLE
   */
  async make(model: string): Promise<RemoteEnvironment> {
    const lane = this.quickest(model);
    const { asks } = this.models.get(model)!.blueprint;
    const journal = asks ? new Journal(1) : new Journal();
    const resident: Resident = { env: ++this.lastEnv, model, journal, isLive: false };
    lane.residents.add(resident);
    try {
      const description = await lane.ask(resident, { kind: 'describe' });
      return new RemoteEnvironment(description, lane, resident, () => this.quickest(model));
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

  /** The worker that has fewest of those that are not held up, or else of all. */
  private quickest(model: string): Lane {
    const all = this.lanesOf.get(model)!;
    const free = all.filter((lane) => !lane.isHeldUp);
    const lanes = free.length > 0 ? free : all;
    return lanes.reduce((least, one) => (one.residents.size < least.residents.size ? one : least));
  }

  private newLanes(count: number, byKind: Partial<LaneOptions>): readonly Lane[] {
    const { batchRows = 256, inFlight = 256, attempts = 3, hungSeconds = 5, maker } = this.options;
    const { resourceLimits = { maxOldGenerationSizeMb: 512 } } = this.options;
    const hung = hungSeconds * 1000;
    const { models, batches } = this;
    const patience = Number.POSITIVE_INFINITY;
    const options = {
      models,
      batches,
      batchRows,
      inFlight,
      attempts,
      hung,
      patience,
      maker,
      resourceLimits,
      ...byKind,
    };
    const lanes = Array.from({ length: count }, () => new Lane(options));
    this.lanes.push(...lanes);
    return lanes;
  }
}

/** Of models whose environments ask nothing. */
const NOBODY: Answering = async () => undefined;

// An environment that lives in a worker thread. Whoever has it cannot tell from one of its own: what it answers is the same
// to the byte, also where its thread dies meanwhile.

export class RemoteEnvironment implements Environment {
  readonly id: string;
  readonly family: EnvFamily;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly maxEpisodeSteps?: number;
  /** Calls wait for those before them. */
  private last: Promise<unknown> = Promise.resolve();
  private isClosed = false;

  constructor(
    description: Description,
    private lane: Lane,
    private readonly resident: Resident,
    /** The lane that it would be put into now. */
    private readonly quickest: () => Lane,
  ) {
    this.id = description.id;
    this.family = description.family;
    this.observationSpace = description.observationSpace;
    this.actionSpace = description.actionSpace;
    this.maxEpisodeSteps = description.maxEpisodeSteps;
  }

  /** @throws as the environment; ENVIRONMENT_LOST, WORKER_UNUSABLE; what `signal` is aborted with, and nothing was done then */
  async reset({ seed, task }: ResetOptions = {}, signal?: AbortSignal): Promise<ResetResult<unknown>> {
    const options = { ...(seed !== undefined && { seed }), ...(task !== undefined && { task }) };
    return this.inTurn(() => this.lane.ask(this.resident, { kind: 'reset', options }, signal));
  }

  /** @throws as `reset` */
  async step(action: unknown, signal?: AbortSignal): Promise<StepResult<unknown>> {
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

  async restore(snapshot: EnvSnapshot, options: RestoreOptions = {}): Promise<unknown> {
    const own = structuredClone(snapshot);
    return this.inTurn(() => this.lane.ask(this.resident, { kind: 'restore', snapshot: own, options }));
  }

  mark(): () => void {
    const { resident } = this;
    const takeBack = resident.journal.mark();
    return () => {
      if (takeBack()) resident.isLive = false;
    };
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.last;
    this.lane.remove(this.resident);
  }

  /** To a worker that is not held up, where there is one: it is brought back there to where it was. */
  private move(): void {
    const lane = this.quickest();
    if (lane === this.lane || lane.isHeldUp) return;
    this.lane.remove(this.resident);
    lane.residents.add(this.resident);
    this.lane = lane;
  }

  private inTurn<R>(ask: () => Promise<R>): Promise<R> {
    if (this.isClosed) return Promise.reject(reverieError('ENV_NOT_RESET', { id: this.id }));
    const answer = this.last.then(() => {
      if (this.lane.isHeldUp) this.move();
      return ask();
    });
    this.last = answer.catch(() => {});
    return answer;
  }
}

// Puts what is served into worker threads, where it says how it is made in one.

export interface Hosting {
  readonly served: readonly Servable[];
  /** None where nothing served can live in a thread, or no workers are wanted. */
  readonly host?: WorkerHost;
  /** Closes what is served, and ends the threads. */
  close(): Promise<void>;
}

/**
 * @param options  `workers` 0: everything lives in this thread
 * @throws WORKERS_INVALID; what was opened is closed then
 */
export async function hosted(opened: readonly Servable[], options: WorkerHostOptions = {}): Promise<Hosting> {
  const closeAll = async () => {
    for (const one of opened) await one.close();
  };
  if (options.workers === 0 || !opened.some(({ blueprint }) => blueprint)) return { served: opened, close: closeAll };
  try {
    const host = new WorkerHost(options);
    const served = opened.map((one) => (one.blueprint === undefined ? one : hostedBy(host, one, one.blueprint)));
    const close = async () => {
      await host.close();
      await closeAll();
    };
    return { served, host, close };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

function hostedBy(host: WorkerHost, served: Servable, blueprint: Blueprint): Servable {
  const { name, answer } = served;
  host.add(name, blueprint, answer && ((request, signal) => answer.call(served, request, signal)));
  return { ...served, make: () => host.make(name) };
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
