// A worker and its environments, beyond the lives of its threads. A thread that dies is replaced; its environments are
// brought back to where they were when they are next asked, and what was under way is done again. As nobody can say which of
// many requests killed a thread, those are then tried one at a time: who kills it alone, again and again, is given up, and
// the others live on.

import { packError, reverieError, unpackError } from '../../core/errors.js';
import type { Blueprint } from '../../run/serving/index.js';
import type { BatchHistogram } from './batching-model.js';
import { AnsweredCalls, type Answering } from './calls.js';
import type { AnswerOf, HostAnswer, Journal, Question, ThreadAnswers } from './messages.js';
import { ThreadHandle, type ThreadOptions } from './thread-handle.js';

/** What environments are made of, and who answers what they ask. */
export interface HostedModel {
  readonly blueprint: Blueprint;
  readonly answering: Answering;
}

export interface LaneOptions extends ThreadOptions {
  readonly models: ReadonlyMap<string, HostedModel>;
  readonly batches: BatchHistogram;
  /** Requests in the thread at once; others wait outside of it. */
  readonly inFlight: number;
  /** Milliseconds without an answer after which what a thread does takes long. */
  readonly patience: number;
  /** Times that a request may kill a thread alone, or a thread die before it is ready, until that is an error. */
  readonly attempts: number;
  /** Milliseconds without any answer, once a request was called off, after which a thread is taken for hung and killed. */
  readonly hung: number;
}

/** An environment that lives in a lane. */
export interface Resident {
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
  readonly resident: Resident;
  readonly question: Question;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (answer: AnswerOf[keyof AnswerOf]) => void;
  readonly reject: (error: unknown) => void;
  /** A thread died with it. */
  isSuspect: boolean;
  /** Threads that died with it alone. */
  deaths: number;
}

export class Lane {
  readonly residents = new Set<Resident>();
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
  constructor(private readonly options: LaneOptions) {}

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
    resident: Resident,
    question: Question & { readonly kind: K },
    signal?: AbortSignal,
  ): Promise<AnswerOf[K]> {
    if (this.isClosed) return Promise.reject(reverieError('SERVER_DRAINING'));
    if (resident.lost !== undefined) return Promise.reject(resident.lost);
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise<AnswerOf[keyof AnswerOf]>((resolve, reject) => {
      const onAbort = () => this.callOff(job);
      const leave = () => signal?.removeEventListener('abort', onAbort);
      const job: Job = {
        ...{ resident, question, signal, isSuspect: false, deaths: 0 },
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
  remove(resident: Resident): void {
    this.residents.delete(resident);
    this.thread?.send({ kind: 'close', env: resident.env });
    resident.isLive = false;
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
      if (first?.isSuspect || (first !== undefined && this.queue[0].isSuspect)) return;
      this.send(this.queue.shift()!);
    }
  }

  private send(job: Job): void {
    const { resident, question } = job;
    const { env, model, journal } = resident;
    const isCommand = question.kind === 'step' || question.kind === 'reset';
    this.load(model);
    const id = ++this.lastId;
    if (this.inFlight.size === 0) this.heardAt = performance.now();
    this.inFlight.set(id, job);
    const revival = resident.isLive ? undefined : { model, past: journal.past };
    resident.isLive = true;
    this.thread!.send({ kind: 'ask', id, env, question, revival, withSnapshot: isCommand && journal.wantsSnapshot });
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
    for (const rows of batches) this.options.batches.add(rows);
    for (const answer of answers) {
      const job = this.inFlight.get(answer.id);
      this.inFlight.delete(answer.id);
      if (job !== undefined) this.finish(job, answer);
    }
    this.pump();
  }

  private finish({ resident, question, resolve, reject }: Job, { value, snapshot, error, lives }: HostAnswer): void {
    resident.isLive = lives;
    if (error !== undefined) {
      // A step that fails leaves everything as it was; of a reset or restore nobody promises that.
      if (question.kind === 'reset' || question.kind === 'restore') resident.isLive = false;
      reject(unpackError(error));
      return;
    }
    if (question.kind === 'step') this.steps++;
    if (question.kind === 'snapshot') resident.journal.know(value as AnswerOf['snapshot']);
    else if (question.kind !== 'describe') resident.journal.record(question, snapshot);
    resolve(value!);
  }

  private onDeath(problem: string): void {
    this.restarts++;
    clearTimeout(this.hangTimer);
    this.hangTimer = undefined;
    const jobs = [...this.inFlight.values()];
    this.inFlight.clear();
    for (const resident of this.residents) resident.isLive = false;
    this.queue.unshift(...jobs.filter((job) => this.isToBeDoneAgain(job, jobs.length === 1, problem)));
    if (!this.isReady && ++this.failedStarts >= this.options.attempts) this.giveUp(problem);
    const isWanted = this.isReady || this.queue.length > 0;
    this.thread = undefined;
    if (isWanted && !this.isClosed) this.start();
  }

  private isToBeDoneAgain(job: Job, isAlone: boolean, problem: string): boolean {
    job.isSuspect = true;
    if (isAlone) job.deaths++;
    if (job.signal?.aborted) {
      job.reject(job.signal.reason);
      return false;
    }
    const { attempts } = this.options;
    if (job.deaths < attempts) return true;
    job.resident.lost = reverieError('ENVIRONMENT_LOST', { request: job.question.kind, times: attempts, problem });
    job.reject(job.resident.lost);
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
