// Warm start: a learner in the dream against baselines that learn from the real environment alone, with the same seeds, every
// run judged by episodes of its own. What the dream saved is told against the best of the baselines, in real steps and in time.

import type { VectorEnvironment } from '../core/environment.js';
import type { Policy } from '../core/policy.js';
import { Rng } from '../core/rng.js';
import { mean, median, sampleDeviation } from '../core/statistics.js';
import { concurrently } from '../core/threads.js';
import { evaluatePolicy } from '../rl/evaluate.js';

/** The learner from scratch, with the few updates a real step that such learners are mostly run with. */
export const SCRATCH_ARM = 'from scratch';
/** The learner on real rows alone, with as many updates as in the dream: what is left of a gain once updates are equal. */
export const MANY_UPDATES_ARM = 'real rows, as many updates';
export const DREAM_ARM = 'dream';

/** One finished run of one arm, as far as a comparison looks at it. */
export interface TrainedArm {
  readonly arm: string;
  /** Null where the threshold was not reached. */
  readonly realStepsToThreshold: number | null;
  /** Returns of the trained policy's final real episodes. */
  readonly finalReturns: readonly number[];
  readonly wallSeconds: number;
  readonly simulatedTransitions: number;
  readonly dreamSeconds: number;
}

/** One way of training, over all seeds. */
export interface ArmSummary {
  readonly arm: string;
  /** Real steps to threshold of each seed; null where it was not reached. */
  readonly realStepsToThreshold: readonly (number | null)[];
  readonly finalReturn: { readonly mean: number; readonly std: number };
  readonly wallSeconds: number;
  readonly simulatedTransitions: number;
  readonly simulatedPerSecond: number | null;
}

interface ArmsRequest<A, R> {
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

export interface WarmStart {
  /** Arms in the order in which their runs appear. */
  readonly arms: readonly ArmSummary[];
  /** Name of the baseline that needed the fewest real steps (median over seeds); null if none got there. */
  readonly best: string | null;
  /** Median real steps of that baseline over the dream's; null if either did not get there. */
  readonly ratio: number | null;
  readonly breakEven: BreakEven;
  /**
   * The arm whose policy is worth taking, the dream or not: that of the fewest real steps (median over seeds), of equals the one that
   * took less time; where none got there, that of the best final return.
   */
  readonly taken: string;
}

/**
 * From which price of a real step on, in seconds of waiting beside those that training took, the dream is the cheapest way to
 * the threshold: `always` (it took no longer), `from` a price, or `never`; `unknown` where the dream did not get there. A way that did not get there costs more than any.
 */
export type BreakEven =
  | { readonly kind: 'always' | 'never' | 'unknown' }
  | { readonly kind: 'from'; readonly secondsPerStep: number };

/** What the dream saved. Every arm that is not the dream is a baseline. */
export function compareWarmStart(runs: readonly TrainedArm[]): WarmStart {
  const names = [...new Set(runs.map(({ arm }) => arm))];
  const arms = names.map((name) =>
    summariseArm(
      name,
      runs.filter(({ arm }) => arm === name),
    ),
  );
  const dream = arms.find(({ arm }) => arm === DREAM_ARM);
  const baselines = arms.filter((arm) => arm !== dream);
  const best = bestOf(baselines);
  const simulated = dream && medianSteps(dream.realStepsToThreshold);
  const steps = best && medianSteps(best.realStepsToThreshold);
  const ratio = steps == null || simulated == null ? null : steps / simulated;
  return { arms, best: best?.arm ?? null, ratio, breakEven: breakEven(dream, baselines), taken: takenOf(arms).arm };
}

function takenOf(arms: readonly ArmSummary[]): ArmSummary {
  const quickestFirst = [...arms].sort((a, b) => a.wallSeconds - b.wallSeconds);
  const higher = (a: ArmSummary, b: ArmSummary) => (b.finalReturn.mean > a.finalReturn.mean ? b : a);
  return bestOf(quickestFirst) ?? quickestFirst.reduce(higher);
}

/** Fewest median real steps, of those that got there; the first of equals. */
function bestOf(arms: readonly ArmSummary[]): ArmSummary | undefined {
  const reached = arms.filter((arm) => medianSteps(arm.realStepsToThreshold) !== null);
  return reached.reduce<ArmSummary | undefined>((best, arm) => {
    return best && medianSteps(best.realStepsToThreshold)! <= medianSteps(arm.realStepsToThreshold)! ? best : arm;
  }, undefined);
}

/** Each way costs its wall time, and a price for each real step: the price from which the simulation's sum is the smallest. */
function breakEven(dream: ArmSummary | undefined, baselines: readonly ArmSummary[]): BreakEven {
  const steps = dream && medianSteps(dream.realStepsToThreshold);
  if (dream === undefined || steps == null) return { kind: 'unknown' };
  let price = 0;
  for (const { realStepsToThreshold, wallSeconds } of baselines) {
    const others = medianSteps(realStepsToThreshold) ?? Number.POSITIVE_INFINITY;
    const longer = dream.wallSeconds - wallSeconds;
    if (longer <= 0 && steps <= others) continue;
    if (steps >= others) return { kind: 'never' };
    price = Math.max(price, longer / (others - steps));
  }
  return price === 0 ? { kind: 'always' } : { kind: 'from', secondsPerStep: price };
}

/** Middle value; a run that never got there counts as later than any other. Null if the middle is such a run. */
export function medianSteps(steps: readonly (number | null)[]): number | null {
  const middle = median(steps.map((value) => value ?? Number.POSITIVE_INFINITY));
  return Number.isFinite(middle) ? middle : null;
}

function summariseArm(arm: string, runs: readonly TrainedArm[]): ArmSummary {
  const returns = runs.flatMap((run) => run.finalReturns);
  const simulatedTransitions = runs.reduce((total, run) => total + run.simulatedTransitions, 0);
  const seconds = runs.reduce((total, run) => total + run.dreamSeconds, 0);
  return {
    arm,
    realStepsToThreshold: runs.map((run) => run.realStepsToThreshold),
    finalReturn: { mean: mean(returns), std: sampleDeviation(returns) },
    wallSeconds: mean(runs.map((run) => run.wallSeconds)),
    simulatedTransitions,
    simulatedPerSecond: seconds > 0 ? simulatedTransitions / seconds : null,
  };
}
