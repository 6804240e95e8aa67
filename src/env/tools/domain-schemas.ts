// The forms of a domain folder's files tools.yaml and tasks.yaml.

import { z } from 'zod';

const name = z.string().min(1).max(128);
const text = z.string().min(1);

const call = z.strictObject({
  name: name.describe('tool'),
  arguments: z.record(z.string(), z.json()).default({}),
});

const solution = { calls: z.array(call), say: z.string().optional() };

const operation = z.discriminatedUnion('op', [
  z.strictObject({ op: z.enum(['add', 'replace', 'test']), path: z.string(), value: z.json() }),
  z.strictObject({ op: z.literal('remove'), path: z.string() }),
  z.strictObject({ op: z.enum(['move', 'copy']), path: z.string(), from: z.string() }),
]);

export const toolsFileSchema = z
  .array(
    z.strictObject({
      name,
      description: text,
      parameters: z.record(z.string(), z.json()),
      kind: z.enum(['read', 'write', 'generic']),
      terminates: z.boolean().optional(),
    }),
  )
  .min(1);

const userSchema = z.strictObject({
  opening: text.optional(),
  goal: text,
  persona: text.optional(),
  script: z.array(z.strictObject({ when: text.optional(), say: z.string(), done: z.boolean().optional() })).optional(),
});

const verifierSchema = z.strictObject({
  state: z.literal('reference').optional(),
  assert: z
    .array(z.strictObject({ path: z.string(), equals: z.json().optional(), exists: z.boolean().optional() }))
    .optional(),
  communicate: z.array(text).optional(),
  called: z.array(call).optional(),
  notCalled: z.array(name).optional(),
  checks: z.array(name).optional(),
  rubric: z.array(text).optional(),
});

export const toolsTaskSchema = z.strictObject({
  id: name,
  family: name,
  split: z.enum(['train', 'validation', 'test']).optional(),
  user: userSchema,
  initialOperations: z.array(operation).optional(),
  verifier: verifierSchema,
  reference: z.strictObject(solution).optional(),
  failures: z.array(z.strictObject({ name: text, ...solution })).optional(),
  tags: z.array(text).optional(),
  origin: z.strictObject({ seeds: z.array(text), strategy: text, modelVersion: text }).optional(),
});

const parameterSchema = z.strictObject({
  of: text,
  is: text.optional(),
  where: z.record(z.string(), z.json()).optional(),
});

/** A task, or one that stands for many. */
const taskEntrySchema = toolsTaskSchema.extend({
  parameters: z.record(z.string().regex(/^[A-Za-z_]\w*$/, 'must be a word'), parameterSchema).optional(),
  instances: z.int().min(1).max(1000).optional(),
});

export const tasksFileSchema = z.array(taskEntrySchema).min(1);

export const DOMAIN_FILES = ['policy', 'tools', 'state', 'schema', 'rules', 'tasks', 'induced', 'phrases'] as const;
