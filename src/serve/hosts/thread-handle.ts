// One life of a worker thread, from the side of the host: what is sent in one turn of the event loop goes as one message, and
// its death is told once, whatever killed it.

import { type ResourceLimits, Worker } from 'node:worker_threads';
import { compiledUrl } from '../../core/worker-url.js';
import type { CallMessage } from './calls.js';
import type { HostRequest, Leave, ThreadAnswers, ThreadData, ThreadMessage } from './messages.js';

/** Milliseconds in which a thread that is told to leave has to come back to its event loop. */
const PATIENCE = 2000;

export interface ThreadOptions extends ThreadData {
  /** Limits of the thread's JavaScript heap; weights and physics lie outside of it. */
  readonly resourceLimits?: ResourceLimits;
}

export interface ThreadEvents {
  readonly onReady: () => void;
  readonly onAnswers: (message: ThreadAnswers) => void;
  readonly onCall: (message: CallMessage) => void;
  /** @param problem  what killed it, in words */
  readonly onDeath: (problem: string) => void;
}

const THREAD_URL = new URL(compiledUrl(import.meta.url, './thread.js'));

export class ThreadHandle {
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
