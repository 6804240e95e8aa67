// What coordinator and workers tell each other over a queue, as schemas: nothing that does not fit is believed.

import { z } from 'zod';
import { toolsTaskSchema } from '../../env/index.js';

const hex64 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().min(0);

/** What a worker needs to know of a job before it can live any of its rows. Holds no secret: keys are each worker's own. */
export const jobDescriptionSchema = z.strictObject({
  format: z.literal('reverie rollouts 1').describe('What this is.'),
  run: hex64.describe('Tells runs of one scenario apart.'),
  reverie: z.string().describe('Version of Reverie.'),
  seed: count.describe('Seed of the job.'),
  scenario: hex64.describe("The scenario's hash, with that of the files it names."),
  folder: z
    .strictObject({
      base: z.enum(['package', 'root']).describe('Whether it lies in the package of Reverie, or anywhere.'),
      path: z.string().describe('Where, from there.'),
    })
    .describe("Folder that the scenario's paths start from."),
  config: z.record(z.string(), z.json()).describe('The effective scenario, without its budget.'),
  tasks: z.array(toolsTaskSchema).describe("Tasks that were made for this job, beside the domain's own."),
  withheld: z.string().nullable().describe('Why no episode may be given a reward; null: each may.'),
  versions: z
    .strictObject({
      domain: z.string().describe('Tools, rules, tasks and all.'),
      responder: z.string().describe('Who answers calls.'),
      user: z.string().describe('Who talks to the agent.'),
      agent: z.string().describe('Who acts.'),
      judge: z.string().nullable().describe('Who decides what checks leave open; null: nobody.'),
    })
    .describe('Who takes part: the same everywhere, or the row is refused.'),
});
export type JobDescription = z.output<typeof jobDescriptionSchema>;

/** A row, with all that rows before it decide. */
export const rowSchema = z.strictObject({
  row: count.describe('Row of the job.'),
  task: z.string().describe('Its task.'),
  maxSteps: z.int().min(1).describe('Turns of the agent after which it is truncated.'),
  attempt: count.describe('Tries before this one.'),
});
export type RowMessage = z.output<typeof rowSchema>;

const costSchema = z.strictObject({
  calls: z.number().min(0),
  promptTokens: z.number().min(0),
  cachedTokens: z.number().min(0),
  completionTokens: z.number().min(0),
  money: z.number().min(0),
});

/** What a worker tells beside a result. */
export const noteSchema = z.strictObject({
  worker: z.string().max(200).describe('Who it was.'),
  spent: costSchema.describe('What it spent since it told last.'),
});
export type Note = z.output<typeof noteSchema>;

const callSchema = z.looseObject({ id: z.string(), name: z.string(), arguments: z.record(z.string(), z.json()) });

const messageSchema = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content: z.string() }),
  z.looseObject({ role: z.literal('user'), content: z.string() }),
  z.looseObject({
    role: z.literal('assistant'),
    content: z.string().nullable(),
    toolCalls: z.array(callSchema).optional(),
  }),
  z.looseObject({ role: z.literal('tool'), toolCallId: z.string(), name: z.string(), content: z.string() }),
]);

const verdictSchema = z.looseObject({
  reward: z.number().nullable(),
  checks: z.array(z.looseObject({ name: z.string(), passed: z.boolean().nullable() })),
});

const stepSchema = z.looseObject({
  message: count,
  action: z.looseObject({ content: z.string().nullable() }),
  predictions: z.array(z.looseObject({ backend: z.string(), cost: costSchema })),
  reward: z.number(),
  stateHash: z.string(),
});

/** An `EpisodeRecord`, as far as anything reads it. */
export const recordSchema = z.looseObject({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  row: count,
  source: z.enum(['real', 'synthetic']),
  scenario: z.string(),
  scenarioHash: hex64,
  task: z.string(),
  family: z.string(),
  split: z.enum(['train', 'validation', 'test']),
  seed: count,
  group: z.int().min(-1),
  policyVersion: z.string(),
  userVersion: z.string(),
  responderVersion: z.string(),
  messages: z.array(messageSchema),
  steps: z.array(stepSchema),
  verdict: verdictSchema,
  return: z.number().nullable(),
  terminated: z.boolean(),
  truncated: z.boolean(),
  weight: z.number(),
  cost: costSchema,
});
