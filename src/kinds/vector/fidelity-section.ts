// What a scenario of numbers may say of judging its world model (`reverie fidelity`).

import { z } from 'zod';
import { learningKeys, rankKeys, sectionsKey } from '../fidelity-keys.js';

const positive = z.int().min(1);

export const vectorFidelitySchema = z
  .strictObject({
    transitions: positive
      .default(10_000)
      .describe('Real transitions that are judged; recorded first where `--data` gives none.'),
    horizon: positive
      .default(50)
      .describe('Steps that are dreamt open loop, under the actions that were taken for real.'),
    starts: positive.default(256).describe('Real states that open-loop dreams begin from.'),
    tolerance: z
      .number()
      .positive()
      .default(0.5)
      .describe(
        "Error, in standard deviations of each element, up to which a dreamt state is taken for the real one's.",
      ),
    rank: z.strictObject(rankKeys).prefault({}).describe('Do policies rank in the dream as they do for real?'),
    learning: z
      .strictObject({
        rows: positive.default(5_000).describe('Transitions that each learner is given, whatever their mixture.'),
        updates: positive.default(5_000).describe('Gradient updates of each learner.'),
        ...learningKeys,
        episodes: positive.default(10).describe('Real episodes that judge each learner.'),
      })
      .prefault({})
      .describe('What dreamt rows are worth to a learner.'),
    sections: sectionsKey,
  })
  .prefault({})
  .describe('`reverie fidelity`: how far the dream is from the real.');

export type VectorFidelityConfig = z.output<typeof vectorFidelitySchema>;
