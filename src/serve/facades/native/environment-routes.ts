// Routes that tell what is served.

import { z } from 'zod';
import { SPLITS, splitsOf } from '../../core/task-choice.js';
import { checkedBody } from '../../http/request-check.js';
import {
  environmentCard,
  environmentSchema,
  environmentsSchema,
  servedAs,
  taskCards,
  tasksSchema,
} from './environment-card.js';
import type { NativeRoute } from './native-route.js';

const tag = 'Environments';
const parameters = { env: 'Name of the environment' };

const tasksQuery = z.strictObject({
  split: z.enum(SPLITS).optional().describe('train, validation or test; the first that has tasks unless given'),
  start: z.coerce.number().int().min(0).default(0).describe('Index of the first task'),
  stop: z.coerce.number().int().min(0).optional().describe('Index after the last'),
});

const list: NativeRoute = {
  method: 'get',
  path: '/v1/environments',
  tag,
  summary: 'List the environments',
  answer: { status: 200, description: 'All that are served', schema: environmentsSchema },
  handle({ sessions }) {
    return { environments: [...sessions.environments.values()].map((served) => environmentCard(served, sessions)) };
  },
};

const get: NativeRoute = {
  method: 'get',
  path: '/v1/environments/:env',
  tag,
  summary: 'Look at an environment',
  parameters,
  answer: { status: 200, description: 'The environment', schema: environmentSchema },
  handle: ({ sessions, id }) => environmentCard(servedAs(sessions, id), sessions),
};

const tasks: NativeRoute = {
  method: 'get',
  path: '/v1/environments/:env/tasks',
  tag,
  summary: 'List tasks of a split',
  description: 'Never how a task is checked or solved.',
  parameters,
  query: tasksQuery,
  answer: {
    status: 200,
    description: 'Tasks in the order of the domain; in family vector they are seeds',
    schema: tasksSchema,
  },
  handle({ request, sessions, id }) {
    const served = servedAs(sessions, id);
    const { split = splitsOf(served)[0] ?? 'train', start, stop } = checkedBody(tasksQuery, request.query);
    return taskCards(served, split, start, stop);
  },
};

export const environmentRoutes = [list, get, tasks];
