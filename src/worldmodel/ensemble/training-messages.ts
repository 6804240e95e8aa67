// What passes between the thread that asks for an ensemble and the threads that train its members.

import type { PackedError } from '../../core/errors.js';
import type { RngState } from '../../core/rng.js';
import type { StopFlag } from '../../core/stop-flag.js';
import type { EnsembleConfig } from './config.js';
import type { MemberData } from './dataset.js';
import type { MemberShape } from './member-network.js';
import type { TrainedMember } from './member-training.js';

/** One member to train. `data` lies in shared memory, so sending it copies nothing. */
export interface TrainingTask {
  /** Same for all members of one fit: a worker copies the data once for it. */
  readonly fit: string;
  readonly member: number;
  readonly data: MemberData;
  readonly shape: MemberShape;
  readonly config: EnsembleConfig;
  readonly rng: RngState;
  readonly initial?: Float32Array;
}

/** To a worker, which stops at the next hundred gradient steps once `stop` is raised. */
export interface TrainingRequest {
  readonly task: TrainingTask;
  readonly stop: StopFlag;
}

export type TrainingReply = { readonly trained: TrainedMember } | { readonly failed: PackedError };

/** Sent by a worker after every epoch. */
export interface EpochMessage {
  readonly fit: string;
  readonly member: number;
  readonly epoch: number;
  readonly holdoutLoss: number;
}
