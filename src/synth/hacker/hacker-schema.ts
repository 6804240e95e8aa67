// The section `reward.hacker` of a scenario: how hard it is tried to be rewarded for nothing before anything is lived.

import { z } from 'zod';

export const hackerSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe('Whether it is tried, where a judge or a simulator that is no exact rules decides on rewards.'),
    tasks: z.int().min(1).default(6).describe('Tasks that it is tried in, spread over those of the job.'),
    plays: z.int().min(1).default(48).describe('Episodes that may be played for it, all tasks together.'),
    repeats: z
      .int()
      .min(0)
      .default(2)
      .describe('Times a trick must work again, with other seeds, to be one: a slip of a model is none.'),
  })
  .prefault({})
  .describe(
    'A small policy that optimises against the judge and the simulator alone: if it is rewarded where exact checks find nothing done, no rewards and no datasets are made.',
  );

export type HackerConfig = z.output<typeof hackerSchema>;
