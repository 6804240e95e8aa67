// What a dream of a text world saves: a training in the dream and then for real, held against one that is real throughout.

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

/** Real steps up to the first evaluation after imitation that reaches the threshold; null where none does. */
function stepsTo({ curve }: TextCase, threshold: number): number | null {
  return curve!.find(({ success }) => success >= threshold)?.realSteps ?? null;
}

/** The last evaluation before a real round: no real step is taken between those of the dream. */
function endOfDream({ curve }: TextCase) {
  const dreamt = curve!.filter(({ dreamtSteps }) => dreamtSteps > 0);
  return dreamt.filter(({ realSteps }) => realSteps === dreamt[0].realSteps).at(-1)!;
}
