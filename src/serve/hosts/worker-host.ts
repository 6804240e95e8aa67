// Where environments live: worker threads, so that the event loop that serves is never blocked by physics, networks or rules.
// Environments are spread evenly. A thread that dies is replaced, and what was in it is lost: sessions bring their environments
// back to where they were (core/world.ts). As nothing tells which of many requests killed a thread, those that were under way
// are then asked one at a time.

import { availableParallelism } from 'node:os';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import type { EnvFamily, EnvSnapshot, ResetOptions, RestoreOptions, Space } from '../../core/environment.js';
import { packError, reverieError } from '../../core/errors.js';
import { compiledUrl } from '../../core/threads.js';
import type { Blueprint, Servable } from '../../run/servable.js';
import { type AnswerOf, type LiveEnvironment, StateLost } from '../core/world.js';
import {
  type Answers,
  type HostMessage,
  outcomeOf,
  type Question,
  sender,
  type ThreadMessage,
  valueIn,
} from './messages.js';

export interface WorkerHostOptions {
  /** Threads for all worlds of numbers, and for each world that runs rules; from 1. Default: one a core but one, with rules at least 2. */
  readonly workers?: number;
  /** Rows of one step of a world model at most; 1: no batches. Default 256. */
  readonly batchRows?: number;
  /** Requests in a thread at once; others wait outside of it. Default 256. */
  readonly inFlight?: number;
  /** Seconds without any answer, once a request was called off, after which a thread is taken for hung and replaced. Default 5. */
  readonly hungSeconds?: number;
  /** Limits of each thread's JavaScript heap; weights and physics lie outside of it. Default: 512 MB of old generation. */
  readonly resourceLimits?: ResourceLimits;
  /** URL of a module that exports an `environmentMaker`, for environments of one's own; default: the package's. */
  readonly maker?: string;
}

/** Threads for a world that runs rules: where one of them waits for a rule that takes long, the other goes on. */
const LEAST_FOR_RULES = 2;
/** Sessions of structured worlds wait for language models, which is no work for their thread; their records lie on its heap (megabytes). */
const WITH_RULES = { inFlight: 4096, resourceLimits: { maxOldGenerationSizeMb: 2048 } };
/** Times that a thread may die before it is ready. */
const STARTS = 3;
/** Milliseconds in which a thread that is told to leave has to come back to its event loop. */
const LEAVING = 2000;

/** What a model's environments ask of the thread that serves. */
type Answering = (request: unknown, signal: AbortSignal) => Promise<unknown>;

interface HostedModel {
  readonly blueprint: Blueprint;
  readonly answering: Answering;
  readonly workers: readonly SessionWorker[];
}

export class WorkerHost {
  private readonly workers: SessionWorker[] = [];
  private readonly models = new Map<string, HostedModel>();
  private forNumbers: readonly SessionWorker[] | undefined;
  private lastEnv = 0;

  /** @throws SETTING_INVALID */
  constructor(private readonly options: WorkerHostOptions = {}) {
    const { workers = 1 } = options;
    if (Number.isSafeInteger(workers) && workers > 0) return;
    throw reverieError('SETTING_INVALID', {
      problem: `Workers cannot be started with workers = ${workers}.`,
      hint: 'Give a whole number from 1; workers = 0 serves everything in one thread.',
    });
  }

  /**
   * Says what environments of `model`, a name of one's own choice, are made from. Those of numbers share threads; a world that
   * runs rules has threads of its own, so that no other waits for its rules.
   * @param answering  answers what its environments ask @throws NOT_REGISTERED, SCENARIO_FAMILY
   */
  add(model: string, blueprint: Blueprint, answering: Answering = async () => undefined): void {
    if (!blueprint.runsRules) this.forNumbers ??= this.newWorkers(1, {});
    const workers = blueprint.runsRules ? this.newWorkers(LEAST_FOR_RULES, WITH_RULES) : this.forNumbers!;
    this.models.set(model, { blueprint, answering, workers });
  }

  /** Has threads started before they are needed: one for each model. */
  warm(): void {
    for (const [model, { workers }] of this.models) workers[0].warm(model);
  }

  /** An environment in the worker that has fewest. @throws what making it throws; StateLost, WORKER_UNUSABLE */
  async make(model: string): Promise<RemoteEnvironment> {
    const { workers } = this.models.get(model)!;
    const worker = workers.reduce((least, one) => (one.environments.size < least.environments.size ? one : least));
    return RemoteEnvironment.make(worker, model, ++this.lastEnv);
  }

  /** Of each worker: environments, and threads that died. */
  get stats() {
    return {
      environments: this.workers.map(({ environments }) => environments.size),
      restarts: this.workers.map(({ restarts }) => restarts),
    };
  }

  /** Replaces a worker's thread, as its death would: no session notices. */
  async restart(worker: number): Promise<void> {
    await this.workers[worker].restart();
  }

  /** Ends the threads; waiting requests fail with SERVER_DRAINING. */
  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.close()));
  }

  private newWorkers(least: number, ofKind: Partial<WorkerOptions>): readonly SessionWorker[] {
    const { workers: count = Math.max(least, availableParallelism() - 1) } = this.options;
    const { batchRows = 256, inFlight = 256, hungSeconds = 5, maker } = this.options;
    const { resourceLimits = { maxOldGenerationSizeMb: 512 } } = this.options;
    const limits = { batchRows, inFlight, hung: hungSeconds * 1000, resourceLimits };
    const options = { models: this.models, maker, ...limits, ...ofKind };
    const made = Array.from({ length: count }, () => new SessionWorker(options));
    this.workers.push(...made);
    return made;
  }
}

/** An environment that lives in a worker thread, and is asked one thing at a time. */
export class RemoteEnvironment implements LiveEnvironment {
  isSuspect = false;
  /** Its thread has died. */
  isLost = false;
  private isClosed = false;

  // What the thread told when it was made.
  readonly id!: string;
  readonly family!: EnvFamily;
  readonly observationSpace!: Space;
  readonly actionSpace!: Space;
  readonly maxEpisodeSteps?: number;

  private constructor(
    private readonly worker: SessionWorker,
    /** Number of the environment. */
    readonly env: number,
  ) {}

  /** @throws what making it throws; StateLost, WORKER_UNUSABLE */
  static async make(worker: SessionWorker, model: string, env: number): Promise<RemoteEnvironment> {
    const made = new RemoteEnvironment(worker, env);
    worker.environments.add(made);
    try {
      return Object.assign(made, await worker.ask(made, { kind: 'make', model }));
    } catch (error) {
      worker.environments.delete(made);
      throw error;
    }
  }

  /** @throws as the environment; StateLost, WORKER_UNUSABLE; what `signal` is aborted with, and nothing was done then */
  reset(options: ResetOptions = {}, signal?: AbortSignal): Promise<AnswerOf['reset']> {
    return this.ask({ kind: 'reset', options }, signal);
  }

  /** @throws as `reset` */
  step(action: unknown, signal?: AbortSignal): Promise<AnswerOf['step']> {
    return this.ask({ kind: 'step', action }, signal);
  }

  snapshot(): Promise<EnvSnapshot> {
    return this.ask({ kind: 'snapshot' });
  }

  restore(snapshot: EnvSnapshot, options: RestoreOptions = {}): Promise<unknown> {
    return this.ask({ kind: 'restore', snapshot, options });
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.worker.remove(this);
  }

  private ask<Q extends Question>(question: Q, signal?: AbortSignal): Promise<Answers[Q['kind']]> {
    if (this.isClosed) return Promise.reject(reverieError('ENV_NOT_RESET', { id: this.id }));
    return this.worker.ask(this, question, signal);
  }
}

interface WorkerOptions {
  readonly models: ReadonlyMap<string, HostedModel>;
  readonly batchRows: number;
  readonly inFlight: number;
  /** Milliseconds without any answer, once a request was called off, after which a thread is killed. */
  readonly hung: number;
  readonly resourceLimits?: ResourceLimits;
  readonly maker?: string;
}

interface Job {
  readonly environment: RemoteEnvironment;
  readonly question: Question;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const THREAD_URL = new URL(compiledUrl(import.meta.url, './thread.js'));

/** A thread, started when something is asked for, and those that replace it. */
class SessionWorker {
  readonly environments = new Set<RemoteEnvironment>();
  restarts = 0;
  private readonly queue: Job[] = [];
  private readonly inFlight = new Map<number, Job>();
  private readonly loaded = new Set<string>();
  /** Under way for the thread, by the number of the call. */
  private readonly calls = new Map<number, AbortController>();
  private thread: Worker | undefined;
  private send: (message: HostMessage) => void = () => {};
  private isReady = false;
  private isClosed = false;
  private failedStarts = 0;
  private lastId = 0;
  private hangTimer: NodeJS.Timeout | undefined;

  constructor(private readonly options: WorkerOptions) {}

  /** Starts the thread, and has it load a model that will be asked for. */
  warm(model: string): void {
    if (this.thread === undefined) this.start();
    this.load(model);
  }

  /**
   * @throws what the environment throws; StateLost, WORKER_UNUSABLE, SERVER_DRAINING; what `signal` is aborted with, and
   *   nothing was done then
   */
  ask<Q extends Question>(
    environment: RemoteEnvironment,
    question: Q,
    signal?: AbortSignal,
  ): Promise<Answers[Q['kind']]> {
    if (this.isClosed) return Promise.reject(reverieError('SERVER_DRAINING'));
    if (environment.isLost) return Promise.reject(new StateLost('its thread has ended', false));
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise<unknown>((resolve, reject) => {
      const callOff = () => this.callOff(job);
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T) => {
          signal?.removeEventListener('abort', callOff);
          settle(value);
        };
      const job: Job = { environment, question, signal, resolve: settled(resolve), reject: settled(reject) };
      signal?.addEventListener('abort', callOff, { once: true });
      this.queue.push(job);
      if (this.thread === undefined) this.start();
      this.pump();
    }) as Promise<Answers[Q['kind']]>;
  }

  /** Forgets an environment that is closed. */
  remove(environment: RemoteEnvironment): void {
    this.environments.delete(environment);
    if (environment.isLost || !this.isReady) return;
    this.send({ kind: 'ask', id: ++this.lastId, env: environment.env, question: { kind: 'close' } });
  }

  /** Asked first: one that is terminated inside native code can take the process with it (src/core/stop-flag.ts). */
  async restart(): Promise<void> {
    const { thread } = this;
    if (thread === undefined) return;
    const exited = new Promise((resolve) => thread.once('exit', resolve));
    this.send({ kind: 'leave' });
    const timer = setTimeout(() => void thread.terminate(), LEAVING);
    await exited;
    clearTimeout(timer);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.hangTimer);
    for (const { reject } of [...this.inFlight.values(), ...this.queue]) reject(reverieError('SERVER_DRAINING'));
    this.inFlight.clear();
    this.queue.length = 0;
    for (const stop of this.calls.values()) stop.abort();
    await this.restart();
  }

  private start(): void {
    this.isReady = false;
    this.loaded.clear();
    const { maker, batchRows, resourceLimits } = this.options;
    const thread = new Worker(THREAD_URL, { workerData: { maker, batchRows }, resourceLimits });
    this.thread = thread;
    this.send = sender((messages) => thread.postMessage(messages));
    let problem = 'it ended';
    thread.on('message', (messages: readonly ThreadMessage[]) => {
      if (this.isClosed) return;
      for (const message of messages) this.hear(message);
      this.pump();
    });
    thread.on('error', (error) => {
      problem = String(error);
    });
    thread.on('exit', () => this.onDeath(problem));
  }

  private load(model: string): void {
    if (this.loaded.has(model)) return;
    this.loaded.add(model);
    this.send({ kind: 'load', model, blueprint: this.options.models.get(model)!.blueprint });
  }

  /** One that may have killed a thread has it for itself. */
  private pump(): void {
    while (this.isReady && this.queue.length > 0 && this.inFlight.size < this.options.inFlight) {
      const [first] = this.inFlight.values();
      if (first?.environment.isSuspect || (first !== undefined && this.queue[0].environment.isSuspect)) return;
      const job = this.queue.shift()!;
      const { environment, question } = job;
      if (question.kind === 'make') this.load(question.model);
      const id = ++this.lastId;
      this.inFlight.set(id, job);
      this.send({ kind: 'ask', id, env: environment.env, question });
    }
  }

  private hear(message: ThreadMessage): void {
    if (message.kind === 'ready') {
      this.isReady = true;
      this.failedStarts = 0;
    } else if (message.kind === 'call') void this.answerCall(message);
    else if (message.kind === 'hang-up') this.calls.get(message.call)?.abort();
    else this.finish(message);
  }

  private finish(message: Extract<ThreadMessage, { kind: 'answered' }>): void {
    const job = this.inFlight.get(message.id);
    this.inFlight.delete(message.id);
    if (this.hangTimer !== undefined) this.watch();
    if (job === undefined) return;
    try {
      job.resolve(valueIn(message));
    } catch (error) {
      job.reject(error);
    }
  }

  private async answerCall({ call, model, request }: Extract<ThreadMessage, { kind: 'call' }>): Promise<void> {
    const stop = new AbortController();
    this.calls.set(call, stop);
    const { thread, send } = this;
    const outcome = await outcomeOf(() => this.options.models.get(model)!.answering(request, stop.signal), true);
    this.calls.delete(call);
    if (thread === this.thread) send({ kind: 'replied', call, ...outcome });
  }

  private onDeath(problem: string): void {
    this.thread = undefined;
    this.send = () => {};
    for (const stop of this.calls.values()) stop.abort();
    this.calls.clear();
    if (this.isClosed) return;
    this.restarts++;
    for (const environment of this.environments) environment.isLost = true;
    this.environments.clear();
    const jobs = [...this.inFlight.values()];
    this.inFlight.clear();
    this.watch();
    // Those that wait to be made are made by the next thread.
    const waiting = this.queue.splice(0);
    const lost = ({ reject, signal }: Job, wasAsked: boolean) =>
      reject(signal?.aborted ? signal.reason : new StateLost(problem, wasAsked));
    for (const job of jobs) lost(job, true);
    for (const job of waiting) {
      if (job.question.kind !== 'make') lost(job, false);
      else {
        job.environment.isLost = false;
        this.environments.add(job.environment);
        this.queue.push(job);
      }
    }
    if (!this.isReady && ++this.failedStarts >= STARTS) {
      this.failedStarts = 0;
      const error = reverieError('WORKER_UNUSABLE', { times: STARTS, problem });
      for (const { reject } of this.queue.splice(0)) reject(error);
    }
    if (this.isReady || this.queue.length > 0) this.start();
  }

  /** A request that waits is dropped; one that the thread has is answered first, if the thread answers at all. */
  private callOff(job: Job): void {
    const at = this.queue.indexOf(job);
    if (at >= 0) {
      this.queue.splice(at, 1);
      job.reject(job.signal?.reason);
      this.pump();
      return;
    }
    for (const [id, one] of this.inFlight) {
      if (one !== job) continue;
      this.send({ kind: 'cancel', id, reason: packError(job.signal?.reason) });
      if (this.hangTimer === undefined) this.watch();
    }
  }

  /** From now on, as long as the thread has a request that was called off. */
  private watch(): void {
    clearTimeout(this.hangTimer);
    const isWaiting = [...this.inFlight.values()].some(({ signal }) => signal?.aborted);
    this.hangTimer = isWaiting ? setTimeout(() => void this.restart(), this.options.hung) : undefined;
  }
}

// Puts what is served into worker threads, where it says how it is made in one.

/**
 * What is served, and the host; none where nothing can live in a thread.
 * @param workers  a whole number; 0: everything lives in this thread
 * @throws SETTING_INVALID
 */
export function hosted(opened: readonly Servable[], workers?: number) {
  const isHosted = workers !== 0 && opened.some(({ blueprint }) => blueprint);
  const host = isHosted ? new WorkerHost({ workers }) : undefined;
  const served = opened.map((one) => {
    const { name, blueprint, answer } = one;
    if (host === undefined || blueprint === undefined) return one;
    host.add(name, blueprint, answer && ((request, signal) => answer.call(one, request, signal)));
    return { ...one, make: host.make.bind(host, name) };
  });
  return { served, host };
}
