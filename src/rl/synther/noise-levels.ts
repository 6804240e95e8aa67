// Noise levels of a diffusion by Karras et al. 2022 (EDM, 2206.00364), for data of mean 0 and deviation 1: what is trained on,
// what the network sees of a level, and the levels a sample comes down by.

import type { Rng } from '../../core/rng.js';

/** Levels of training are log-normal (table 1). */
const LOG_MEAN = -1.2;
const LOG_STD = 1.2;

export const [LEAST_LEVEL, MOST_LEVEL, RHO] = [0.002, 80, 7];

/** Waves that tell a level; two numbers each. */
const WAVES = 8;

/** Numbers that tell a level and a condition: waves, the condition, and whether there is one. */
export const FEATURES = 2 * WAVES + 2;

export function drawLevel(rng: Rng): number {
  return Math.exp(LOG_MEAN + LOG_STD * rng.normal());
}

/** Weights of the noisy row, of the network's answer, and of its input. */
export function preconditioning(level: number): { skip: number; out: number; in: number } {
  const sum = level ** 2 + 1;
  return { skip: 1 / sum, out: level / Math.sqrt(sum), in: 1 / Math.sqrt(sum) };
}

/** Writes the features of a level. @param condition null: nothing is asked for */
export function writeFeatures(into: Float32Array, at: number, level: number, condition: number | null): void {
  const place = Math.log(level) / 4;
  for (let k = 0; k < WAVES; k++) {
    const angle = Math.PI * 2 ** (k / 2 - 1) * place;
    into[at + 2 * k] = Math.cos(angle);
    into[at + 2 * k + 1] = Math.sin(angle);
  }
  into[at + 2 * WAVES] = condition ?? 0;
  into[at + 2 * WAVES + 1] = condition === null ? 0 : 1;
}

/** From the most noise to none, `steps` + 1 levels (equation 5). */
export function levelsDown(steps: number): number[] {
  const [most, least] = [MOST_LEVEL ** (1 / RHO), LEAST_LEVEL ** (1 / RHO)];
  const down = Array.from({ length: steps }, (_, i) => (most + (i / Math.max(1, steps - 1)) * (least - most)) ** RHO);
  return [...down, 0];
}
