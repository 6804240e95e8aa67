// What every learner offers, whatever it learns: policies to act with and to send away, and its exact state; and what the
// kinds add that learn by reward, from old rows, from fresh rollouts, or by planning in a model. Loops of training know no more of a learner.

import type { Carry, Dynamics, NumberRows } from '../core/dynamics.js';
import type { ActOptions, Policy, PolicyMemory, PolicySnapshot } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import type { TransitionBatch } from '../replay/transition.js';
import type { ActingOutputs } from './network-policy.js';
import type { Rollout } from './rollout.js';
import type { Spaces } from './spaces.js';

/** Its name among the learners (learners.ts). */
export type LearnerKind = string;

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
  /** A self-contained .onnx (opset 17): see `policyModel` for its inputs and outputs. Absent where its policy is no network. */
  policyModel?(): Uint8Array;
  state(): LearnerState;
  /** Goes on from `state`; throws CHECKPOINT_CORRUPT if it does not fit this learner, which is then unchanged. */
  restore(state: LearnerState): void;
  close(): Promise<void>;
}

/** Learns from rows of replay buffers, whichever policy lived them (SAC). */
export interface ReplayLearner extends Learner {
  readonly learnsFrom: 'replay';
  /** Of each gradient step. */
  readonly config: { readonly batchSize: number };
  /**
   * `steps` gradient steps, the i-th on rows [i * batchSize, (i + 1) * batchSize) of `batch`; answers figures for the journal.
   * @param weights importance weight per row; 1 if absent
   */
  update(batch: TransitionBatch, steps: number, rng: Rng, weights?: Float32Array): Promise<object>;
  /** |temporal-difference error| of every row: what prioritised replay goes by. */
  tdErrors(batch: TransitionBatch, rng: Rng): Promise<Float32Array>;
}

/** Learns from whole rollouts of the policy of the moment (PPO). */
export interface RolloutLearner extends Learner {
  readonly learnsFrom: 'rollouts';
  /** Of a gradient step: a rollout of fewer rows is not learned from. */
  readonly config: { readonly batchSize: number };
  /** Acts as `policy()` does, and answers what `update` learns from besides. */
  act(obs: Float32Array, rows: number, rng: Rng, options?: ActOptions): Promise<ActingOutputs>;
  /** Of networks with a memory. */
  readonly memory?: PolicyMemory;
  /** Learns from one rollout; answers figures for the journal. */
  update(rollout: Rollout, rng: Rng): Promise<object>;
}

/** Plans in a model of the world at every step, and teaches a policy what it planned (PETS). `policy()` is the one it taught. */
export interface PlanningLearner extends Learner {
  readonly learnsFrom: 'model';
  /** `distilUpdates`: gradient steps of the taught policy after a round. */
  readonly config: { readonly distilUpdates: number };
  /** The agent: its actions are planned in `model`, which stays the caller's. */
  planner<C extends Carry>(model: Dynamics<C, NumberRows>): Policy;
  /** `steps` gradient steps of the taught policy on what was planned; answers figures for the journal. */
  update(planned: Pick<TransitionBatch, 'rows' | 'obs' | 'action'>, steps: number, rng: Rng): Promise<object>;
}
