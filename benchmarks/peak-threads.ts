// What a second core adds where nothing is shared: multiply-adds of two threads that touch no memory, over those of one. Cores that
// are two threads of one share their multiply-add units, and answer little more than 1.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { nativeWidths } from '../src/nn/cuda.js';

/** A tenth of a second. */
const ROUNDS = 1e7;

export class PeakThreads {
  private constructor(private readonly workers: readonly [Worker, Worker]) {}

  /** Throws DEVICE_UNAVAILABLE without the addon. */
  static async start(): Promise<PeakThreads> {
    const workerData = { width: nativeWidths()[0], rounds: ROUNDS };
    const start = () => new Worker(new URL('./peak-worker.js', import.meta.url), { workerData });
    const workers: [Worker, Worker] = [start(), start()];
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    return new PeakThreads(workers);
  }

  /** 2 on two cores that share nothing and have nothing else to do. */
  async scaling(): Promise<number> {
    const alone = await this.timeOf(this.workers.slice(0, 1));
    return (2 * alone) / (await this.timeOf(this.workers));
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }

  private async timeOf(workers: readonly Worker[]): Promise<number> {
    const began = performance.now();
    const answers = workers.map((worker) => once(worker, 'message'));
    for (const worker of workers) worker.postMessage('go');
    await Promise.all(answers);
    return performance.now() - began;
  }
}
