// What a dream of a text world saves: a training in the dream and then for real, held against one that is real throughout.

import { bootstrap, mean } from './measure.js';
import type { TextCase } from './text-cases.js';

/** The real training is held against the dream alone once it has taken so many times its real steps. */
const MORE_STEPS = 10;

/**
 * What one seed came to. `ratio` is how many times the real steps of the dream the real training takes to the threshold: a lower bound where
 * the real training did not reach it, 0 where only it did, and null where neither did.
 */
export function transferRow(dream: TextCase, real: TextCase, threshold: number) {
  const dreamSteps = stepsTo(dream, threshold);
  const realSteps = stepsTo(real, threshold);
  const alone = endOfDream(dream);
  const more = real.curve!.find(({ realSteps: steps }) => steps >= MORE_STEPS * alone.realSteps);
  const ratio = dreamSteps === null ? (realSteps === null ? null : 0) : (realSteps ?? real.realSteps) / dreamSteps;
  return {
    ...{ seed: dream.seed, ratio, isLowerBound: dreamSteps !== null && realSteps === null, dreamSteps, realSteps },
    ...{ imitation: dream.imitated!, dreamAlone: alone.success, dreamAloneSteps: alone.realSteps },
    realAfterMore: more?.success ?? null,
  };
}

/**
 * The same with no threshold and no choice among evaluations: how many times the dream's real steps the real training takes until its mean
 * over seeds is that of the dreams at their ends; a lower bound where it never is. Interval over seeds.
 */
export function ratioOfMeans(pairs: readonly { readonly dream: TextCase; readonly real: TextCase }[]) {
  const of = (seeds: readonly number[]) => {
    const ends = seeds.map((at) => endOfDream(pairs[at].dream));
    const curves = seeds.map((at) => pairs[at].real.curve!.slice(1));
    const aim = mean(ends.map(({ success }) => success));
    const means = curves[0].map((_, i) => ({
      success: mean(curves.map((curve) => curve[i].success)),
      realSteps: mean(curves.map((curve) => curve[i].realSteps)),
    }));
    // Means of the same successes in another order may differ in their last digit.
    const reached = means.find(({ success }) => success >= aim - 1e-9) ?? means[means.length - 1];
    return reached.realSteps / mean(ends.map(({ realSteps }) => realSteps));
  };
  return bootstrap([...pairs.keys()], of);
}

/** Real steps up to the first evaluation after imitation that reaches the threshold; null where none does. */
function stepsTo({ curve }: TextCase, threshold: number): number | null {
  return curve!.find(({ success }) => success >= threshold)?.realSteps ?? null;
}

/** The last evaluation before a real round: no real step is taken between those of the dream. */
function endOfDream({ curve }: TextCase) {
  const dreamt = curve!.filter(({ dreamtSteps }) => dreamtSteps > 0);
  return dreamt.filter(({ realSteps }) => realSteps === dreamt[0].realSteps).at(-1)!;
}
