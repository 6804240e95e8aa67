// What every learner offers: policies to act with and to send away, and its exact state; what the kinds add that learn by reward, from
// old rows, from fresh rollouts, or by planning in a model; and the checks of what a learner is given.

import type { z } from 'zod';
import type { Carry, Dynamics, NumberRows } from '../core/dynamics.js';
import { describeIssues, nearest, reverieError } from '../core/errors.js';
import type { ActOptions, Policy, PolicySnapshot } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import { requireFinite } from '../replay/columns.js';
import type { TransitionBatch } from '../replay/transition.js';
import { withDecisions } from './auto-settings.js';
import type { Decided } from './config.js';
import type { ActingOutputs } from './policy-net.js';
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
  /** A self-contained .onnx (opset 17): see `policyModel` for its inputs and outputs. None where its policy is no network, or never taught. */
  policyModel?(): Uint8Array | undefined;
  state(): LearnerState;
  /** Resumes from `state`; throws CHECKPOINT_CORRUPT if it does not fit this learner, which is then unchanged. */
  restore(state: LearnerState): void;
  close(): Promise<void>;
}

/** Learns from rows of replay buffers, whichever policy collected them (SAC). */
export interface ReplayLearner extends Learner {
  readonly learnsFrom: 'replay';
  /** Of each gradient step. */
  readonly config: { readonly batchSize: number };
  /**
   * `steps` gradient steps, the i-th on rows [i * batchSize, (i + 1) * batchSize) of `batch`; answers figures for the journal.
   * @param weights importance weight per row; 1 if absent
   */
  update(batch: TransitionBatch, steps: number, rng: Rng, weights?: Float32Array): Promise<object>;
  /** Scales observations to those of the rows it learns from; before its updates. */
  standardise?(obs: Float32Array): void;
  /** |temporal-difference error| of every row: what prioritised replay goes by; absent where it cannot. */
  tdErrors?(batch: TransitionBatch, rng: Rng): Promise<Float32Array>;
}

/** `steps` x `envs` transitions, time-major: row t * envs + e. */
export interface Rollout {
  readonly steps: number;
  readonly envs: number;
  /** `nextObs` is the successor itself, also where the episode ended. */
  readonly batch: TransitionBatch;
  /** Actions before clipping, [-1, 1] units or class index; [rows, actionDim]. */
  readonly raw: Float32Array;
  /** Of `raw`, as a density over the environment's units; [rows]. */
  readonly logProb: Float32Array;
}

/** Learns from whole rollouts of the policy of the moment (PPO). */
export interface RolloutLearner extends Learner {
  readonly learnsFrom: 'rollouts';
  /** Of a gradient step: a rollout of fewer rows is not learned from. */
  readonly config: { readonly batchSize: number };
  /** Acts as `policy()` does, and answers what `update` learns from besides. */
  act(obs: Float32Array, rows: number, rng: Rng, options?: ActOptions): Promise<ActingOutputs>;
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

/** Settings whole, with every `auto` decided. Throws SETTING_INVALID naming the setting and, if misspelt, its neighbour. */
export function parseConfig<T extends z.ZodObject>(
  learner: string,
  schema: T,
  config: unknown,
  spaces: Spaces,
): Decided<z.infer<T>> {
  const parsed = schema.safeParse(config);
  if (parsed.success) return withDecisions(parsed.data, spaces);
  const unknown = parsed.error.issues.find((issue) => issue.code === 'unrecognized_keys');
  const near = unknown && nearest(unknown.keys[0], Object.keys(schema.shape));
  const guess = near ? ` Did you mean "${near}"?` : '';
  throw configInvalid(learner, `${describeIssues(parsed.error)}.${guess}`);
}

/** The error SETTING_INVALID for a learner's settings. */
export function configInvalid(learner: string, problem: string): Error {
  return reverieError('SETTING_INVALID', {
    problem: `Settings of the ${learner}: ${problem}`,
    hint: 'docs/scenarios.md has every setting, its meaning and its default.',
  });
}

/** The spaces alone, whatever object declared them. */
export function plainSpaces({ observationSpace, actionSpace }: Spaces): Spaces {
  return { observationSpace, actionSpace };
}

/**
 * Copies of the arrays of `state`, if it is a state of a learner like this: same kind, spaces and array sizes.
 * Throws CHECKPOINT_CORRUPT.
 */
export function checkedArrays(
  learner: { readonly kind: string; readonly spaces: Spaces },
  arrays: Readonly<Record<string, Float32Array>>,
  state: LearnerState,
): Record<string, Float32Array> {
  const { meta } = state;
  if (meta.kind !== learner.kind) throw misfit(`it holds a ${meta.kind} learner, not ${learner.kind}`);
  if (JSON.stringify(plainSpaces(meta.spaces)) !== JSON.stringify(plainSpaces(learner.spaces))) {
    throw misfit('it was learnt for other observation or action spaces');
  }
  const copies: Record<string, Float32Array> = {};
  for (const [name, own] of Object.entries(arrays)) {
    const found = state.arrays[name];
    if (found?.length !== own.length) {
      throw misfit(`array "${name}" has ${found?.length ?? 'no'} elements where this network has ${own.length}`);
    }
    copies[name] = found.slice();
  }
  return copies;
}

function misfit(problem: string): Error {
  return reverieError('CHECKPOINT_CORRUPT', { path: 'learner state', problem });
}

/**
 * Checks a batch before anything is learnt from it: `rows` rows of the right widths (DATA_MISMATCH),
 * every number finite (NON_FINITE_VALUE naming the first bad row).
 */
export function assertBatch(batch: TransitionBatch, rows: number, obsDim: number, actionDim: number): void {
  const { obs, action, reward, nextObs, terminated, truncated } = batch;
  for (const [name, column] of Object.entries({ reward, terminated, truncated })) assertLength(name, column, rows);
  for (const [name, column] of Object.entries({ obs, nextObs })) assertLength(name, column, rows * obsDim);
  assertLength('action', action, rows * actionDim);
  for (const [name, column] of Object.entries({ obs, action, reward, nextObs })) assertFinite(name, column, rows);
}

export function assertLength(what: string, column: { readonly length: number }, expected: number): void {
  if (column.length === expected) return;
  throw reverieError('DATA_MISMATCH', {
    problem: `${what} has ${column.length} elements where ${expected} are needed.`,
    hint: "An update needs exactly steps x batchSize rows, each of the widths of the learner's spaces.",
  });
}

/** Throws NON_FINITE_VALUE naming the first row of a column of `rows` rows that holds NaN or infinity. */
export function assertFinite(name: string, column: Float32Array, rows: number): void {
  const hint = 'Nothing was learnt from this batch. Fix the environment or drop the row.';
  requireFinite(name, column, rows, `a batch of ${rows}`, hint);
}
