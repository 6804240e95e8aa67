// What a scenario may say of judging its world model (`reverie fidelity`), for each family.

import { z } from 'zod';
import { SECTIONS } from '../fidelity/index.js';

const positive = z.int().min(1);
const share = z.number().min(0).max(1);

const sectionsKey = z
  .array(z.enum(SECTIONS))
  .min(1)
  .default(SECTIONS.filter((id) => id !== 'learning'))
  .describe(
    'What is measured. `learning` trains policies on real, dreamt and mixed data and takes by far the longest.',
  );

const rankKeys = {
  episodes: positive.default(20).describe('Episodes of each policy, in the dream and for real, from the same starts.'),
  policies: positive.min(8).default(10).describe('Policies of the ladder, from random to the best there is.'),
};

const learningKeys = {
  seeds: positive.default(5).describe('Learners of each mixture.'),
  ratios: z.array(share).min(2).default([0, 0.25, 0.5, 0.75, 0.9, 1]).describe('Shares of dreamt data; 0 is needed.'),
};

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

export const toolsFidelitySchema = z
  .strictObject({
    questions: positive.default(500).describe('Calls that the model is asked, each with a known true answer.'),
    truth: z
      .enum(['rules', 'recorded'])
      .default('rules')
      .describe("What dreams are held against: the domain's exact rules, or recorded episodes."),
    recorded: z
      .string()
      .nullable()
      .default(null)
      .describe('File or folder of recorded episodes, relative to the scenario; null: those of `experience.logs`.'),
    episodes: positive.default(50).describe('Episodes that are lived in the dream and then carried out for real.'),
    subjects: z
      .array(
        z.strictObject({
          name: z.string().min(1).describe('Name in the report.'),
          model: z.looseObject({}).default({}).describe('Keys of `model` that differ.'),
          llm: z.looseObject({}).optional().describe('Keys of `llm` that differ.'),
        }),
      )
      .default([])
      .describe('Further models to judge beside the one of the scenario.'),
    tiersOff: z.boolean().default(false).describe('Also judge the router with each of its backends left out.'),
    repeats: positive
      .default(1)
      .describe('Times each question is asked with other seeds: how much of an error is mere sampling.'),
    tolerance: share.default(0.2).describe('Probability of a wrong state that the trust horizon allows.'),
    rank: z.strictObject(rankKeys).prefault({}).describe('Do agents rank in the dream as they do for real?'),
    learning: z
      .strictObject({
        demonstrations: positive
          .default(300)
          .describe(
            'Episodes that are lived in each world; each learner is given those of two thirds of the families.',
          ),
        ...learningKeys,
        episodes: positive
          .default(20)
          .describe('Real episodes in tasks of the other families that judge each learner.'),
      })
      .prefault({})
      .describe('What dreamt episodes are worth to a learner.'),
    sections: sectionsKey,
  })
  .prefault({})
  .describe('`reverie fidelity`: how far the dream is from the real.');

export type VectorFidelityConfig = z.output<typeof vectorFidelitySchema>;
export type ToolsFidelityConfig = z.output<typeof toolsFidelitySchema>;
