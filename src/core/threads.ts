// A worker thread that is asked like a function: the caller sleeps until it has answered. For what cannot be awaited, as rules of
// a domain are asked in the middle of a step.

import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
  type WorkerOptions,
} from 'node:worker_threads';

// Where the compiled form of a module of ours lies: worker threads load JavaScript, while tests run the TypeScript.

/**
 * URL of `relative` (ending in `.js`) next to the module `from`. A TypeScript source `src/…` maps to its build in `dist/…`.
 * @param from `import.meta.url` of the caller
 */
export function compiledUrl(from: string, relative: string): string {
  const url = new URL(relative, from).href;
  if (!from.endsWith('.ts')) return url;
  const at = url.lastIndexOf('/src/');
  return `${url.slice(0, at)}/dist/${url.slice(at + '/src/'.length)}`;
}

// Tells tasks on worker threads to stop. They are asked and end by themselves: a thread that is terminated while it is inside
// native code can take the process with it, as calls of Node-API fail there and C++ throws what is not caught.

/** Lies in shared memory: one word, other than 0 once a task is to stop. */
export type StopFlag = Int32Array;

export function makeStopFlag(): StopFlag {
  return new Int32Array(new SharedArrayBuffer(4));
}

export function raise(flag: StopFlag): void {
  Atomics.store(flag, 0, 1);
}

export function isRaised(flag: StopFlag): boolean {
  return Atomics.load(flag, 0) !== 0;
}

/** Milliseconds between two looks at a flag. */
const LOOK = 100;

/** The flag as a signal, for tasks that come back to the event loop now and then; `done` ends the looking. */
export function signalOf(flag: StopFlag): { readonly signal: AbortSignal; readonly done: () => void } {
  const abort = new AbortController();
  const look = () => isRaised(flag) && abort.abort();
  look();
  const timer = setInterval(look, LOOK);
  return { signal: abort.signal, done: () => clearInterval(timer) };
}

/** The thread's end of the line; its `workerData` has it as `line`. */
export interface ThreadLine {
  readonly port: MessagePort;
  /** One 32-bit integer: 1 once an answer lies in the port. */
  readonly signal: SharedArrayBuffer;
}

/** For a thread to put away what it has. */
const DISMISSED_MS = 15_000;

/** A thread does not keep the process from ending. It answers once by itself, when it is ready, and then once for each message. */
export class AskedThread<Reply> {
  private readonly worker: Worker;
  private readonly port: MessagePort;
  private readonly signal = new Int32Array(new SharedArrayBuffer(4));

  /** @param data what the thread has as `workerData`, beside `line` */
  constructor(url: URL, data: object, options: Omit<WorkerOptions, 'workerData' | 'transferList'> = {}) {
    const { port1, port2: port } = new MessageChannel();
    this.port = port1;
    const line: ThreadLine = { port, signal: this.signal.buffer as SharedArrayBuffer };
    this.worker = new Worker(url, { ...options, workerData: { ...data, line }, transferList: [port] });
    this.worker.unref();
    // A thread that ended answers no more, which is how the caller finds out.
    this.worker.on('error', () => {});
  }

  /** The answer; undefined where none came in time: the thread is of no more use then. */
  ask(message: unknown, milliseconds: number): Reply | undefined {
    this.port.postMessage(message);
    return this.receive(milliseconds);
  }

  /** The next answer, as that of a thread that is ready. */
  receive(milliseconds: number): Reply | undefined {
    const answered = isSignalled(this.signal, milliseconds);
    Atomics.store(this.signal, 0, 0);
    const reply = receiveMessageOnPort(this.port)?.message as Reply | undefined;
    return answered ? reply : undefined;
  }

  /** As `ask`, while the caller does other things; one question at a time. Without a message, the answer to come. */
  async answer(message: unknown, milliseconds: number): Promise<Reply | undefined> {
    const reply = await new Promise<Reply | undefined>((resolve) => {
      const settled = (given?: Reply) => {
        clearTimeout(late);
        this.port.off('message', settled);
        this.worker.off('exit', ended);
        resolve(given);
      };
      const ended = () => settled();
      const late = setTimeout(ended, milliseconds);
      this.worker.once('exit', ended);
      this.port.on('message', settled);
      if (message !== undefined) this.port.postMessage(message);
    });
    Atomics.store(this.signal, 0, 0);
    return reply;
  }

  end(): void {
    this.port.close();
    void this.worker.terminate();
  }

  /** Leaves it to itself: its port is closed, upon which it puts away what it has, and ends. The process waits for that, but not for ever. */
  dismiss(): void {
    this.port.close();
    this.worker.ref();
    setTimeout(() => void this.worker.terminate(), DISMISSED_MS).unref();
  }
}

/** Within the thread: sends an answer, and wakes its waiter. */
export function answerOn({ port, signal }: ThreadLine, reply: unknown): void {
  port.postMessage(reply);
  const flag = new Int32Array(signal);
  Atomics.store(flag, 0, 1);
  Atomics.notify(flag, 0);
}

/**
 * Waits for the signal. Being woken is not enough: the thread may have been held between its last signal and its waking
 * of its waiter, and would then wake who waits for the next.
 */
function isSignalled(signal: Int32Array, milliseconds: number): boolean {
  const until = performance.now() + milliseconds;
  while (Atomics.load(signal, 0) === 0) {
    const left = until - performance.now();
    if (left <= 0 || Atomics.wait(signal, 0, 0, left) === 'timed-out') return false;
  }
  return true;
}

/** Longest without a turn, where nothing says how long a piece of work takes. */
const LONGEST_MS = 50;

let last = performance.now();

/** A turn of the event loop, where the last that was given here is a while ago. */
export async function takeTurn(): Promise<void> {
  if (performance.now() - last < LONGEST_MS) return;
  await nextTurn();
  last = performance.now();
}

// Work on many things with a few at a time; results in the order of the things.

/**
 * Rejects with the first failure in time, once nothing runs any more. `onFailure` is called at once, so that what runs can be
 * stopped: what fails for that reason is not the first.
 */
export async function concurrently<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
  onFailure?: () => void,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  let failure: { readonly reason: unknown } | undefined;
  const worker = async (): Promise<void> => {
    while (next < items.length && failure === undefined) {
      const index = next++;
      try {
        results[index] = await work(items[index], index);
      } catch (reason) {
        failure ??= { reason };
        onFailure?.();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failure !== undefined) throw failure.reason;
  return results;
}
