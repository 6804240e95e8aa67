// A worker thread that is asked like a function: whoever asks sleeps until it has answered. For what cannot be awaited, as rules of
// a domain are asked in the middle of a step.

import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
  type WorkerOptions,
} from 'node:worker_threads';

/** The thread's end of the line; its `workerData` has it as `line`. */
export interface ThreadLine {
  readonly port: MessagePort;
  /** One 32-bit integer: 1 once an answer lies in the port. */
  readonly signal: SharedArrayBuffer;
}

/** For a thread to put away what it has. */
const DISMISSED_MS = 15_000;

/** A thread keeps nobody from ending. It answers once by itself, when it is ready, and then once for each message. */
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
    // A thread that ended answers no more, which is how whoever asks finds out.
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

  /** As `ask`, while whoever asks does other things; one question at a time. Without a message, the answer to come. */
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

/** Within the thread: sends an answer, and wakes whoever waits for it. */
export function answerOn({ port, signal }: ThreadLine, reply: unknown): void {
  port.postMessage(reply);
  const flag = new Int32Array(signal);
  Atomics.store(flag, 0, 1);
  Atomics.notify(flag, 0);
}

/**
 * Waits for the signal. Being woken is not enough: the thread may have been held between its last signal and its waking
 * of whoever waits for that, and would then wake who waits for the next.
 */
function isSignalled(signal: Int32Array, milliseconds: number): boolean {
  const until = performance.now() + milliseconds;
  while (Atomics.load(signal, 0) === 0) {
    const left = until - performance.now();
    if (left <= 0 || Atomics.wait(signal, 0, 0, left) === 'timed-out') return false;
  }
  return true;
}
