// What passes between the pool and its workers: one message a chunk, one reply a chunk, nothing per step.

import type { PackedError } from '../../core/errors.js';
import type { RngState } from '../../core/rng.js';
import type { PolicySnapshot } from '../../env/index.js';
import type { WorldModelSnapshot } from '../../worldmodel/index.js';
import type { ChunkTask } from './plan.js';
import type { RolloutChunk } from './request.js';

export interface ChunkMessage {
  readonly kind: 'chunk';
  /** Bytes inside are shared, see sharing.ts. */
  readonly model: WorldModelSnapshot;
  readonly policy: PolicySnapshot;
  /** Module that revives the model; the world-model room if left out. */
  readonly modelLoader?: string;
  readonly task: ChunkTask;
  readonly rng: RngState;
  /** One element, shared: not 0 once the job is given up. */
  readonly stop: Int32Array;
}

/** Asks for nothing: a task that makes the pool start a thread. */
export interface WakeMessage {
  readonly kind: 'wake';
}

export type WorkerMessage = ChunkMessage | WakeMessage;

export type WorkerReply =
  | { readonly kind: 'done'; readonly chunk: RolloutChunk }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed'; readonly error: PackedError };
