// A chunk of branches as a task for worker threads: model and policy are revived once a thread, rows leave without a copy.

import type { PolicySnapshot } from '../../core/policy.js';
import { Rng, type RngState } from '../../core/rng.js';
import { moved, poolTask } from '../../pool/index.js';
import type { WorldModelSnapshot } from '../../worldmodel/index.js';
import { rolloutChunk } from './chunk.js';
import type { ChunkTask } from './plan.js';
import type { RolloutChunk } from './request.js';
import { Revival } from './revival.js';

export interface ChunkInput {
  /** Bytes inside are shared, see src/pool/shared-bytes.ts. */
  readonly model: WorldModelSnapshot;
  readonly policy: PolicySnapshot;
  /** Module that revives the model; the world-model room if left out. */
  readonly modelLoader?: string;
  readonly task: ChunkTask;
  readonly rng: RngState;
}

const revival = new Revival();

/** Answers the chunk; undefined if it was stopped between two steps. */
export const chunkTask = poolTask(
  import.meta.url,
  'chunkTask',
  async (input: ChunkInput, { stop }): Promise<RolloutChunk | undefined> => {
    const model = await revival.model(input.model, input.modelLoader);
    const policy = await revival.policy(input.policy);
    const isStopped = () => Atomics.load(stop, 0) !== 0;
    const chunk = await rolloutChunk(model, policy, input.task, Rng.fromState(input.rng), isStopped);
    return chunk && moved(chunk);
  },
);
