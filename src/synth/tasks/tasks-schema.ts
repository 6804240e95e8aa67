// Scenario section `tasks`: how new tasks are made from given ones, which are admitted, and which are tried next.

import { z } from 'zod';
import { STRATEGIES } from './proposal.js';

const positive = z.int().min(1);
const count = z.int().min(0);
const share = z.number().min(0).max(1);

export const curriculumSchema = z
  .strictObject({
    prior: z.number().min(0).default(0.25).describe('Score of a task with fewer than two judged episodes.'),
    syntheticCap: share
      .default(0.5)
      .describe('Largest share of rows whose task was made from others, so that the given tasks stay covered.'),
    exploration: share.default(0.1).describe('Share of rows whose task is drawn evenly, whatever the scores say.'),
    lag: positive
      .default(64)
      .describe('A row sees the outcomes of rows more than this many before it. Results depend on it, not on timing.'),
    window: z.int().min(2).default(8).describe('Latest judged episodes of a task that its score looks at.'),
  })
  .prefault({})
  .describe(
    'Which task a row tries: drawn in proportion to the variance of its latest rewards, largest where half of the episodes succeed (DreamGym, 2511.03773).',
  );

const variationSchema = z
  .strictObject({
    count: count.default(0).describe('New tasks wanted; 0: the given tasks alone.'),
    strategies: z
      .array(z.enum(STRATEGIES))
      .min(1)
      .default(['entity-swap', 'compose'])
      .describe('Ways a task is varied, taken in turn: other entities, or two tasks joined.'),
    overGeneration: z
      .number()
      .min(1)
      .default(3)
      .describe('Proposals made at most for each task wanted, as some are not admitted.'),
  })
  .prefault({})
  .describe('Making tasks from the given ones.');

export const admissionSchema = z
  .strictObject({
    nearDuplicate: share
      .default(0.9)
      .describe('A task is refused whose words overlap another’s by more than this (Jaccard index of 3-grams).'),
    contaminationWords: positive
      .default(8)
      .describe(
        'A task is refused that shares this many words in a row with one for validation or test, and not with its seed.',
      ),
    maxFailures: positive
      .default(8)
      .describe('Ways to fail tried on the verifier, made from the reference solution, beside those that are given.'),
  })
  .prefault({})
  .describe('Which proposals become tasks: those whose reference passes their verifier and whose failures do not.');
export type AdmissionConfig = z.output<typeof admissionSchema>;

const seedFilterSchema = z
  .strictObject({
    replay: z
      .boolean()
      .default(true)
      .describe('Play calls of the logs again where rules exist, and compare the answers.'),
  })
  .prefault({})
  .describe('Which seed logs are left out as incomplete, illogical or badly formatted.');

export const tasksSchema = z
  .strictObject({
    seeds: seedFilterSchema,
    variation: variationSchema,
    admission: admissionSchema,
    curriculum: curriculumSchema,
  })
  .prefault({})
  .describe('Tasks: making new ones from those given, and choosing among them.');
export type TasksConfig = z.output<typeof tasksSchema>;
