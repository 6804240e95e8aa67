// What /openapi.json and /docs tell of OpenEnv's routes.

import { z } from 'zod';
import type { RouteDescription } from '../../http/facade.js';
import { stepSchema } from './http-routes.js';
import { resetSchema, stateSchema } from './player.js';

const tag = 'OpenEnv';
const headers = { 'X-Session-ID': 'Names the session; without it `episode_id` does, and without both it is a new one' };

const json = z.record(z.string(), z.unknown());
const turn = z
  .object({
    observation: json.describe('As /schema says'),
    reward: z.number().nullable().describe('Of this step; rewards of an episode sum to its return'),
    done: z.boolean(),
  })
  .meta({ id: 'OpenEnvObservation' });

const routes: readonly Omit<RouteDescription, 'tag'>[] = [
  {
    method: 'post',
    path: '/reset',
    summary: 'Start an episode',
    description: 'Without a named session the answer is all there is of it, as in the reference.',
    headers,
    body: { schema: resetSchema, example: { seed: 1, episode_id: 'my-episode' }, required: false },
    answer: { status: 200, description: 'The first observation', schema: turn },
  },
  {
    method: 'post',
    path: '/step',
    summary: 'Take a step',
    description: 'A session named by `episode_id` alone is closed when its episode is done.',
    headers,
    body: { schema: stepSchema, example: { action: { values: [0.5] }, episode_id: 'my-episode' } },
    answer: { status: 200, description: 'What came of it', schema: turn },
  },
  {
    method: 'get',
    path: '/state',
    summary: 'Look at the episode',
    headers,
    query: z.object({ episode_id: z.string().optional().describe('Names the session where no header does') }),
    answer: { status: 200, description: 'Where it stands', schema: stateSchema },
  },
  {
    method: 'get',
    path: '/health',
    summary: 'Ask whether it runs',
    answer: { status: 200, description: 'It does', schema: z.object({ status: z.literal('healthy') }) },
  },
  {
    method: 'get',
    path: '/metadata',
    summary: 'Look at the environment',
    answer: { status: 200, description: 'Its name, description and version', schema: json },
  },
  {
    method: 'get',
    path: '/schema',
    summary: 'Get the JSON Schemas of action, observation and state',
    answer: { status: 200, description: 'All three', schema: json },
  },
  {
    method: 'post',
    path: '/mcp',
    summary: 'Ask by JSON-RPC: tools/list, tools/call, openenv/session/create and close',
    body: { schema: json, example: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} } },
    answer: { status: 200, description: 'The JSON-RPC answer, failures too', schema: json },
  },
  {
    method: 'get',
    path: '/ws',
    summary: 'Connect a session (WebSocket)',
    description: 'Messages `{"type": "reset" | "step" | "state" | "mcp" | "close", "data"}`, one answer each.',
    answer: { status: 101, description: 'A WebSocket' },
  },
];

/** Of one environment, beneath its own address. */
export const ownDescriptions: readonly RouteDescription[] = routes.map((route) => ({ ...route, tag }));

/** The default environment's, and the same of each. */
export const openEnvDescriptions: readonly RouteDescription[] = [
  ...ownDescriptions,
  ...ownDescriptions.map((route) => {
    return { ...route, path: `/envs/:env${route.path}`, parameters: { env: 'Name of the environment' } };
  }),
];
