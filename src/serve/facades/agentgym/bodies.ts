// What AgentGym's clients send, and what /openapi.json tells of it.

import { z } from 'zod';
import type { RouteDescription } from '../../http/route-description.js';

/** In a query it is a text. */
const number = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

export const resetBody = z.looseObject({
  env_idx: z.int().min(0),
  id: z.int().min(0).describe('Index of a task in split train; a seed, in family vector'),
});
export const stepBody = z.looseObject({
  env_idx: z.int().min(0),
  action: z.string().describe('What the model wrote, whole'),
});
export const named = z.union([z.looseObject({ env_idx: number }), z.looseObject({ id: number })]);

const tag = 'AgentGym (todo)';
const parameters = { env: 'Name of the environment' };
const failed = 'Failures are answers of status 200: {"error"}.';
const text = z.string();
const step = z.object({ observation: z.string(), reward: z.number(), done: z.boolean() });
const which = z.object({ env_idx: z.int() });

export const agentGymDescriptions: readonly RouteDescription[] = [
  {
    ...post('create', 'Open a session', z.object({}), z.int().describe('env_idx'), {}),
    description: failed,
  },
  post('reset', 'Start an episode', resetBody, text.describe('The first observation'), { env_idx: 0, id: 0 }),
  post('step', 'Take a step', stepBody, step, { env_idx: 0, action: 'Action: look with Action Input: {}' }),
  {
    method: 'get',
    path: '/agentgym/:env/observation',
    tag,
    summary: 'Read the last observation again',
    parameters,
    query: z.object({ env_idx: z.string().describe('Number of the session') }),
    answer: { status: 200, description: 'The observation', schema: text },
  },
  post('close', 'Close a session', which, z.boolean(), { env_idx: 0 }),
];

function post(name: string, summary: string, schema: z.ZodType, answer: z.ZodType, example: unknown): RouteDescription {
  return {
    method: 'post',
    path: `/agentgym/:env/${name}`,
    tag,
    summary,
    parameters,
    body: { schema, example },
    answer: { status: 200, description: 'The answer', schema: answer },
  };
}
