// The task routes that OpenEnv (its Task API) and the Open Reward Standard share: which environments, splits and tasks there
// are. Never how a task is solved or checked.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ReverieError } from '../../core/errors.js';
import type { Servable } from '../../run/servable.js';
import { environmentNamed, SPLITS, splitsOf, tasksOf } from '../core/tasks.js';
import type { Facade, FacadeContext, RouteDescription } from '../http/openapi.js';

/** Answered as `{"detail"}`. */
class TaskRefusal extends Error {
  constructor(
    readonly status: 400 | 501,
    message: string,
  ) {
    super(message);
  }
}

const splitSchema = z.looseObject({ split: z.enum(SPLITS).describe('train, validation or test') });
const taskSchema = splitSchema.extend({ index: z.int().min(0).describe('Place within the split') });
const rangeSchema = splitSchema.extend({
  start: z.int().nullish().describe('Index of the first; 0 unless given; negative: from the end'),
  stop: z.int().nullish().describe('Index after the last; all unless given; negative: from the end'),
});

/**
 * A task as it is handed on, to be given back to start it. Each key becomes a column of a trainer's dataset, so all tasks of
 * an environment have the same.
 */
const spec = z
  .object({
    id: z.string(),
    split: z.enum(SPLITS),
    index: z.int(),
    seed: z.int().optional().describe('In family vector: what the task is'),
    group: z.string().nullable().describe('Tasks of one kind (OpenEnv RFC 013)'),
    tags: z.array(z.string()),
  })
  .meta({ id: 'TaskSpec' });
const many = z.object({ tasks: z.array(spec), env_name: z.string() });

interface TaskRoute {
  readonly summary: string;
  readonly body: z.ZodType;
  readonly answer: z.ZodType;
  of(served: Servable, tasks: readonly z.infer<typeof spec>[], body: unknown): unknown;
}

const POSTS: Readonly<Record<string, TaskRoute>> = {
  tasks: {
    summary: 'List the tasks of a split',
    body: splitSchema,
    answer: many,
    of: ({ name }, tasks) => ({ tasks, env_name: name }),
  },
  num_tasks: {
    summary: 'Count the tasks of a split',
    body: splitSchema,
    answer: z.object({ num_tasks: z.int() }),
    of: (_, tasks) => ({ num_tasks: tasks.length }),
  },
  task: {
    summary: 'Get a task of a split',
    body: taskSchema,
    answer: z.object({ task: spec, env_name: z.string() }),
    of({ name }, tasks, body) {
      const { data } = taskSchema.safeParse(body);
      const task = data && tasks[data.index];
      if (task === undefined) throw new TaskRefusal(400, `Invalid index. The split has 0 to ${tasks.length - 1}`);
      return { task, env_name: name };
    },
  },
  task_range: {
    summary: 'List the tasks of a split from start to before stop',
    body: rangeSchema,
    answer: many,
    of({ name }, tasks, body) {
      const { data } = rangeSchema.safeParse(body);
      if (data === undefined) throw new TaskRefusal(400, 'Invalid index. start and stop are whole numbers');
      return { tasks: tasks.slice(data.start ?? 0, data.stop ?? tasks.length), env_name: name };
    },
  },
};

const about = { tag: 'Tasks', parameters: { env: 'Name of the environment, capitals or not' } };

const descriptions: readonly RouteDescription[] = [
  {
    method: 'get',
    path: '/list_environments',
    tag: about.tag,
    summary: 'List the environments by name',
    answer: { status: 200, description: 'Their names', schema: z.array(z.string()) },
  },
  {
    method: 'get',
    path: '/:env/splits',
    ...about,
    summary: 'List the splits that have tasks',
    answer: {
      status: 200,
      description: 'Splits',
      schema: z.array(z.object({ name: z.string(), type: z.enum(SPLITS) })),
    },
  },
  ...Object.entries(POSTS).map(([name, { summary, body: schema, answer }]): RouteDescription => {
    const answered = { status: 200, description: 'What is there', schema: answer };
    return { method: 'post', path: `/:env/${name}`, ...about, summary, body: { schema }, answer: answered };
  }),
];

export const tasksFacade: Facade = {
  name: 'tasks',
  reserved: ['list_environments'],
  routes: descriptions,
  async register(app: FastifyInstance, { sessions }: FacadeContext) {
    await app.register(async (own) => {
      own.setErrorHandler(answerError);
      own.get('/list_environments', () => [...sessions.environments.keys()]);
      const servedFor = ({ params }: FastifyRequest) => environmentNamed(sessions, (params as { env: string }).env);
      own.get('/:env/splits', (request) => splitNames(servedFor(request)).map((name) => ({ name, type: name })));
      for (const [name, { of }] of Object.entries(POSTS)) {
        own.post(`/:env/${name}`, (request) => {
          const served = servedFor(request);
          return of(served, taskSpecs(served, request.body), request.body);
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

function taskSpecs(served: Servable, body: unknown): z.infer<typeof spec>[] {
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

function answerError(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof TaskRefusal) {
    void reply.status(error.status).send({ detail: error.message });
  } else if (error instanceof ReverieError && error.status === 404) {
    const { code, message, hint } = error;
    void reply.status(404).send({ detail: `${message} ${hint}`, error: { code, message, hint } });
  } else throw error;
}
