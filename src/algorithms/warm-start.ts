// Warm start: the same learner trained from scratch and in the dream with the same seeds, every run judged by episodes of its
// own, and what the dream saved of real steps. Any other ways of training are compared in the same way.

import { concurrently } from '../core/concurrently.js';
import { Rng } from '../core/rng.js';
import { mean, median, sampleDeviation } from '../core/statistics.js';
import type { Policy, VectorEnvironment } from '../env/index.js';
import { evaluatePolicy } from '../rl/index.js';

/** The two ways of training that a warm start compares. */
export const SCRATCH_ARM = 'from scratch';
export const DREAM_ARM = 'dream';

/** One finished run of one arm, as far as a comparison looks at it. */
export interface TrainedArm {
  readonly arm: string;
  /** Null where the threshold was not reached. */
  readonly realStepsToThreshold: number | null;
  /** Returns of the trained policy's final real episodes. */
  readonly finalReturns: readonly number[];
  readonly wallSeconds: number;
  readonly dreamtTransitions: number;
  readonly dreamSeconds: number;
}

/** One way of training, over all seeds. */
export interface ArmSummary {
  readonly arm: string;
  /** Real steps to threshold of each seed; null where it was not reached. */
  readonly realStepsToThreshold: readonly (number | null)[];
  readonly finalReturn: { readonly mean: number; readonly std: number };
  readonly wallSeconds: number;
  readonly dreamtTransitions: number;
  readonly dreamtPerSecond: number | null;
}

export interface ArmsRequest<A, R> {
  readonly arms: readonly A[];
  readonly seeds: readonly number[];
  /** Runs side by side. */
  readonly threads: number;
  /** Trains one arm with one seed, and judges what it learned. */
  train(arm: A, seed: number): Promise<R>;
  /** Stops the other runs after the first that failed. */
  giveUp(): void;
}

/** Trains every arm with every seed. Rejects with the first failure, once nothing runs any more. */
export function trainEveryArm<A, R>({ arms, seeds, threads, train, giveUp }: ArmsRequest<A, R>): Promise<R[]> {
  // Seeds outside, arms inside: after any part of the time, the arms have been given about the same.
  const runs = seeds.flatMap((seed) => arms.map((arm) => ({ arm, seed })));
  return concurrently(runs, threads, ({ arm, seed }) => train(arm, seed), giveUp);
}

/** Returns of `episodes` real episodes, none of which decided when to stop training. */
export async function judgePolicy(
  env: VectorEnvironment,
  policy: Policy,
  { seed, ...options }: { readonly seed: number; readonly episodes: number; readonly deterministic: boolean },
): Promise<number[]> {
  const own = Rng.fromSeed(seed).split('judge').uint32();
  const { returns } = await evaluatePolicy(env, policy, { ...options, seed: own });
  return Array.from(returns);
}

/** What the dream saved: median real steps from scratch over the dream's; null if a median run did not get there. */
export function compareWarmStart(runs: readonly TrainedArm[]): { arms: ArmSummary[]; ratio: number | null } {
  const arms = [SCRATCH_ARM, DREAM_ARM].map((name) => {
    return summariseArm(
      name,
      runs.filter(({ arm }) => arm === name),
    );
  });
  const [scratch, dream] = arms.map((arm) => medianSteps(arm.realStepsToThreshold));
  return { arms, ratio: scratch === null || dream === null ? null : scratch / dream };
}

/** Middle value; a run that never got there counts as later than any other. Null if the middle is such a run. */
export function medianSteps(steps: readonly (number | null)[]): number | null {
  const middle = median(steps.map((value) => value ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(middle) ? middle : null;
}

function summariseArm(arm: string, runs: readonly TrainedArm[]): ArmSummary {
  const returns = runs.flatMap((run) => run.finalReturns);
  const dreamtTransitions = runs.reduce((total, run) => total + run.dreamtTransitions, 0);
  const seconds = runs.reduce((total, run) => total + run.dreamSeconds, 0);
  return {
    arm,
    realStepsToThreshold: runs.map((run) => run.realStepsToThreshold),
    finalReturn: { mean: mean(returns), std: sampleDeviation(returns) },
    wallSeconds: mean(runs.map((run) => run.wallSeconds)),
    dreamtTransitions,
    dreamtPerSecond: seconds > 0 ? dreamtTransitions / seconds : null,
  };
}
