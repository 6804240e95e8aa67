// Judging on worker threads: what a chunk holds depends on its address alone, so that threads leave no trace in the rows.

import { Piscina } from 'piscina';
import { unpackError } from '../../../../core/errors.js';
import { makeStopFlag, raise } from '../../../../core/stop-flag.js';
import { compiledUrl } from '../../../../core/worker-url.js';
import type { MeasureOptions } from '../../../../fidelity/index.js';
import type { FidelitySetup } from '../setup.js';
import type { ChunkOutcome } from './messages.js';

export class VectorFidelityPool {
  private readonly threads: Piscina;

  /** The truth has to lie in the run's folder already: threads that found none would each record it. */
  constructor(
    private readonly setup: FidelitySetup,
    workers: number,
  ) {
    this.threads = new Piscina({
      filename: compiledUrl(import.meta.url, './worker.js'),
      // A thread that ended with its task would open everything again for the next.
      minThreads: workers,
      maxThreads: workers,
      concurrentTasksPerWorker: 1,
    });
  }

  /** For `measureSubjects`. Throws what opening or measuring threw, and the reason of `signal`. */
  readonly measureChunk: NonNullable<MeasureOptions['measureChunk']> = async (address, signal) => {
    const stop = makeStopFlag();
    const giveUp = () => raise(stop);
    signal?.addEventListener('abort', giveUp);
    try {
      const outcome: ChunkOutcome = await this.threads.run({ setup: this.setup, address, stop });
      if (outcome.kind === 'failed') throw unpackError(outcome.error);
      if (outcome.kind === 'stopped') throw signal?.reason;
      return outcome.rows;
    } finally {
      signal?.removeEventListener('abort', giveUp);
    }
  };

  async close(): Promise<void> {
    await this.threads.destroy();
  }
}
