// The task routes that OpenEnv (its Task API) and the Open Reward Standard share: which environments, splits and tasks there
// are. Never how a task is solved or checked.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Servable } from '../../run/servable.js';
import { environmentOf, SPLITS, splitsOf, tasksOf } from '../core/tasks.js';
import type { ProtocolContext, ProtocolRoutes } from '../http/openapi.js';
import { tellDetail } from '../http/requests.js';

/** Answered as `{"detail"}`. */
class TaskRefusal extends Error {
  constructor(
    readonly status: 400 | 501,
    message: string,
  ) {
    super(message);
  }
}

const splitSchema = z.looseObject({ split: z.enum(SPLITS) });
const indexSchema = z.looseObject({ index: z.int().min(0) });
/** Negative ones count from the end. */
const rangeSchema = z.looseObject({ start: z.int().nullish(), stop: z.int().nullish() });

/** Each key becomes a column of a trainer's dataset, so all tasks of an environment have the same. */
interface TaskSpec {
  readonly id: string;
  readonly split: string;
  readonly index: number;
  /** In family vector: what the task is. */
  readonly seed?: number;
  /** Tasks of one kind (OpenEnv RFC 013). */
  readonly group: string | null;
  readonly tags: readonly string[];
}

type TaskRoute = (served: Servable, tasks: readonly TaskSpec[], body: unknown) => unknown;

const POSTS: Readonly<Record<string, TaskRoute>> = {
  tasks: ({ name }, tasks) => ({ tasks, env_name: name }),
  num_tasks: (_, tasks) => ({ num_tasks: tasks.length }),
  task({ name }, tasks, body) {
    const { data } = indexSchema.safeParse(body);
    const task = data && tasks[data.index];
    if (task === undefined) throw new TaskRefusal(400, `Invalid index. The split has 0 to ${tasks.length - 1}`);
    return { task, env_name: name };
  },
  task_range({ name }, tasks, body) {
    const { data } = rangeSchema.safeParse(body);
    if (data === undefined) throw new TaskRefusal(400, 'Invalid index. start and stop are whole numbers');
    return { tasks: tasks.slice(data.start ?? 0, data.stop ?? tasks.length), env_name: name };
  },
};

export const tasksRoutes: ProtocolRoutes = {
  name: 'tasks',
  reserved: ['list_environments'],
  async register(app: FastifyInstance, { sessions }: ProtocolContext) {
    await app.register(async (own) => {
      tellDetail(own);
      own.setErrorHandler((error, _request, reply) => {
        if (!(error instanceof TaskRefusal)) throw error;
        return reply.status(error.status).send({ detail: error.message });
      });
      own.get('/list_environments', () => [...sessions.environments.keys()]);
      const servedFor = ({ params }: FastifyRequest) => environmentOf(sessions, (params as { env: string }).env);
      own.get('/:env/splits', (request) => splitNames(servedFor(request)).map((name) => ({ name, type: name })));
      for (const [name, answer] of Object.entries(POSTS)) {
        own.post(`/:env/${name}`, (request) => {
          const served = servedFor(request);
          return answer(served, taskSpecs(served, request.body), request.body);
        });
      }
    });
  },
};

/** @throws TaskRefusal where there are none */
function splitNames(served: Servable) {
  const names = splitsOf(served);
  if (names.length === 0) throw new TaskRefusal(501, `${served.name} has no tasks`);
  return names;
}

function taskSpecs(served: Servable, body: unknown): TaskSpec[] {
  const names = splitNames(served);
  const { data } = splitSchema.safeParse(body);
  if (data === undefined || !names.includes(data.split)) {
    throw new TaskRefusal(400, `Invalid split. ${served.name} has: ${names.join(', ')}`);
  }
  return tasksOf(served, data.split).map(({ id, family, tags = [], seed }, index) => {
    const { split } = data;
    return { id, split, index, group: family ?? null, tags: [...tags], ...(seed === undefined ? {} : { seed }) };
  });
}
