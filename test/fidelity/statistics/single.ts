// Scores of a single Gaussian and of single numbers, by those of mixtures and vectors.

import { type Estimate, shareEstimate } from '../../../src/fidelity/statistics/estimate.js';
import { crpsMixture, jointMixtureNll, pitMixture } from '../../../src/fidelity/statistics/scores.js';

export const mixtureNll = (x: number, means: readonly number[], stds: readonly number[]) =>
  jointMixtureNll(
    [x],
    means.map((mean) => [mean]),
    stds.map((std) => [std]),
  );
export const crpsGaussian = (x: number, mean: number, std: number) => crpsMixture(x, [mean], [std]);
export const pitGaussian = (x: number, mean: number, std: number) => pitMixture(x, [mean], [std]);

/** Share of truths inside the central predicted interval of `level`, from their places in their distributions. */
export const coverage = (pits: ArrayLike<number>, level: number): Estimate =>
  shareEstimate(Array.from(pits).filter((pit) => Math.abs(pit - 0.5) <= level / 2).length, pits.length);
