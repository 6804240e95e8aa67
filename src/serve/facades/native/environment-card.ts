// What a client may know of an environment before it opens a session.

import { z } from 'zod';
import { ENV_FAMILIES } from '../../../core/environment.js';
import { reverieError } from '../../../core/errors.js';
import type { Space } from '../../../env/index.js';
import type { Servable, TaskCard } from '../../../run/serving/index.js';
import type { Sessions } from '../../core/session-contract.js';
import { splitsOf, tasksOf } from '../../core/task-choice.js';

const spaceSchema = z
  .union([
    z.object({
      type: z.literal('box'),
      shape: z.array(z.int()),
      low: z.array(z.number().nullable()).describe('By element; null: no bound'),
      high: z.array(z.number().nullable()),
    }),
    z.object({ type: z.literal('discrete'), n: z.int(), start: z.int().describe('start .. start + n - 1') }),
    z.object({ type: z.literal('text'), max_length: z.int().describe('Characters') }),
    z.object({ type: z.literal('tools'), tools: z.array(z.record(z.string(), z.unknown())) }),
  ])
  .meta({ id: 'Space' });

export const environmentSchema = z
  .object({
    name: z.string(),
    family: z.enum(ENV_FAMILIES),
    description: z.string(),
    source: z.enum(['real', 'dream']).describe('Who answers steps: the real environment, or a world model'),
    version: z.string().describe('Changes whenever answers may'),
    observation_space: spaceSchema,
    action_space: spaceSchema,
    tools: z
      .array(z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) }))
      .describe('Parameters are a JSON Schema'),
    splits: z.array(z.object({ name: z.string(), tasks: z.int() })).describe('Splits that have tasks, and how many'),
    max_episode_steps: z.int().nullable().describe('Steps before truncated; null: no clock'),
    is_default: z.boolean().describe('Whether it is opened where none is named'),
  })
  .meta({ id: 'Environment' });

export const environmentsSchema = z.object({ environments: z.array(environmentSchema) });

export const taskSchema = z
  .object({
    id: z.string(),
    split: z.enum(['train', 'validation', 'test']),
    index: z.int().describe('Its place in the split'),
    family: z.string().optional(),
    tags: z.array(z.string()).optional(),
  })
  .meta({ id: 'Task' });

export const tasksSchema = z.object({ tasks: z.array(taskSchema), total: z.int().describe('Of the split') });

/** @throws ENV_NOT_SERVED */
export function servedAs(sessions: Sessions, name: string): Servable {
  const served = sessions.environments.get(name);
  if (served !== undefined) return served;
  throw reverieError('ENV_NOT_SERVED', { env: name, known: [...sessions.environments.keys()].join(', ') });
}

export function environmentCard(served: Servable, { defaultEnv }: Sessions) {
  const { name, family, description, source, version, tools, observationSpace, actionSpace } = served;
  return {
    name,
    family,
    description,
    source,
    version,
    observation_space: wireSpace(observationSpace),
    action_space: wireSpace(actionSpace),
    tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    splits: splitsOf(served).map((split) => ({ name: split, tasks: tasksOf(served, split).length })),
    max_episode_steps: served.maxEpisodeSteps ?? null,
    is_default: served === defaultEnv,
  };
}

/** Tasks of a split, `start` to before `stop`. */
export function taskCards(served: Servable, split: string, start: number, stop = Number.POSITIVE_INFINITY) {
  const tasks = tasksOf(served, split);
  return { tasks: tasks.slice(start, stop).map((task, i) => wireTask(task, start + i)), total: tasks.length };
}

function wireTask({ id, split, family, tags }: TaskCard, index: number) {
  return { id, split, index, ...(family === undefined ? {} : { family }), ...(tags === undefined ? {} : { tags }) };
}

export function wireSpace(space: Space) {
  return space.type === 'text' ? { type: space.type, max_length: space.maxLength } : space;
}
