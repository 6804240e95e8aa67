// A chunk of branches as a task for worker threads: model and policy are revived once a thread, rows leave without a copy.

import type { PolicySnapshot } from '../../core/policy.js';
import { Rng, type RngState } from '../../core/rng.js';
import type { StopFlag } from '../../core/stop-flag.js';
import { moved, poolTask } from '../../pool/index.js';
import type { WorldModelSnapshot } from '../../worldmodel/index.js';
import { rolloutChunk } from './chunk.js';
import { type ChunkRecord, packChunk } from './chunk-record.js';
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

async function lived(input: ChunkInput, stop: StopFlag): Promise<RolloutChunk | undefined> {
  const model = await revival.model(input.model, input.modelLoader);
  const policy = await revival.policy(input.policy);
  const isStopped = () => Atomics.load(stop, 0) !== 0;
  return rolloutChunk(model, policy, input.task, Rng.fromState(input.rng), isStopped);
}

/** Answers the chunk; undefined if it was stopped between two steps. */
export const chunkTask = poolTask(
  import.meta.url,
  'chunkTask',
  async (input: ChunkInput, { stop }): Promise<RolloutChunk | undefined> => {
    const chunk = await lived(input, stop);
    return chunk && moved(chunk);
  },
);

/** The same chunk as the record that a journal keeps. */
export const chunkRecordTask = poolTask(
  import.meta.url,
  'chunkRecordTask',
  async (input: ChunkInput, { stop }): Promise<ChunkRecord | undefined> => {
    const chunk = await lived(input, stop);
    return chunk && moved(packChunk(chunk));
  },
);
