// What a scenario of tools may say of judging its world model (`reverie fidelity`).

import { z } from 'zod';
import { learningKeys, rankKeys, sectionsKey } from '../fidelity-keys.js';

const positive = z.int().min(1);
const share = z.number().min(0).max(1);

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

export type ToolsFidelityConfig = z.output<typeof toolsFidelitySchema>;
