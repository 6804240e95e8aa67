// What a server answers over the native API, as far as an environment needs it; the form is that of docs/native-api.md.

import { z } from 'zod';
import type { Space } from '../../core/environment.js';
import { ENV_FAMILIES } from '../../core/environment.js';
import { rowSize, spacesOf } from '../space-values.js';

const bound = z.number().nullable();

const boxSchema = z
  .object({ type: z.literal('box'), shape: z.array(z.int().min(0)), low: z.array(bound), high: z.array(bound) })
  .refine((box) => box.low.length === rowSize(box) && box.high.length === rowSize(box), 'bounds do not fit the shape');

const spaceSchema: z.ZodType<Space> = z.union([
  boxSchema,
  z.object({ type: z.literal('discrete'), n: z.int().min(1), start: z.int() }),
  z
    .object({ type: z.literal('text'), max_length: z.int() })
    .transform(({ type, max_length: maxLength }) => ({ type, maxLength })),
  z.object({ type: z.literal('tools'), tools: z.array(z.record(z.string(), z.unknown())) }),
]);

/** What a server tells of an environment, in our own names. */
export const cardSchema = z
  .object({
    name: z.string(),
    family: z.enum(ENV_FAMILIES),
    description: z.string(),
    source: z.enum(['real', 'dream']),
    version: z.string(),
    observation_space: spaceSchema,
    action_space: spaceSchema,
    tools: z.array(z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.json()) })),
    splits: z.array(z.object({ name: z.string(), tasks: z.int() })),
    max_episode_steps: z.int().nullable(),
    is_default: z.boolean(),
  })
  .refine(
    ({ family, observation_space: observation, action_space: action }) =>
      [observation, action].every(({ type }) => spacesOf(family)?.includes(type)),
    'its spaces do not fit its family',
  )
  .transform(({ observation_space, action_space, max_episode_steps, is_default, ...rest }) => ({
    ...rest,
    observationSpace: observation_space,
    actionSpace: action_space,
    maxEpisodeSteps: max_episode_steps ?? undefined,
    isDefault: is_default,
  }));
export type RemoteCard = z.output<typeof cardSchema>;

export const cardsSchema = z.object({ environments: z.array(cardSchema).min(1) });

export const taskSchema = z.object({
  id: z.string(),
  split: z.enum(['train', 'validation', 'test']),
  family: z.string().optional(),
  tags: z.array(z.string()).optional(),
});
export type RemoteTask = z.output<typeof taskSchema>;
export const tasksSchema = z.object({ tasks: z.array(taskSchema) });

export const sessionSchema = z.object({ id: z.string().min(1) });
export const snapshotSchema = z.object({ id: z.string().min(1) });

const turnFields = {
  observation: z.unknown(),
  reward: z.number().nullable(),
  terminated: z.boolean(),
  truncated: z.boolean(),
  info: z.record(z.string(), z.unknown()),
};

/** Of reset and restore. */
export const startSchema = z.object(turnFields);

/** Of a step: without a reward only where an episode ended and could not be judged. */
export const stepSchema = z
  .object(turnFields)
  .refine(
    ({ reward, info }) => reward !== null || (info['verdict'] as { reward?: unknown } | undefined)?.reward === null,
    'a step has no reward, and no verdict says that it could not be judged',
  );
export type WireTurn = z.output<typeof startSchema>;
