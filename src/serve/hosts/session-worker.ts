// A worker thread and its environments, beyond the lives of its threads. A thread that dies is replaced; its environments are
// restored when they are next asked, and what was under way is done again. As nothing tells which of many requests killed a thread,
// those are then retried one at a time: one that kills it alone, again and again, is given up, and the others go on.

import { type ResourceLimits, Worker } from 'node:worker_threads';
import { packError, reverieError, unpackError } from '../../core/errors.js';
import { compiledUrl } from '../../core/threads.js';
import type { Blueprint } from '../../run/serving/blueprint.js';
import {
  AnsweredCalls,
  type Answering,
  type AnswerOf,
  type CallMessage,
  type HostAnswer,
  type HostRequest,
  type Journal,
  type Leave,
  type Question,
  type ThreadAnswers,
  type ThreadData,
  type ThreadMessage,
} from './messages.js';

/** What environments are made of, and who answers what they ask. */
export interface HostedModel {
  readonly blueprint: Blueprint;
  readonly answering: Answering;
}

export interface SessionWorkerOptions extends ThreadOptions {
  readonly models: ReadonlyMap<string, HostedModel>;
  /** Counted here. */
  readonly batches: { batches: number; rows: number };
  /** Requests in the thread at once; others wait outside of it. */
  readonly inFlight: number;
  /** Milliseconds without an answer after which what a thread does takes long. */
  readonly patience: number;
  /** Times that a request may kill a thread alone, or a thread die before it is ready, until that is an error. */
  readonly attempts: number;
  /** Milliseconds without any answer, once a request was called off, after which a thread is taken for hung and killed. */
  readonly hung: number;
}

/** An environment that lives in a worker. */
export interface HostedEnvironment {
  /** Number of the environment. */
  readonly env: number;
  readonly model: string;
  readonly journal: Journal;
  /** Whether the thread has it, in the state that the journal tells. */
  isLive: boolean;
  /** Why it was given up. */
  lost?: Error;
}

interface Job {
  readonly hosted: HostedEnvironment;
  readonly question: Question;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (answer: AnswerOf[keyof AnswerOf]) => void;
  readonly reject: (error: unknown) => void;
  /** A thread died with it. */
  isRetry: boolean;
  /** Threads that died with it alone. */
  deaths: number;
}

export class SessionWorker {
  readonly environments = new Set<HostedEnvironment>();
  steps = 0;
  restarts = 0;
  private readonly queue: Job[] = [];
  private readonly inFlight = new Map<number, Job>();
  private readonly loaded = new Set<string>();
  private thread: ThreadHandle | undefined;
  private calls: AnsweredCalls | undefined;
  private isReady = false;
  private isClosed = false;
  private failedStarts = 0;
  private lastId = 0;
  /** When the thread last gave an answer, or was first asked something after a pause. */
  private heardAt = 0;
  private hangTimer: NodeJS.Timeout | undefined;

  /** The thread is started when something is asked for. */
  constructor(private readonly options: SessionWorkerOptions) {}

  /** Starts the thread, and has it load a model that will be asked for. */
  warm(model: string): void {
    if (this.thread === undefined) this.start();
    this.load(model);
  }

  /** Requests that wait outside of the thread. */
  get queued(): number {
    return this.queue.length;
  }

  /** Requests that the thread has. */
  get underWay(): number {
    return this.inFlight.size;
  }

  /** Whether what the thread does takes long: whoever comes now would wait for it. */
  get isHeldUp(): boolean {
    return this.inFlight.size > 0 && performance.now() - this.heardAt > this.options.patience;
  }

  /**
   * Asks an environment, which is asked one thing at a time; what it did is in its journal when this resolves.
   * @throws what the environment throws; ENVIRONMENT_LOST, WORKER_UNUSABLE, SERVER_DRAINING; what `signal` is aborted with,
   *   and nothing was done then
   */
  ask<K extends Question['kind']>(
    hosted: HostedEnvironment,
    question: Question & { readonly kind: K },
    signal?: AbortSignal,
  ): Promise<AnswerOf[K]> {
    if (this.isClosed) return Promise.reject(reverieError('SERVER_DRAINING'));
    if (hosted.lost !== undefined) return Promise.reject(hosted.lost);
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise<AnswerOf[keyof AnswerOf]>((resolve, reject) => {
      const onAbort = () => this.callOff(job);
      const leave = () => signal?.removeEventListener('abort', onAbort);
      const job: Job = {
        ...{ hosted, question, signal, isRetry: false, deaths: 0 },
        resolve: (value) => {
          leave();
          resolve(value);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.queue.push(job);
      if (this.thread === undefined) this.start();
      this.pump();
    }) as Promise<AnswerOf[K]>;
  }

  /** Forgets an environment that nobody asks any more. */
  remove(hosted: HostedEnvironment): void {
    this.environments.delete(hosted);
    this.thread?.send({ kind: 'close', env: hosted.env });
    hosted.isLive = false;
  }

  /** Replaces the thread, as its death would. */
  async restart(): Promise<void> {
    await this.thread?.kill();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.hangTimer);
    for (const { reject } of [...this.inFlight.values(), ...this.queue]) reject(reverieError('SERVER_DRAINING'));
    this.inFlight.clear();
    this.queue.length = 0;
    this.calls?.hangUp();
    await this.thread?.end();
  }

  private start(): void {
    this.isReady = false;
    this.loaded.clear();
    const { maker, batchRows, resourceLimits, models } = this.options;
    const thread = new ThreadHandle(
      { maker, batchRows, resourceLimits },
      {
        onReady: () => {
          this.isReady = true;
          this.failedStarts = 0;
          this.pump();
        },
        onAnswers: (message) => this.onAnswers(message),
        onCall: (message) => void calls.take(message),
        onDeath: (problem) => {
          calls.hangUp();
          this.onDeath(problem);
        },
      },
    );
    const calls = new AnsweredCalls(
      (model) => models.get(model)!.answering,
      (answer) => thread.send(answer),
    );
    this.thread = thread;
    this.calls = calls;
  }

  private pump(): void {
    while (this.isReady && this.queue.length > 0 && this.inFlight.size < this.options.inFlight) {
      const [first] = this.inFlight.values();
      if (first?.isRetry || (first !== undefined && this.queue[0].isRetry)) return;
      this.send(this.queue.shift()!);
    }
  }

  private send(job: Job): void {
    const { hosted, question } = job;
    const { env, model, journal } = hosted;
    const isCommand = question.kind === 'step' || question.kind === 'reset';
    this.load(model);
    const id = ++this.lastId;
    if (this.inFlight.size === 0) this.heardAt = performance.now();
    this.inFlight.set(id, job);
    const restoreTo = hosted.isLive ? undefined : { model, past: journal.past };
    hosted.isLive = true;
    this.thread!.send({ kind: 'ask', id, env, question, restoreTo, withSnapshot: isCommand && journal.wantsSnapshot });
  }

  private load(model: string): void {
    if (this.loaded.has(model)) return;
    this.loaded.add(model);
    this.thread!.send({ kind: 'load', model, blueprint: this.options.models.get(model)!.blueprint });
  }

  private onAnswers({ answers, batches }: ThreadAnswers): void {
    this.heardAt = performance.now();
    clearTimeout(this.hangTimer);
    this.hangTimer = undefined;
    this.options.batches.batches += batches.length;
    for (const rows of batches) this.options.batches.rows += rows;
    for (const answer of answers) {
      const job = this.inFlight.get(answer.id);
      this.inFlight.delete(answer.id);
      if (job !== undefined) this.finish(job, answer);
    }
    this.pump();
  }

  private finish({ hosted, question, resolve, reject }: Job, { value, snapshot, error, lives }: HostAnswer): void {
    hosted.isLive = lives;
    if (error !== undefined) {
      // A step that fails leaves everything as it was; of a reset or restore nobody promises that.
      if (question.kind === 'reset' || question.kind === 'restore') hosted.isLive = false;
      reject(unpackError(error));
      return;
    }
    if (question.kind === 'step') this.steps++;
    if (question.kind === 'snapshot') hosted.journal.know(value as AnswerOf['snapshot']);
    else if (question.kind !== 'describe') hosted.journal.record(question, snapshot);
    resolve(value!);
  }

  private onDeath(problem: string): void {
    this.restarts++;
    clearTimeout(this.hangTimer);
    this.hangTimer = undefined;
    const jobs = [...this.inFlight.values()];
    this.inFlight.clear();
    for (const hosted of this.environments) hosted.isLive = false;
    this.queue.unshift(...jobs.filter((job) => this.isToBeDoneAgain(job, jobs.length === 1, problem)));
    if (!this.isReady && ++this.failedStarts >= this.options.attempts) this.giveUp(problem);
    const isWanted = this.isReady || this.queue.length > 0;
    this.thread = undefined;
    if (isWanted && !this.isClosed) this.start();
  }

  private isToBeDoneAgain(job: Job, isAlone: boolean, problem: string): boolean {
    job.isRetry = true;
    if (isAlone) job.deaths++;
    if (job.signal?.aborted) {
      job.reject(job.signal.reason);
      return false;
    }
    const { attempts } = this.options;
    if (job.deaths < attempts) return true;
    job.hosted.lost = reverieError('ENVIRONMENT_LOST', { request: job.question.kind, times: attempts, problem });
    job.reject(job.hosted.lost);
    return false;
  }

  /** No thread comes up: whoever waits is told so, and whoever asks next has it tried again. */
  private giveUp(problem: string): void {
    this.failedStarts = 0;
    const error = reverieError('WORKER_UNUSABLE', { times: this.options.attempts, problem });
    for (const { reject } of this.queue.splice(0)) reject(error);
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
      this.thread?.send({ kind: 'cancel', id, reason: packError(job.signal?.reason) });
      this.hangTimer ??= setTimeout(() => void this.thread?.kill(), this.options.hung);
    }
  }
}

/** Milliseconds in which a thread that is told to leave has to come back to its event loop. */
const PATIENCE = 2000;

interface ThreadOptions extends ThreadData {
  /** Limits of the thread's JavaScript heap; weights and physics lie outside of it. */
  readonly resourceLimits?: ResourceLimits;
}

interface ThreadEvents {
  readonly onReady: () => void;
  readonly onAnswers: (message: ThreadAnswers) => void;
  readonly onCall: (message: CallMessage) => void;
  /** @param problem  what killed it, in words */
  readonly onDeath: (problem: string) => void;
}

const THREAD_URL = new URL(compiledUrl(import.meta.url, './thread.js'));

class ThreadHandle {
  private readonly worker: Worker;
  private readonly exited: Promise<unknown>;
  private outgoing: HostRequest[] = [];
  private isOver = false;

  constructor({ resourceLimits, ...workerData }: ThreadOptions, events: ThreadEvents) {
    this.worker = new Worker(THREAD_URL, { workerData: workerData satisfies ThreadData, resourceLimits });
    this.exited = new Promise((resolve) => this.worker.once('exit', resolve));
    let problem = 'it ended';
    this.worker.on('message', (message: ThreadMessage) => {
      if (this.isOver) return;
      if (message === 'ready') events.onReady();
      else if (message.kind === 'answers') events.onAnswers(message);
      else events.onCall(message);
    });
    this.worker.on('error', (error) => {
      problem = String(error);
    });
    this.worker.on('exit', () => {
      if (this.isOver) return;
      this.isOver = true;
      events.onDeath(problem);
    });
  }

  send(request: HostRequest): void {
    if (this.outgoing.length === 0) setImmediate(() => this.flush());
    this.outgoing.push(request);
  }

  /** Kills it; its death is told. */
  kill(): Promise<void> {
    return this.leave();
  }

  /** Kills it without a word. */
  async end(): Promise<void> {
    this.isOver = true;
    await this.leave();
  }

  /** Asked first: one that is terminated inside native code can take the process with it (src/core/stop-flag.ts). */
  private async leave(): Promise<void> {
    this.worker.postMessage('leave' satisfies Leave);
    const timer = setTimeout(() => void this.worker.terminate(), PATIENCE);
    await this.exited;
    clearTimeout(timer);
  }

  private flush(): void {
    const requests = this.outgoing;
    this.outgoing = [];
    if (!this.isOver) this.worker.postMessage(requests);
  }
}
