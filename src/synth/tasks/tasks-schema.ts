// Scenario section `tasks`: how new tasks are made from given ones, and which are tried next.

import { z } from 'zod';

const share = z.number().min(0).max(1);

const curriculumSchema = z
  .strictObject({
    syntheticCap: share
      .default(0.5)
      .describe('Largest share of rows whose task was made from others, so that the given tasks stay covered.'),
    exploration: share.default(0.1).describe('Share of rows whose task is drawn evenly, whatever the scores say.'),
    lag: z
      .int()
      .min(1)
      .default(64)
      .describe('A row sees the outcomes of rows more than this many before it. Results depend on it, not on timing.'),
  })
  .prefault({})
  .describe(
    'Which task a row tries: drawn in proportion to the variance of its latest rewards, largest where half of the episodes succeed (DreamGym, 2511.03773).',
  );

const variationSchema = z
  .strictObject({
    count: z.int().min(0).default(0).describe('New tasks wanted; 0: the given tasks alone.'),
  })
  .prefault({})
  .describe(
    'Making tasks from the given ones, about other entities of the state. Those are admitted whose reference passes their verifier and whose failures do not.',
  );

export const tasksSchema = z
  .strictObject({ variation: variationSchema, curriculum: curriculumSchema })
  .prefault({})
  .describe('Tasks: making new ones from those given, and choosing among them.');
export type TasksConfig = z.output<typeof tasksSchema>;
