// The one pool of worker threads: what computes (dynamics, physics, networks, rules) is sent here as tasks. One way to send, to
// stop and to die, whatever the task: a task whose thread died is done again, a stopped one ends at its next safe point, and a
// closed pool refuses. Without threads tasks run in the calling thread, with the same answers.

import { setTimeout } from 'node:timers/promises';
import { Piscina } from 'piscina';
import { reverieError, unpackError } from './errors.js';
import { type PoolMessage, type PoolReply, type PoolReport, type PoolTask, poolTask, unwrapped } from './pool-task.js';
import { makeStopFlag, raise, type StopFlag } from './threads.js';

export interface WorkerPoolOptions {
  /** Threads, each with one thread of ONNX Runtime; 0: tasks run in the calling thread, one after the other's turns. */
  readonly workers: number;
  /** Times a task is tried before its dying threads are an error. Default 3. */
  readonly attempts?: number;
  /** Limits of each thread's JavaScript heap; arrays and weights lie outside of it. Default: 512 MB of old generation. */
  readonly resourceLimits?: { readonly maxOldGenerationSizeMb?: number; readonly maxYoungGenerationSizeMb?: number };
}

interface RunOptions<Input> {
  /** Stops the task at its next safe point; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Hears what the task reports on its way. */
  readonly onReport?: (note: unknown) => void;
  /** Buffers of the input that go to the thread without a copy. */
  readonly transfer?: (input: Input) => readonly ArrayBufferLike[];
  /** Names the task in errors; the name of its export unless given. */
  readonly label?: string;
}

/** Milliseconds that a pool which is closed waits for its threads. */
const PATIENCE = 10_000;

const THREAD = poolTask(
  import.meta.url.replace(/pool(\.[jt]s)$/, 'pool-thread$1'),
  'default',
  async () => undefined,
).module;

export class WorkerPool {
  readonly workers: number;
  private readonly attempts: number;
  private readonly threads?: Piscina;
  private readonly stops = new Set<StopFlag>();
  private readonly asked = new Set<Promise<unknown>>();
  private readonly listeners = new Map<number, Listener>();
  private nextId = 0;
  private isClosed = false;

  /** @throws SETTING_INVALID */
  constructor({ workers, attempts = 3, resourceLimits }: WorkerPoolOptions) {
    requireCount('workers', workers, 0);
    requireCount('attempts', attempts, 1);
    this.workers = workers;
    this.attempts = attempts;
    if (workers > 0) this.threads = this.startThreads({ maxOldGenerationSizeMb: 512, ...resourceLimits });
  }

  /**
   * Does `task` with what `make` gives, which is asked anew for each try, as arrays may have left with a thread that died.
   * @throws what the task throws, WORKER_LOST, POOL_CLOSED, NOT_PORTABLE, or the signal's reason
   */
  async run<Input, Output>(
    task: PoolTask<Input, Output>,
    make: () => Input,
    options: RunOptions<Input> = {},
  ): Promise<Output> {
    const { signal } = options;
    if (this.isClosed) throw reverieError('POOL_CLOSED');
    signal?.throwIfAborted();
    const stop = makeStopFlag();
    const giveUp = () => raise(stop);
    this.stops.add(stop);
    signal?.addEventListener('abort', giveUp);
    try {
      const working = this.threads
        ? this.ask(this.threads, task, make, stop, options)
        : here(task, make, stop, options);
      this.asked.add(working);
      return await working.finally(() => this.asked.delete(working));
    } catch (error) {
      if (this.isClosed) throw reverieError('POOL_CLOSED', {}, error);
      throw signal?.aborted ? signal.reason : error;
    } finally {
      signal?.removeEventListener('abort', giveUp);
      this.stops.delete(stop);
    }
  }

  get closed(): boolean {
    return this.isClosed;
  }

  /** Ends the threads, each after the steps it is at; tasks under way reject with POOL_CLOSED. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const stop of this.stops) raise(stop);
    await Promise.race([Promise.allSettled(this.asked), setTimeout(PATIENCE, undefined, { ref: false })]);
    await this.threads?.destroy();
  }

  private startThreads(resourceLimits: WorkerPoolOptions['resourceLimits']): Piscina {
    const threads = new Piscina({
      minThreads: this.workers,
      maxThreads: this.workers,
      concurrentTasksPerWorker: 1,
      atomics: 'sync',
      stricterFIFO: true,
      recordTiming: false,
      resourceLimits,
    });
    // A thread that dies with no task has nothing to lose: it is replaced, and not an error.
    threads.on('error', () => {});
    threads.on('workerDestroy', () => setImmediate(() => this.wake(threads)));
    threads.on('message', ({ id, note }: PoolReport) => this.listeners.get(id)?.hear(note));
    return threads;
  }

  /** piscina does not replace a thread that died while starting; the next task does. Without one, queued tasks would wait for ever. */
  private wake(threads: Piscina): void {
    if (this.isClosed || threads.threads.length > 0 || threads.queueSize === 0) return;
    threads.run({ kind: 'wake' } satisfies PoolMessage, { filename: THREAD }).catch(() => {});
  }

  /** Sends a task until a thread lives long enough to answer. */
  private async ask<Input, Output>(
    threads: Piscina,
    { module, name }: PoolTask<Input, Output>,
    make: () => Input,
    stop: StopFlag,
    { onReport, transfer, label = name }: RunOptions<Input>,
  ): Promise<Output> {
    for (let attempt = 1; ; attempt++) {
      if (this.isClosed) throw reverieError('POOL_CLOSED');
      const id = this.nextId++;
      const input = make();
      const listener = onReport && new Listener(onReport);
      if (listener) this.listeners.set(id, listener);
      try {
        // The file is named with each task, not to the pool: a file that fails to load then fails a task, not the thread.
        const message: PoolMessage = { kind: 'task', id, module, name, input, stop };
        const transferList = [...(transfer?.(input) ?? [])] as ArrayBuffer[];
        const reply: PoolReply = await threads.run(message, { filename: THREAD, transferList });
        await listener?.heard(reply.reports);
        if (reply.kind === 'failed') throw new TaskFailure(unpackError(reply.error));
        return reply.value as Output;
      } catch (cause) {
        if (cause instanceof TaskFailure) throw cause.error;
        if (this.isClosed) throw reverieError('POOL_CLOSED', {}, cause);
        refuseUncloneable(cause, label);
        if (attempt < this.attempts) continue;
        throw reverieError('WORKER_LOST', { attempts: attempt, task: label, problem: String(cause) }, cause);
      } finally {
        this.listeners.delete(id);
      }
    }
  }
}

/** Hears the reports of one try; they come on another way than its answer, and may come after it. */
class Listener {
  private count = 0;
  private onEach: () => void = () => {};

  constructor(private readonly onReport: (note: unknown) => void) {}

  hear(note: unknown): void {
    this.count++;
    this.onReport(note);
    this.onEach();
  }

  /** Once `reports` of them were heard. */
  heard(reports: number): Promise<void> {
    return new Promise((resolve) => {
      this.onEach = () => this.count >= reports && resolve();
      this.onEach();
    });
  }
}

/** A failure of the task itself, as against one of its thread. */
class TaskFailure {
  constructor(readonly error: Error) {}
}

async function here<Input, Output>(
  task: PoolTask<Input, Output>,
  make: () => Input,
  stop: StopFlag,
  { onReport }: RunOptions<Input>,
): Promise<Output> {
  const answer = await task.run(make(), { stop, report: (note) => onReport?.(note) });
  return unwrapped(answer).value as Output;
}

function requireCount(option: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw reverieError('SETTING_INVALID', {
    problem: `A pool of workers with ${option} ${value}.`,
    hint: `Give a whole number of ${option} >= ${least}.`,
  });
}

function refuseUncloneable(cause: unknown, task: string): void {
  if (!(cause instanceof Error) || cause.name !== 'DataCloneError') return;
  throw reverieError(
    'NOT_PORTABLE',
    {
      problem: `What ${task} needs cannot be sent to a worker thread: ${cause.message}`,
      hint: 'Snapshots of models and policies hold plain data and typed arrays only.',
    },
    cause,
  );
}
