// Judging on worker threads: what a chunk holds depends on its address alone, so that threads leave no trace in the rows.

import type { Json } from '../../../core/canonical-json.js';
import { WorkerPool } from '../../../core/pool.js';
import { poolTask } from '../../../core/pool-task.js';
import type { ChunkAddress, MeasureOptions } from '../../../fidelity/measure.js';
import type { FidelitySetup, OpenedSubjects } from '../../../fidelity/section.js';
import { openVectorSubjects } from '../../../fidelity/vector/opening.js';
import type { Scenario } from '../../../kinds/vector.js';
import { vectorHost } from './vector-host.js';

interface ChunkInput {
  readonly setup: FidelitySetup<Scenario>;
  readonly address: ChunkAddress;
}

/** Of the setup that this thread was first asked for: a pool has but one. */
let opened: Promise<OpenedSubjects> | undefined;

export const judgeChunkTask = poolTask(
  import.meta.url,
  'judgeChunkTask',
  async ({ setup, address }: ChunkInput, { stop }): Promise<readonly Json[]> => {
    if (Atomics.load(stop, 0) === 1) return [];
    opened ??= openVectorSubjects(setup, vectorHost);
    const { instruments } = (await opened).subjects[address.subject];
    return instruments.find(({ id }) => id === address.instrument)!.measure(address.chunk);
  },
);

export class VectorFidelityPool {
  private readonly pool: WorkerPool;

  /** The truth has to lie in the run's folder already: threads that found none would each record it. */
  constructor(
    private readonly setup: FidelitySetup<Scenario>,
    workers: number,
  ) {
    this.pool = new WorkerPool({ workers });
  }

  /** For `measureSubjects`. Throws what opening or measuring threw, and the reason of `signal`. */
  readonly measureChunk: NonNullable<MeasureOptions['measureChunk']> = async (address, signal) => {
    const label = `chunk ${address.chunk} of ${address.instrument}`;
    const rows = await this.pool.run(judgeChunkTask, () => ({ setup: this.setup, address }), { signal, label });
    signal?.throwIfAborted();
    return rows;
  };

  close(): Promise<void> {
    return this.pool.close();
  }
}
