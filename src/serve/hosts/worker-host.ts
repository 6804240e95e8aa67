// Where environments live: worker threads, so that the event loop that serves is never blocked by physics, networks or rules.
// Environments are spread evenly, and survive the death of their thread.

import { availableParallelism } from 'node:os';
import type { ResourceLimits } from 'node:worker_threads';
import type {
  EnvFamily,
  Environment,
  EnvSnapshot,
  ResetOptions,
  ResetResult,
  RestoreOptions,
  Space,
  StepResult,
} from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { type Blueprint, runsRules } from '../../run/serving/blueprint.js';
import type { Servable } from '../../run/serving/servable.js';
import { type Answering, type Description, Journal } from './messages.js';
import {
  type HostedEnvironment,
  type HostedModel,
  SessionWorker,
  type SessionWorkerOptions,
} from './session-worker.js';

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
interface HostStats {
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
  /** Batches that world models were asked, of all workers, and the rows of all of them. */
  readonly batches: { readonly batches: number; readonly rows: number };
}

/** A thread for each core but the one that serves. */
function defaultWorkers(): number {
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
  private readonly sessionWorkers: SessionWorker[] = [];
  private readonly workersOf = new Map<string, readonly SessionWorker[]>();
  private readonly models = new Map<string, HostedModel>();
  private readonly batches = { batches: 0, rows: 0 };
  private forNumbers: readonly SessionWorker[] | undefined;
  private lastEnv = 0;

  /** @throws SETTING_INVALID */
  constructor(private readonly options: WorkerHostOptions = {}) {
    const { workers = 1, batchRows = 1, inFlight = 1, attempts = 1 } = options;
    for (const [what, value] of Object.entries({ workers, batchRows, inFlight, attempts })) {
      if (!Number.isSafeInteger(value) || value < 1)
        throw reverieError('SETTING_INVALID', {
          problem: `Workers cannot be started with ${what} = ${value}.`,
          hint: 'Give a whole number from 1; workers = 0 serves everything in one thread.',
        });
    }
  }

  /**
   * Says what environments of `model`, a name of one's own choice, are made from. Those of numbers share threads; a world that
   * runs rules has threads of its own, so that no other waits for its rules.
   * @param answering  answers what its environments ask @throws NAME_UNKNOWN, SCENARIO_UNFIT
   */
  add(model: string, blueprint: Blueprint, answering: Answering = NOBODY): void {
    const { workers = defaultWorkers() } = this.options;
    this.models.set(model, { blueprint, answering });
    if (!runsRules(blueprint)) {
      this.forNumbers ??= this.newWorkers(workers, {});
      this.workersOf.set(model, this.forNumbers);
      return;
    }
    const count = this.options.workers ?? Math.max(LEAST_FOR_RULES, workers);
    // Whoever waits for a language model is in nobody's way.
    const patience = blueprint.asks ? Number.POSITIVE_INFINITY : PATIENCE_WITH_RULES;
    const resourceLimits = { maxOldGenerationSizeMb: HEAP_WITH_RULES };
    this.workersOf.set(model, this.newWorkers(count, { inFlight: IN_FLIGHT_WITH_RULES, resourceLimits, patience }));
  }

  /** Has threads started before they are needed: one for each model. */
  warm(): void {
    for (const [model, [worker]] of this.workersOf) worker.warm(model);
  }

  /**
   * An environment in the worker that has fewest.
   * @throws what making it throws; ENVIRONMENT_LOST, WORKER_UNUSABLE
   */
  async make(model: string): Promise<RemoteEnvironment> {
    const worker = this.quickest(model);
    const { asks } = this.models.get(model)!.blueprint;
    const journal = asks ? new Journal(1) : new Journal();
    const hosted: HostedEnvironment = { env: ++this.lastEnv, model, journal, isLive: false };
    worker.environments.add(hosted);
    try {
      const description = await worker.ask(hosted, { kind: 'describe' });
      return new RemoteEnvironment(description, worker, hosted, () => this.quickest(model));
    } catch (error) {
      worker.remove(hosted);
      throw error;
    }
  }

  get stats(): HostStats {
    const { sessionWorkers } = this;
    return {
      workers: sessionWorkers.length,
      environments: sessionWorkers.map(({ environments }) => environments.size),
      queued: sessionWorkers.map(({ queued }) => queued),
      underWay: sessionWorkers.map(({ underWay }) => underWay),
      steps: sessionWorkers.map(({ steps }) => steps),
      restarts: sessionWorkers.map(({ restarts }) => restarts),
      batches: { ...this.batches },
    };
  }

  /** Replaces a worker's thread, as its death would: no environment notices. */
  async restart(worker: number): Promise<void> {
    await this.sessionWorkers[worker].restart();
  }

  /** Ends the threads; whoever waits is told SERVER_DRAINING. */
  async close(): Promise<void> {
    await Promise.all(this.sessionWorkers.map((worker) => worker.close()));
  }

  /** The worker that has fewest of those that are not held up, or else of all. */
  private quickest(model: string): SessionWorker {
    const all = this.workersOf.get(model)!;
    const free = all.filter((worker) => !worker.isHeldUp);
    const sessionWorkers = free.length > 0 ? free : all;
    return sessionWorkers.reduce((least, one) => (one.environments.size < least.environments.size ? one : least));
  }

  private newWorkers(count: number, byKind: Partial<SessionWorkerOptions>): readonly SessionWorker[] {
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
    const sessionWorkers = Array.from({ length: count }, () => new SessionWorker(options));
    this.sessionWorkers.push(...sessionWorkers);
    return sessionWorkers;
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
    private worker: SessionWorker,
    private readonly hosted: HostedEnvironment,
    /** The worker that it would be put into now. */
    private readonly quickest: () => SessionWorker,
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
    return this.inTurn(() => this.worker.ask(this.hosted, { kind: 'reset', options }, signal));
  }

  /** @throws as `reset` */
  async step(action: unknown, signal?: AbortSignal): Promise<StepResult<unknown>> {
    // A copy: the caller's may change before it is done, or be a part of something large.
    const own = action instanceof Float32Array ? action.slice() : structuredClone(action);
    return this.inTurn(() => this.worker.ask(this.hosted, { kind: 'step', action: own }, signal));
  }

  async snapshot(): Promise<EnvSnapshot> {
    return this.inTurn(async () => {
      const { journal } = this.hosted;
      journal.ask();
      return journal.current ?? this.worker.ask(this.hosted, { kind: 'snapshot' });
    });
  }

  async restore(snapshot: EnvSnapshot, options: RestoreOptions = {}): Promise<unknown> {
    const own = structuredClone(snapshot);
    return this.inTurn(() => this.worker.ask(this.hosted, { kind: 'restore', snapshot: own, options }));
  }

  mark(): () => void {
    const { hosted } = this;
    const rollback = hosted.journal.mark();
    return () => {
      if (rollback()) hosted.isLive = false;
    };
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.last;
    this.worker.remove(this.hosted);
  }

  /** To a worker that is not held up, where there is one: it is brought back there to where it was. */
  private move(): void {
    const worker = this.quickest();
    if (worker === this.worker || worker.isHeldUp) return;
    this.worker.remove(this.hosted);
    worker.environments.add(this.hosted);
    this.worker = worker;
  }

  private inTurn<R>(ask: () => Promise<R>): Promise<R> {
    if (this.isClosed) return Promise.reject(reverieError('ENV_NOT_RESET', { id: this.id }));
    const answer = this.last.then(() => {
      if (this.worker.isHeldUp) this.move();
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
 * @throws SETTING_INVALID; what was opened is closed then
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
