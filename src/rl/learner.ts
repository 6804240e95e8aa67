// What every learner offers, whatever it learns: policies to act with and to send away, and its exact state.

import type { Policy, PolicySnapshot } from '../env/index.js';
import type { Spaces } from './spaces.js';

export type LearnerKind = 'sac' | 'ppo' | 'bc';

/** Everything needed to go on bit-identically: JSON-safe `meta` and named float32 arrays (copies). */
export interface LearnerState {
  readonly meta: {
    readonly kind: LearnerKind;
    readonly config: unknown;
    readonly spaces: Spaces;
    /** Optimiser steps taken so far: the clock of Adam's bias correction. */
    readonly gradientSteps: number;
  };
  readonly arrays: Readonly<Record<string, Float32Array>>;
}

export interface Learner {
  readonly kind: LearnerKind;
  readonly spaces: Spaces;
  readonly gradientSteps: number;
  /** Acts with the weights of the moment; its `version` changes with them. */
  policy(): Policy;
  /** The weights of now, frozen; acts byte for byte as `policy()` does now. */
  policySnapshot(): PolicySnapshot;
  /** A self-contained .onnx (opset 17): see `policyModel` for its inputs and outputs. */
  policyModel(): Uint8Array;
  state(): LearnerState;
  /** Goes on from `state`; throws CHECKPOINT_CORRUPT if it does not fit this learner, which is then unchanged. */
  restore(state: LearnerState): void;
  close(): Promise<void>;
}
