// Branched rollouts that a world model runs as one piece of work, policy and all: what is asked and what comes back.

import type { Rng } from '../core/rng.js';
import type { PolicyNetwork } from '../env/index.js';

export interface WholeRollout {
  /** [branches, obsDim] */
  readonly starts: Float32Array;
  readonly branches: number;
  readonly horizon: number;
  readonly policy: PolicyNetwork;
  readonly isPolicyDeterministic: boolean;
  readonly propagation?: 'ts1' | 'mean';
  readonly isModelDeterministic: boolean;
  /** Also compute `disagreement`; always done where there is a limit. */
  readonly withDisagreement: boolean;
  /** A branch ends where disagreement is greater than this. */
  readonly disagreementLimit?: number;
  /** The row that ended a branch by doubt is left out. */
  readonly dropsDoubted: boolean;
  /** Of the policy's and of the model's noise at step t; not moved. */
  readonly actRng: (step: number) => Rng;
  readonly modelRng: (step: number) => Rng;
}

/** Rows branch after branch in the order of starts, each branch's steps in order; columns as in a transition batch. */
export interface WholeRolloutAnswer {
  readonly rows: number;
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly reward: Float32Array;
  readonly nextObs: Float32Array;
  readonly logProb?: Float32Array;
  readonly disagreement?: Float32Array;
  readonly terminated: Uint8Array;
  /** 1 where the branch ends for another reason than the task. */
  readonly truncated: Uint8Array;
  readonly branch: Uint32Array;
  readonly step: Uint32Array;
  /** How branches ended; those ended by doubt whether or not the doubted row was left out. */
  readonly ended: { readonly terminated: number; readonly outOfHorizon: number; readonly doubted: number };
  /** Values that were NaN or infinite: the rows are of no use then. */
  readonly nonFinite: number;
}
