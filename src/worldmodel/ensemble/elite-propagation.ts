// What runs the elites of an ensemble, whatever it runs on: the processor (propagation.ts) or a device (device-propagation.ts).
// Both draw the same random words in the same order (step-noise.ts), so that they differ by rounding alone.

import type { Rng } from '../../core/rng.js';
import type { WholeRollout, WholeRolloutAnswer } from '../dynamics.js';
import type { MemberAnswer } from './member-sessions.js';

/** What the elites say follows each row, in raw units. */
export interface Propagated {
  /** [rows, obsDim] */
  readonly nextObs: Float32Array;
  /** [rows]; absent where the reward is not learned. */
  readonly reward?: Float32Array;
  /** [rows]: 1 where the learned head says the task ended; absent without one. */
  readonly terminated?: Uint8Array;
  /** [rows] */
  readonly disagreement?: Float32Array;
}

export interface PropagationRequest {
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly rows: number;
  /** Of the batch, or one for each row; moves on. */
  readonly rng: Rng | readonly Rng[];
  readonly isTs1: boolean;
  readonly isDeterministic: boolean;
  readonly withDisagreement: boolean;
}

export interface ElitePropagation {
  propagate(request: PropagationRequest): Promise<Propagated>;
  /** Every elite's answer for every row: means and stds [elites, rows, outputDim]. */
  everyElite(obs: Float32Array, action: Float32Array, rows: number): Promise<MemberAnswer>;
  /** Whether a row gets the same bytes in any batch. */
  haveExactRows(): Promise<boolean>;
  /** Whole rollouts where they can be run as one; undefined where this one cannot. */
  rollout?(request: WholeRollout): Promise<WholeRolloutAnswer> | undefined;
  release(): Promise<void>;
}
