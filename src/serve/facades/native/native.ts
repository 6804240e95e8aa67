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
import { VectorTable } from '../../vector/vector-table.js';
import { addVectorRoutes, vectorDescriptions } from './vector.js';

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

/** Where an episode starts. */
const start = {
  seed: z.int().min(0).optional().describe('Seeds the episode: equal seeds, equal episodes. Drawn unless given'),
  task: z.string().optional().describe('A task by id. In family vector tasks are seeds, and `seed` goes before them'),
  split: z.string().optional().describe('Split that `index` counts in: train, validation or test'),
  index: z.int().min(0).optional().describe('Which task of the split, from 0'),
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
const manyStepsBody = z.strictObject({
  steps: z
    .array(z.strictObject({ session: sessionId.describe('Which session'), ...step }))
    .min(1)
    .max(4096)
    .describe('One for each session; all run at the same time'),
});

const seeds = z
  .array(z.int().min(0))
  .optional()
  .describe('One for each: what follows in it is drawn from there. Without, all go on alike');
const snapshotBody = z.strictObject({ request_id });
const forkBody = z.strictObject({
  count: z.int().min(1).max(MAX_FORKS).default(1).describe('How many new sessions'),
  seeds,
  request_id,
});
const restoreBody = z.strictObject({
  snapshot: z.string().describe('Id of a snapshot'),
  seed: z.int().min(0).optional().describe("What follows is drawn from this instead of the snapshot's own stream"),
  request_id,
});
const groupBody = z.strictObject({
  env: openBody.shape.env,
  count: z.int().min(1).max(MAX_FORKS).describe('How many sessions'),
  seeds,
  ...start,
});
const tasksQuery = z.strictObject({
  split: z.enum(SPLITS).optional().describe('train, validation or test; the first that has tasks unless given'),
  start: z.coerce.number().int().min(0).default(0).describe('Index of the first task'),
  stop: z.coerce.number().int().min(0).optional().describe('Index after the last'),
});

// What is answered.

const rewardSum = z.number().nullable();

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
    opened_at: z.number().describe('Milliseconds since the epoch'),
    last_used_at: z.number().describe('Milliseconds since the epoch'),
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
    split: z.enum(['train', 'validation', 'test']),
    index: z.int().describe('Its place in the split'),
    family: z.string().optional(),
    tags: z.array(z.string()).optional(),
  })
  .meta({ id: 'Task' });
const tasksSchema = z.object({ tasks: z.array(taskSchema), total: z.int().describe('Of the split') });

function wireTurn(served: Servable, turn: Turn) {
  return {
    observation: encodeObservation(served, turn.observation),
    reward: turn.reward,
    terminated: turn.terminated,
    truncated: turn.truncated,
    info: encodeInfo(publicInfo(turn.info)),
    episode_id: turn.episodeId,
    step_count: turn.stepCount,
  };
}

function wireSession(session: SessionState) {
  const { id, env, status, episodeId, task, seed, stepCount, return: sum, parent, openedAt, lastUsedAt } = session;
  return {
    ...{ id, env, status, episode_id: episodeId, task, seed, step_count: stepCount, return: sum },
    ...(parent === undefined ? {} : { parent }),
    ...{ opened_at: openedAt, last_used_at: lastUsedAt },
  };
}

function wireSpace(space: Space) {
  return space.type === 'text' ? { type: space.type, max_length: space.maxLength } : space;
}

function environmentCard(served: Servable, { defaultEnv }: Sessions) {
  const { name, family, description, source, version, tools, observationSpace, actionSpace } = served;
  return {
    name,
    family,
    description,
    source,
    version,
    observation_space: wireSpace(observationSpace),
    action_space: wireSpace(actionSpace),
    tools: tools.map((tool) => ({ name: tool.name, description: tool.description, parameters: tool.parameters })),
    splits: splitsOf(served).map((split) => ({ name: split, tasks: tasksOf(served, split).length })),
    max_episode_steps: served.maxEpisodeSteps ?? null,
    is_default: served === defaultEnv,
  };
}

function wireTask({ id, split, family, tags }: TaskCard, index: number) {
  return { id, split, index, ...(family === undefined ? {} : { family }), ...(tags === undefined ? {} : { tags }) };
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

const ofEnvironment = { tag: 'Environments', parameters: { env: 'Name of the environment' } };
const ofSession = { tag: 'Sessions', parameters: { id: 'Id of the session' } };
const ofState = { ...ofSession, tag: 'Snapshots and forks' };
const ofMany = { tag: 'Many at once' };

const ROUTES: readonly NativeRoute[] = [
  {
    method: 'get',
    path: '/v1/environments',
    tag: ofEnvironment.tag,
    summary: 'List the environments',
    answer: {
      status: 200,
      description: 'All that are served',
      schema: z.object({ environments: z.array(environmentSchema) }),
    },
    handle({ sessions }) {
      return { environments: [...sessions.environments.values()].map((served) => environmentCard(served, sessions)) };
    },
  },
  {
    method: 'get',
    path: '/v1/environments/:env',
    ...ofEnvironment,
    summary: 'Look at an environment',
    answer: { status: 200, description: 'The environment', schema: environmentSchema },
    handle: ({ sessions, id }) => environmentCard(environmentOf(sessions, id), sessions),
  },
  {
    method: 'get',
    path: '/v1/environments/:env/tasks',
    ...ofEnvironment,
    summary: 'List tasks of a split',
    description: 'Never how a task is checked or solved.',
    query: tasksQuery,
    answer: {
      status: 200,
      description: 'Tasks in the order of the domain; in family vector they are seeds',
      schema: tasksSchema,
    },
    handle({ request, sessions, id }) {
      const served = environmentOf(sessions, id);
      const { split = splitsOf(served)[0] ?? 'train', start, stop } = checkedBody(tasksQuery, request.query);
      const all = tasksOf(served, split);
      return { tasks: all.slice(start, stop).map((task, i) => wireTask(task, start + i)), total: all.length };
    },
  },
  {
    method: 'post',
    path: '/v1/sessions',
    tag: ofSession.tag,
    summary: 'Open a session',
    description: 'It takes a slot at its first reset and is closed when nothing is asked of it for a while.',
    body: { schema: openBody, required: false, example: { env: 'pendulum' } },
    answer: { status: 201, description: 'The session', schema: sessionSchema },
    handle({ request, reply, sessions, owner }) {
      const body = checkedBody(openBody, request.body ?? {});
      void reply.status(201);
      return wireSession(sessions.open({ ...body, owner }));
    },
  },
  {
    method: 'get',
    path: '/v1/sessions',
    tag: ofSession.tag,
    summary: 'List your sessions',
    answer: { status: 200, description: 'Those of your token', schema: sessionsSchema },
    handle: ({ sessions, owner }) => ({ sessions: sessions.list(owner).map(wireSession) }),
  },
  {
    method: 'get',
    path: '/v1/sessions/:id',
    ...ofSession,
    summary: 'Look at a session',
    answer: { status: 200, description: 'The session', schema: sessionSchema },
    handle: ({ sessions, owner, id }) => wireSession(sessions.state(id, owner)),
  },
  {
    method: 'delete',
    path: '/v1/sessions/:id',
    ...ofSession,
    summary: 'Close a session',
    answer: { status: 204, description: 'It is closed and its slot is free' },
    handle: async ({ reply, sessions, owner, id }) => {
      await sessions.close(id, owner);
      void reply.status(204);
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/:id/reset',
    ...ofSession,
    summary: 'Start an episode',
    description: 'Waits for a slot where all are taken.',
    body: { schema: resetBody, required: false, example: { seed: 1 } },
    answer: { status: 200, description: 'What is seen first', schema: turnSchema },
    async handle({ request, sessions, owner, id }) {
      const { episode_id: episodeId, request_id: requestId, ...begin } = checkedBody(resetBody, request.body ?? {});
      const served = sessions.environmentOf(id, owner);
      return wireTurn(served, await sessions.reset(id, { ...begin, episodeId, requestId }, owner));
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/:id/step',
    ...ofSession,
    summary: 'Act',
    description: 'A session takes one request at a time; others wait their turn. A step that fails changes nothing.',
    body: { schema: stepBody, example: { action: [0.5] } },
    answer: { status: 200, description: 'What followed', schema: turnSchema },
    async handle({ request, sessions, owner, id }) {
      const served = sessions.environmentOf(id, owner);
      return wireTurn(served, await sessions.step(id, stepRequest(served, stepIn(request.body)), owner));
    },
  },
  {
    method: 'get',
    path: '/v1/sessions/:id/observation',
    ...ofSession,
    summary: 'See the last turn again',
    description: 'Without a step.',
    answer: { status: 200, description: 'What the last reset or step answered', schema: turnSchema },
    handle: ({ sessions, owner, id }) => wireTurn(sessions.environmentOf(id, owner), sessions.observe(id, owner)),
  },
  {
    method: 'post',
    path: '/v1/sessions/:id/touch',
    ...ofSession,
    summary: 'Say that it is still wanted',
    description: 'Keeps an idle session from being closed.',
    answer: { status: 204, description: 'Heard' },
    handle({ reply, sessions, owner, id }) {
      sessions.touch(id, owner);
      void reply.status(204);
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/:id/snapshot',
    ...ofState,
    summary: 'Keep the state',
    description: 'Under an id that is the hash of what it is. The server keeps the latest of each token.',
    body: { schema: snapshotBody, required: false, example: {} },
    answer: { status: 201, description: 'Where to come back to', schema: snapshotSchema },
    async handle({ request, reply, sessions, owner, id }) {
      const { request_id: requestId } = checkedBody(snapshotBody, request.body ?? {});
      const kept = await sessions.snapshot(id, owner, { requestId });
      void reply.status(201);
      return { id: kept.id, env: kept.env, step_count: kept.stepCount };
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/:id/restore',
    ...ofState,
    summary: 'Go back to a snapshot',
    description: 'Of the same environment, of this session or another of yours.',
    body: { schema: restoreBody, example: { snapshot: '4f0c9d0a1b2c3d4e5f60718293a4b5c6' } },
    answer: { status: 200, description: 'What is seen there', schema: turnSchema },
    async handle({ request, sessions, owner, id }) {
      const { snapshot, seed, request_id: requestId } = checkedBody(restoreBody, request.body);
      const served = sessions.environmentOf(id, owner);
      return wireTurn(served, await sessions.restore(id, snapshot, owner, { seed, requestId }));
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/:id/fork',
    ...ofState,
    summary: 'Branch into new sessions',
    description: 'Each goes on from the state of this one, on its own; each takes a slot.',
    body: { schema: forkBody, required: false, example: { count: 4 } },
    answer: { status: 201, description: 'The new sessions', schema: sessionsSchema },
    async handle({ request, reply, sessions, owner, id }) {
      const { count, seeds, request_id: requestId } = checkedBody(forkBody, request.body ?? {});
      const forks = await sessions.fork(id, count, owner, { seeds, requestId });
      void reply.status(201);
      return { sessions: forks.map(wireSession) };
    },
  },
  {
    method: 'post',
    path: '/v1/groups',
    ...ofMany,
    summary: 'Open sessions that start from one state',
    description: 'For learners that compare several tries at the same start (GRPO). All of them open, or none.',
    body: { schema: groupBody, example: { env: 'pendulum', count: 8, seed: 1 } },
    answer: { status: 201, description: 'The sessions, reset', schema: groupSchema },
    async handle({ request, reply, sessions, owner }) {
      const { env, count, seeds, ...begin } = checkedBody(groupBody, request.body);
      const members = await sessions.openGroup({ env, count, seeds, owner }, begin);
      void reply.status(201);
      const [first] = members;
      const turn = wireTurn(sessions.environmentOf(first.session.id, owner), first.turn);
      return { sessions: members.map(({ session }) => wireSession(session)), turn };
    },
  },
  {
    method: 'post',
    path: '/v1/step',
    ...ofMany,
    summary: 'Step many sessions',
    description:
      'One request instead of many; a step that fails does so alone. Steps of one session follow each other.',
    body: {
      schema: manyStepsBody,
      example: {
        steps: [
          { session: 'a', action: [0.5] },
          { session: 'b', action: [-0.5] },
        ],
      },
    },
    answer: { status: 200, description: 'A turn or an error for each step', schema: resultsSchema },
    async handle({ request, sessions, owner }) {
      const { steps } = checkedBody(manyStepsBody, request.body);
      const items = steps.map(({ session: id, ...body }): StepItem | StepOutcome => {
        try {
          return { id, ...stepRequest(sessions.environmentOf(id, owner), body) };
        } catch (error) {
          return { id, error };
        }
      });
      const served = items.map(({ id }, i) => ('error' in items[i] ? undefined : sessions.environmentOf(id, owner)));
      const taken = (await sessions.stepMany(items.filter(isStep), owner)).values();
      const results = items.map((item, i) => {
        const outcome = isStep(item) ? taken.next().value! : item;
        return 'error' in outcome ? errorBody(outcome.error) : wireTurn(served[i]!, (outcome as { turn: Turn }).turn);
      });
      return { results };
    },
  },
];

function isStep(item: StepItem | StepOutcome): item is StepItem {
  return 'action' in item;
}

export const nativeFacade: Facade = {
  name: 'native',
  reserved: ['v1'],
  routes: [...ROUTES, ...vectorDescriptions],
  register(app: FastifyInstance, { sessions, ownerOf }: FacadeContext) {
    for (const { method, path, handle } of ROUTES) {
      app[method]<{ Params: { id?: string; env?: string } }>(path, async (request, reply) => {
        const { id, env } = request.params;
        const answer = await handle({ request, reply, sessions, owner: ownerOf(request), id: id ?? env ?? '' });
        return answer === undefined ? reply.send() : answer;
      });
    }
    addVectorRoutes(app, new VectorTable(sessions), ownerOf);
  },
};
