// Judging on worker threads: what a chunk holds depends on its address alone, so that threads leave no trace in the rows.

import { Piscina } from 'piscina';
import { type PackedError, unpackError } from '../../../core/errors.js';
import type { Json } from '../../../core/json.js';
import { makeStopFlag, raise } from '../../../core/stop-flag.js';
import { compiledUrl } from '../../../core/worker-url.js';
import type { ChunkAddress, FidelitySetup, MeasureOptions } from '../../../fidelity/index.js';
import type { Scenario } from '../../../kinds/index.js';

export class VectorFidelityPool {
  private readonly threads: Piscina;

  /** The truth has to lie in the run's folder already: threads that found none would each record it. */
  constructor(
    private readonly setup: FidelitySetup<Scenario>,
    workers: number,
  ) {
    this.threads = new Piscina({
      filename: compiledUrl(import.meta.url, './vector-worker.js'),
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

// What the main thread and the threads that judge tell each other.

export interface ChunkTask {
  readonly setup: FidelitySetup<Scenario>;
  readonly address: ChunkAddress;
  /** Set to 1 where nobody wants the rows any more. */
  readonly stop: Int32Array;
}

/** A failure crosses as data, so that its catalogue code survives. */
export type ChunkOutcome =
  | { readonly kind: 'done'; readonly rows: readonly Json[] }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed'; readonly error: PackedError };
