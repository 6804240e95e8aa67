// The native API: every verb the sessions have, as JSON over HTTP, and batches of rows in binary.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ENV_FAMILIES, type Space } from '../../../core/environment.js';
import type { Servable, TaskCard } from '../../../run/servable.js';
import type { Owner, SessionState, StepItem, StepOutcome, StepRequest, Turn } from '../../core/session-contract.js';
import type { Sessions } from '../../core/sessions.js';
import {
  decodeAction,
  encodeInfo,
  encodeObservation,
  environmentOf,
  publicInfo,
  SPLITS,
  splitsOf,
  tasksOf,
} from '../../core/tasks.js';
import type { Facade, FacadeContext, RouteDescription } from '../../http/openapi.js';
import { checkedBody, errorBody } from '../../http/requests.js';
import { addVectorRoutes, vectorDescriptions } from './vector.js';
import { VectorTable } from './vector-table.js';

// What is taken.

const MAX_ID = 255;
const MAX_FORKS = 1024;

const sessionId = z.string().min(1).max(MAX_ID);
const request_id = z
  .string()
  .max(MAX_ID)
  .optional()
  .describe(
    "Yours: a request sent again under the same id gets the first one's answer and does nothing twice. Of each session " +
      'the latest 16 answers are kept',
  );
const wholeNumber = z.int().min(0);

/** Where an episode starts. */
const start = {
  seed: wholeNumber.optional().describe('Seeds the episode: equal seeds, equal episodes. Drawn unless given'),
  task: z.string().optional().describe('A task by id. In family vector tasks are seeds, and `seed` goes before them'),
  split: z.string().optional().describe('Split that `index` counts in: train, validation or test'),
  index: wholeNumber.optional().describe('Which task of the split, from 0'),
  snapshot: z.string().optional().describe('Id of a snapshot to start from instead'),
};
const openBody = z.strictObject({
  env: z.string().optional().describe('Name of the environment; the first one served unless given'),
  id: sessionId.optional().describe('An id of your own; an unguessable one unless given'),
});
const resetBody = z.strictObject({
  ...start,
  episode_id: z.string().max(MAX_ID).optional().describe('Your name for the episode'),
  request_id,
});
const step = {
  action: z
    .unknown()
    .describe(
      'Family vector: a list of numbers, or one number where there is one element. Family text: a string. ' +
        'Family tools: `{"content": "said to the user"}` or `{"tool_calls": [{"name", "arguments"}]}`',
    ),
  request_id,
  timeout_seconds: z
    .number()
    .positive()
    .optional()
    .describe("Seconds it may take, up to the server's own limit; late, and nothing has happened"),
};
const stepBody = z.strictObject(step);
const manySteps = z.array(z.strictObject({ session: sessionId.describe('Which session'), ...step }));
const manyStepsBody = z.strictObject({
  steps: manySteps.min(1).max(4096).describe('One for each session; all run at the same time'),
});
const seeds = z
  .array(wholeNumber)
  .optional()
  .describe('One for each: what follows in it is drawn from there. Without, all go on alike');
const snapshotBody = z.strictObject({ request_id });
const count = z.int().min(1).max(MAX_FORKS);
const forkBody = z.strictObject({ count: count.default(1).describe('How many new sessions'), seeds, request_id });
const restoreBody = z.strictObject({
  snapshot: z.string().describe('Id of a snapshot'),
  seed: wholeNumber.optional().describe("What follows is drawn from this instead of the snapshot's own stream"),
  request_id,
});
const groupBody = z.strictObject({
  env: openBody.shape.env,
  count: count.describe('How many sessions'),
  seeds,
  ...start,
});
const place = z.coerce.number().int().min(0);
const tasksQuery = z.strictObject({
  split: z.enum(SPLITS).optional().describe('train, validation or test; the first that has tasks unless given'),
  start: place.default(0).describe('Index of the first task'),
  stop: place.optional().describe('Index after the last'),
});

// What is answered.

const rewardSum = z.number().nullable();
const milliseconds = z.number().describe('Milliseconds since the epoch');

const sessionSchema = z
  .object({
    id: z.string(),
    env: z.string(),
    status: z.enum(['idle', 'running', 'done']).describe('idle: not reset yet; done: the episode ended'),
    episode_id: z.string().nullable(),
    task: z.string().nullable(),
    seed: z.int().nullable(),
    step_count: z.int(),
    return: rewardSum.describe('Sum of rewards; null where one could not be judged'),
    parent: z.string().optional().describe('The session it was forked from'),
    opened_at: milliseconds,
    last_used_at: milliseconds,
  })
  .meta({ id: 'Session' });
const sessionsSchema = z.object({ sessions: z.array(sessionSchema) });

const turnSchema = z
  .object({
    observation: z
      .unknown()
      .describe(
        'Family vector: a list of numbers. Family text: a string. Family tools: ' +
          '`{"messages": [{"role", "content", "tool_call_id"?, "name"?, "is_error"?}]}`, those that are new',
      ),
    reward: rewardSum.describe('Of this step. null after reset, and where the end could not be judged'),
    terminated: z.boolean().describe('Ended by the task: nothing follows'),
    truncated: z.boolean().describe('Ended by the clock'),
    info: z.record(z.string(), z.unknown()).describe('Who answered, how sure, what it cost; at the end the verdict'),
    episode_id: z.string(),
    step_count: z.int().describe('Steps taken in the episode'),
  })
  .meta({ id: 'Turn' });
const snapshotSchema = z
  .object({ id: z.string().describe('Hash: equal states have equal ids'), env: z.string(), step_count: z.int() })
  .meta({ id: 'Snapshot' });
const groupSchema = sessionsSchema.extend({ turn: turnSchema.describe('What all of them see first') });
const errorSchema = z.object({ error: z.object({ code: z.string(), message: z.string(), hint: z.string() }) });
const resultsSchema = z.object({
  results: z.array(z.union([turnSchema, errorSchema])).describe('In the order of the steps; an error stands alone'),
});

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

const environmentSchema = z
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

const taskSchema = z
  .object({
    id: z.string(),
    split: z.enum(SPLITS),
    index: z.int().describe('Its place in the split'),
    family: z.string().optional(),
    tags: z.array(z.string()).optional(),
  })
  .meta({ id: 'Task' });
const tasksSchema = z.object({ tasks: z.array(taskSchema), total: z.int().describe('Of the split') });

function wireTurn(served: Servable, turn: Turn) {
  const { reward, terminated, truncated, episodeId: episode_id, stepCount: step_count } = turn;
  const info = encodeInfo(publicInfo(turn.info));
  const observation = encodeObservation(served, turn.observation);
  return { observation, reward, terminated, truncated, info, episode_id, step_count };
}

function wireSession(session: SessionState) {
  const { id, env, status, episodeId, task, seed, stepCount, return: sum, parent, openedAt, lastUsedAt } = session;
  const episode = { episode_id: episodeId, task, seed, step_count: stepCount, return: sum };
  return { id, env, status, ...episode, parent, opened_at: openedAt, last_used_at: lastUsedAt };
}

function wireSpace(space: Space) {
  return space.type === 'text' ? { type: space.type, max_length: space.maxLength } : space;
}

function environmentCard(served: Servable, { defaultEnv }: Sessions) {
  const { name, family, description, source, version, tools, observationSpace, actionSpace } = served;
  return {
    ...{ name, family, description, source, version },
    observation_space: wireSpace(observationSpace),
    action_space: wireSpace(actionSpace),
    tools: tools.map((tool) => ({ name: tool.name, description: tool.description, parameters: tool.parameters })),
    splits: splitsOf(served).map((split) => ({ name: split, tasks: tasksOf(served, split).length })),
    max_episode_steps: served.maxEpisodeSteps ?? null,
    is_default: served === defaultEnv,
  };
}

function wireTask({ id, split, family, tags }: TaskCard, index: number) {
  return { id, split, index, family, tags };
}

/** @throws REQUEST_INVALID */
function stepRequest(served: Servable, body: z.output<typeof stepBody>): StepRequest {
  const { action, request_id: requestId, timeout_seconds: timeoutSeconds } = body;
  return { action: decodeAction(served, action), requestId, timeoutSeconds };
}

/** Nothing is to be checked of an action alone: the environment tells whether it is one. @throws REQUEST_INVALID */
function stepIn(body: unknown): z.output<typeof stepBody> {
  const isAction = typeof body === 'object' && body !== null && 'action' in body && Object.keys(body).length === 1;
  return isAction ? (body as { action: unknown }) : checkedBody(stepBody, body);
}

// The routes.

interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly sessions: Sessions;
  readonly owner: Owner;
  /** The path's `:id` or `:env`. */
  readonly id: string;
}

interface NativeRoute extends RouteDescription {
  /** Answers what is sent; undefined: nothing is. */
  handle(asked: Asked): unknown;
}

type About = Pick<RouteDescription, 'tag' | 'summary'> & Partial<RouteDescription>;

/** @param path  after its verb: `post /v1/sessions` */
function route(
  path: string,
  about: About,
  status: number,
  schema: z.ZodType | undefined,
  handle: NativeRoute['handle'],
) {
  const [method, where] = path.split(' ') as [RouteDescription['method'], string];
  const description = schema === undefined ? 'Done' : 'The answer';
  return { method, path: where, ...about, answer: { status, description, schema }, handle };
}

const ENVIRONMENTS = 'Environments';
const env = { env: 'Name of the environment' };
const SESSIONS = 'Sessions';
const id = { id: 'Id of the session' };
const STATES = 'Snapshots and forks';
const MANY = 'Many at once';
const optional = (schema: z.ZodType, example: object) => ({ schema, required: false, example });

const ROUTES: readonly NativeRoute[] = [
  route(
    'get /v1/environments',
    { tag: ENVIRONMENTS, summary: 'List the environments' },
    200,
    z.object({ environments: z.array(environmentSchema) }),
    ({ sessions }) => {
      return { environments: [...sessions.environments.values()].map((served) => environmentCard(served, sessions)) };
    },
  ),
  route(
    'get /v1/environments/:env',
    { tag: ENVIRONMENTS, parameters: env, summary: 'Look at an environment' },
    200,
    environmentSchema,
    ({ sessions, id }) => environmentCard(environmentOf(sessions, id), sessions),
  ),
  route(
    'get /v1/environments/:env/tasks',
    {
      ...{ tag: ENVIRONMENTS, parameters: env, query: tasksQuery, summary: 'List tasks of a split' },
      description:
        'In the order of the domain; in family vector they are seeds. Never how a task is checked or solved.',
    },
    200,
    tasksSchema,
    ({ request, sessions, id }) => {
      const served = environmentOf(sessions, id);
      const { split = splitsOf(served)[0] ?? 'train', start, stop } = checkedBody(tasksQuery, request.query);
      const all = tasksOf(served, split);
      return { tasks: all.slice(start, stop).map((task, i) => wireTask(task, start + i)), total: all.length };
    },
  ),
  route(
    'post /v1/sessions',
    {
      ...{ tag: SESSIONS, summary: 'Open a session', body: optional(openBody, { env: 'pendulum' }) },
      description: 'It takes a slot at its first reset and is closed when nothing is asked of it for a while.',
    },
    201,
    sessionSchema,
    ({ request, sessions, owner }) => {
      return wireSession(sessions.open({ ...checkedBody(openBody, request.body ?? {}), owner }));
    },
  ),
  route(
    'get /v1/sessions',
    { tag: SESSIONS, summary: 'List your sessions', description: 'Those of your token.' },
    200,
    sessionsSchema,
    ({ sessions, owner }) => ({ sessions: sessions.list(owner).map(wireSession) }),
  ),
  route(
    'get /v1/sessions/:id',
    { tag: SESSIONS, parameters: id, summary: 'Look at a session' },
    200,
    sessionSchema,
    ({ sessions, owner, id }) => wireSession(sessions.state(id, owner)),
  ),
  route(
    'delete /v1/sessions/:id',
    { tag: SESSIONS, parameters: id, summary: 'Close a session', description: 'Its slot is free then.' },
    204,
    undefined,
    ({ sessions, owner, id }) => sessions.close(id, owner),
  ),
  route(
    'post /v1/sessions/:id/reset',
    {
      ...{ tag: SESSIONS, parameters: id, summary: 'Start an episode', body: optional(resetBody, { seed: 1 }) },
      description: 'Waits for a slot where all are taken.',
    },
    200,
    turnSchema,
    async ({ request, sessions, owner, id }) => {
      const { episode_id: episodeId, request_id: requestId, ...begin } = checkedBody(resetBody, request.body ?? {});
      const served = sessions.environmentOf(id, owner);
      return wireTurn(served, await sessions.reset(id, { ...begin, episodeId, requestId }, owner));
    },
  ),
  route(
    'post /v1/sessions/:id/step',
    {
      ...{ tag: SESSIONS, parameters: id, summary: 'Act', body: { schema: stepBody, example: { action: [0.5] } } },
      description: 'A session takes one request at a time; others wait their turn. A step that fails changes nothing.',
    },
    200,
    turnSchema,
    async ({ request, sessions, owner, id }) => {
      const served = sessions.environmentOf(id, owner);
      return wireTurn(served, await sessions.step(id, stepRequest(served, stepIn(request.body)), owner));
    },
  ),
  route(
    'get /v1/sessions/:id/observation',
    { tag: SESSIONS, parameters: id, summary: 'See the last turn again', description: 'Without a step.' },
    200,
    turnSchema,
    ({ sessions, owner, id }) => wireTurn(sessions.environmentOf(id, owner), sessions.observe(id, owner)),
  ),
  route(
    'post /v1/sessions/:id/touch',
    {
      ...{ tag: SESSIONS, parameters: id, summary: 'Say that it is still wanted' },
      description: 'Keeps an idle session from being closed.',
    },
    204,
    undefined,
    ({ sessions, owner, id }) => sessions.touch(id, owner),
  ),
  route(
    'post /v1/sessions/:id/snapshot',
    {
      ...{ tag: STATES, parameters: id, summary: 'Keep the state', body: optional(snapshotBody, {}) },
      description: 'Under an id that is the hash of what it is. The server keeps the latest of each token.',
    },
    201,
    snapshotSchema,
    async ({ request, sessions, owner, id }) => {
      const { request_id: requestId } = checkedBody(snapshotBody, request.body ?? {});
      const kept = await sessions.snapshot(id, owner, { requestId });
      return { id: kept.id, env: kept.env, step_count: kept.stepCount };
    },
  ),
  route(
    'post /v1/sessions/:id/restore',
    {
      ...{ tag: STATES, parameters: id, summary: 'Go back to a snapshot' },
      description: 'Of the same environment, of this session or another of yours.',
      body: { schema: restoreBody, example: { snapshot: '4f0c9d0a1b2c3d4e5f60718293a4b5c6' } },
    },
    200,
    turnSchema,
    async ({ request, sessions, owner, id }) => {
      const { snapshot, seed, request_id: requestId } = checkedBody(restoreBody, request.body);
      const served = sessions.environmentOf(id, owner);
      return wireTurn(served, await sessions.restore(id, snapshot, owner, { seed, requestId }));
    },
  ),
  route(
    'post /v1/sessions/:id/fork',
    {
      ...{ tag: STATES, parameters: id, summary: 'Branch into new sessions', body: optional(forkBody, { count: 4 }) },
      description: 'Each goes on from the state of this one, on its own; each takes a slot.',
    },
    201,
    sessionsSchema,
    async ({ request, sessions, owner, id }) => {
      const { count, seeds, request_id: requestId } = checkedBody(forkBody, request.body ?? {});
      return { sessions: (await sessions.fork(id, count, owner, { seeds, requestId })).map(wireSession) };
    },
  ),
  route(
    'post /v1/groups',
    {
      ...{ tag: MANY, summary: 'Open sessions that start from one state' },
      description: 'For learners that compare several tries at the same start (GRPO). All of them open, or none.',
      body: { schema: groupBody, example: { env: 'pendulum', count: 8, seed: 1 } },
    },
    201,
    groupSchema,
    async ({ request, sessions, owner }) => {
      const { env, count, seeds, ...begin } = checkedBody(groupBody, request.body);
      const members = await sessions.openGroup({ env, count, seeds, owner }, begin);
      const [first] = members;
      const turn = wireTurn(sessions.environmentOf(first.session.id, owner), first.turn);
      return { sessions: members.map(({ session }) => wireSession(session)), turn };
    },
  ),
  route(
    'post /v1/step',
    {
      ...{ tag: MANY, summary: 'Step many sessions' },
      description:
        'One request instead of many; a step that fails does so alone. Steps of one session follow each other.',
      body: { schema: manyStepsBody, example: { steps: [{ session: 'a', action: [0.5] }] } },
    },
    200,
    resultsSchema,
    async ({ request, sessions, owner }) => {
      const { steps } = checkedBody(manyStepsBody, request.body);
      const items = steps.map(({ session: id, ...body }): StepItem | StepOutcome => {
        try {
          return { id, ...stepRequest(sessions.environmentOf(id, owner), body) };
        } catch (error) {
          return { id, error };
        }
      });
      const served = items.map((item) => (isStep(item) ? sessions.environmentOf(item.id, owner) : undefined));
      const taken = (await sessions.stepMany(items.filter(isStep), owner)).values();
      const results = items.map((item, i) => {
        const outcome = isStep(item) ? taken.next().value! : item;
        return 'error' in outcome ? errorBody(outcome.error) : wireTurn(served[i]!, outcome.turn);
      });
      return { results };
    },
  ),
];

function isStep(item: StepItem | StepOutcome): item is StepItem {
  return 'action' in item;
}

export const nativeFacade: Facade = {
  name: 'native',
  reserved: ['v1'],
  routes: [...ROUTES, ...vectorDescriptions],
  register(app: FastifyInstance, { sessions, ownerOf }: FacadeContext) {
    for (const { method, path, handle, answer } of ROUTES) {
      app[method]<{ Params: { id?: string; env?: string } }>(path, async (request, reply) => {
        const { id, env } = request.params;
        const told = await handle({ request, reply, sessions, owner: ownerOf(request), id: id ?? env ?? '' });
        void reply.status(answer.status);
        return told === undefined ? reply.send() : told;
      });
    }
    addVectorRoutes(app, new VectorTable(sessions), ownerOf);
  },
};
