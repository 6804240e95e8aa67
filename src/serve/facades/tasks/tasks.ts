// The task routes that OpenEnv (its Task API) and the Open Reward Standard share: which environments, splits and tasks there
// are. Never how a task is solved or checked.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ReverieError } from '../../../core/errors.js';
import type { Servable } from '../../../run/serving/index.js';
import { environmentNamed, SPLITS, splitNames, type TaskSpec, taskCount, taskSpec } from '../../core/task-choice.js';
import type { Facade, FacadeContext, RouteDescription } from '../../http/facade.js';

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

type Answer = (served: Servable, body: unknown) => unknown;

const POSTS: Readonly<Record<string, Answer>> = {
  tasks: (served, body) => ({ tasks: taskSpecs(served, splitIn(served, body)), env_name: served.name }),
  num_tasks: (served, body) => ({ num_tasks: taskCount(served, splitIn(served, body)) }),
  task: (served, body) => ({ task: taskAt(taskSpecs(served, splitIn(served, body)), body), env_name: served.name }),
  task_range: (served, body) => ({
    tasks: range(taskSpecs(served, splitIn(served, body)), body),
    env_name: served.name,
  }),
};

export const tasksFacade: Facade = {
  name: 'tasks',
  reserved: ['list_environments'],
  get routes() {
    return descriptions;
  },
  async register(app: FastifyInstance, { sessions }: FacadeContext) {
    await app.register(async (own) => {
      own.setErrorHandler(answerError);
      own.get('/list_environments', () => [...sessions.environments.keys()]);
      const served = ({ params }: FastifyRequest) => environmentNamed(sessions, (params as { env: string }).env);
      own.get('/:env/splits', (request) => splits(served(request)));
      for (const [name, answer] of Object.entries(POSTS)) {
        own.post(`/:env/${name}`, (request) => answer(served(request), request.body));
      }
    });
  },
};

function splits(served: Servable) {
  refuseTaskless(served);
  return splitNames(served).map((name) => ({ name, type: name }));
}

function splitIn(served: Servable, body: unknown): string {
  refuseTaskless(served);
  const { data } = splitSchema.safeParse(body);
  if (data !== undefined && splitNames(served).includes(data.split)) return data.split;
  throw new TaskRefusal(400, `Invalid split. ${served.name} has: ${splitNames(served).join(', ')}`);
}

function taskAt(tasks: readonly TaskSpec[], body: unknown): TaskSpec {
  const { data } = taskSchema.safeParse(body);
  const found = data === undefined ? undefined : tasks[data.index];
  if (found === undefined) throw new TaskRefusal(400, `Invalid index. The split has 0 to ${tasks.length - 1}`);
  return found;
}

/** Beyond the end there is nothing, as in a slice. */
function range(tasks: readonly TaskSpec[], body: unknown): readonly TaskSpec[] {
  const { data } = rangeSchema.safeParse(body);
  if (data === undefined) throw new TaskRefusal(400, 'Invalid index. start and stop are whole numbers');
  return tasks.slice(data.start ?? 0, data.stop ?? tasks.length);
}

function refuseTaskless(served: Servable): void {
  if (splitNames(served).length === 0) throw new TaskRefusal(501, `${served.name} has no tasks`);
}

function taskSpecs(served: Servable, split: string): readonly TaskSpec[] {
  return Array.from({ length: taskCount(served, split) }, (_, index) => taskSpec(served, split, index));
}

function answerError(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof TaskRefusal) {
    void reply.status(error.status).send({ detail: error.message });
  } else if (error instanceof ReverieError && error.status === 404) {
    const { code, message, hint } = error;
    void reply.status(404).send({ detail: `${message} ${hint}`, error: { code, message, hint } });
  } else throw error;
}

const tag = 'Tasks';
const parameters = { env: 'Name of the environment, capitals or not' };
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

const descriptions: readonly RouteDescription[] = [
  {
    method: 'get',
    path: '/list_environments',
    tag,
    summary: 'List the environments by name',
    answer: { status: 200, description: 'Their names', schema: z.array(z.string()) },
  },
  {
    method: 'get',
    path: '/:env/splits',
    tag,
    summary: 'List the splits that have tasks',
    parameters,
    answer: {
      status: 200,
      description: 'Splits',
      schema: z.array(z.object({ name: z.string(), type: z.enum(SPLITS) })),
    },
  },
  {
    ...post('tasks', 'List the tasks of a split', splitSchema),
    answer: { status: 200, description: 'All of them', schema: many },
  },
  {
    ...post('num_tasks', 'Count the tasks of a split', splitSchema),
    answer: { status: 200, description: 'How many', schema: z.object({ num_tasks: z.int() }) },
  },
  {
    ...post('task', 'Get a task of a split', taskSchema),
    answer: { status: 200, description: 'The task', schema: z.object({ task: spec, env_name: z.string() }) },
  },
  {
    ...post('task_range', 'List some tasks of a split', rangeSchema),
    answer: { status: 200, description: 'Those from start to before stop', schema: many },
  },
];

function post(name: string, summary: string, schema: z.ZodType) {
  return { method: 'post' as const, path: `/:env/${name}`, tag, summary, parameters, body: { schema } };
}
