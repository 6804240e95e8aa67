// What scenarios of every kind may say of judging their world model (`reverie fidelity`).

import { z } from 'zod';
import { FIDELITY_SECTIONS } from '../core/kind.js';

const positive = z.int().min(1);
const share = z.number().min(0).max(1);

export const sectionsKey = z
  .array(z.enum(FIDELITY_SECTIONS))
  .min(1)
  .default(FIDELITY_SECTIONS.filter((id) => id !== 'learning' && id !== 'elements'))
  .describe(
    'What is measured. `learning` trains policies on real, dreamt and mixed data and takes by far the longest; `elements`, of screens alone, comes with `one-step`.',
  );

export const rankKeys = {
  episodes: positive.default(20).describe('Episodes of each policy, in the dream and for real, from the same starts.'),
  policies: positive.min(8).default(10).describe('Policies of the ladder, from random to the best there is.'),
};

export const learningKeys = {
  seeds: positive.default(5).describe('Learners of each mixture.'),
  ratios: z.array(share).min(2).default([0, 0.25, 0.5, 0.75, 0.9, 1]).describe('Shares of dreamt data; 0 is needed.'),
};
