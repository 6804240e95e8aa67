// What NeMo-Gym's agents send, and what /openapi.json tells of it.

import { z } from 'zod';
import type { RouteDescription } from '../../http/route-description.js';
import { metricsBody } from './metrics.js';
import { responseSchema } from './responses.js';

export const resetBody = z.looseObject({
  id: z.string().max(255).nullish().describe('A task by its id; further fields of the row are its own'),
  split: z.string().max(255).nullish().describe('Or by its split'),
  index: z.int().min(0).nullish().describe('and its place there'),
  seed: z.int().min(0).nullish().describe('Seed of the episode'),
  from_snapshot: z.string().max(255).nullish().describe('A snapshot to go on from, instead of a task'),
});
export const stepBody = z.looseObject({
  response: responseSchema.describe("The model's response, in OpenAI's Responses format"),
  _ng_step_request_id: z.string().max(255).nullish().describe('The same one again is no second step'),
});

const tag = 'NeMo-Gym (gymnasium)';
const info = z.record(z.string(), z.unknown());
const first = z.object({ observation: z.string(), info });
const step = z.object({
  observation: z.string().nullable(),
  reward: z.number(),
  terminated: z.boolean(),
  truncated: z.boolean(),
  info: info.describe('`tool_outputs` has the answer to each call'),
});
const said = { output: [{ type: 'message', role: 'assistant', content: 'Hello' }] };

export const nemoDescriptions: readonly RouteDescription[] = [
  {
    ...post('reset', 'Start an episode', resetBody, first, { split: 'train', index: 0 }),
    description: 'Its cookie names the session to the other routes.',
  },
  post('step', 'Take a step', stepBody, step, { response: said }),
  post('close', 'Close the session', z.object({}), z.object({}), {}),
  post('seed_session', 'Nothing: an episode starts with /reset', z.object({}), z.object({}), {}),
  post('aggregate_metrics', 'Average rewards', metricsBody, info, { verify_responses: [{ reward: 1 }] }),
  post('verify', 'Refused: /step judges', z.object({}), info, {}),
];

function post(name: string, summary: string, schema: z.ZodType, answer: z.ZodType, example: unknown): RouteDescription {
  return {
    method: 'post',
    path: `/nemo/:env/${name}`,
    tag,
    summary,
    parameters: { env: 'Name of the environment' },
    body: { schema, example },
    answer: { status: 200, description: 'The answer', schema: answer },
  };
}
