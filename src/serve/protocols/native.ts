// The native API: every verb the sessions have, as JSON over HTTP, and batches of rows in binary (vector.ts).

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Space } from '../../core/environment.js';
import type { Servable } from '../../run/servable.js';
import type { Owner, SessionState, StepRequest, Turn } from '../core/session-contract.js';
import type { Sessions } from '../core/sessions.js';
import {
  decodeAction,
  encodeInfo,
  encodeObservation,
  environmentOf,
  publicInfo,
  SPLITS,
  splitsOf,
  tasksOf,
} from '../core/tasks.js';
import type { ProtocolContext, ProtocolRoutes, RouteDescription } from '../http/openapi.js';
import { checkedBody } from '../http/requests.js';
import { addVectorRoutes, vectorDescriptions } from './vector.js';

// What is taken.

const MAX_ID = 255;
const MAX_FORKS = 1024;

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
  id: z.string().min(1).max(MAX_ID).optional().describe('An id of your own; an unguessable one unless given'),
});
const resetBody = z.strictObject({
  ...start,
  episode_id: z.string().max(MAX_ID).optional().describe('Your name for the episode'),
  request_id,
});
const stepBody = z.strictObject({
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

// What is answered; docs/native-api.md says what each field means.

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

/** @throws REQUEST_INVALID */
function stepRequest(served: Servable, body: unknown): StepRequest {
  // Nothing is to be checked of an action alone: the environment tells whether it is one.
  const isAction = typeof body === 'object' && body !== null && 'action' in body && Object.keys(body).length === 1;
  const read: z.output<typeof stepBody> = isAction ? (body as { action: unknown }) : checkedBody(stepBody, body);
  const { action, request_id: requestId, timeout_seconds: timeoutSeconds } = read;
  return { action: decodeAction(served, action), requestId, timeoutSeconds };
}

// The routes.

interface Asked {
  readonly request: FastifyRequest;
  readonly sessions: Sessions;
  readonly owner: Owner;
  /** The path's `:id` or `:env`. */
  readonly id: string;
}

interface NativeRoute extends RouteDescription {
  /** Answers what is sent; undefined: nothing is. */
  handle(asked: Asked): unknown;
}

const ROUTES: readonly NativeRoute[] = [
  {
    ...{ method: 'get', path: '/v1/environments', summary: 'List the environments' },
    handle: ({ sessions }) => {
      return { environments: [...sessions.environments.values()].map((served) => environmentCard(served, sessions)) };
    },
  },
  {
    ...{ method: 'get', path: '/v1/environments/:env', summary: 'Look at an environment' },
    handle: ({ sessions, id }) => environmentCard(environmentOf(sessions, id), sessions),
  },
  {
    ...{ method: 'get', path: '/v1/environments/:env/tasks', summary: 'List tasks of a split' },
    description: 'In the order of the domain; in family vector they are seeds. Never how a task is checked or solved.',
    query: tasksQuery,
    handle({ request, sessions, id }) {
      const served = environmentOf(sessions, id);
      const { split = splitsOf(served)[0] ?? 'train', start, stop } = checkedBody(tasksQuery, request.query);
      const all = tasksOf(served, split);
      const tasks = all.slice(start, stop).map(({ id, split, family, tags }, i) => {
        return { id, split, index: start + i, family, tags };
      });
      return { tasks, total: all.length };
    },
  },
  {
    ...{ method: 'post', path: '/v1/sessions', summary: 'Open a session', status: 201 },
    description: 'It takes a slot at its first reset and is closed when nothing is asked of it for a while.',
    body: { schema: openBody, optional: true, example: { env: 'pendulum' } },
    handle: ({ request, sessions, owner }) => {
      return wireSession(sessions.open({ ...checkedBody(openBody, request.body ?? {}), owner }));
    },
  },
  {
    ...{ method: 'get', path: '/v1/sessions', summary: 'List the sessions of your token' },
    handle: ({ sessions, owner }) => ({ sessions: sessions.list(owner).map(wireSession) }),
  },
  {
    ...{ method: 'get', path: '/v1/sessions/:id', summary: 'Look at a session' },
    handle: ({ sessions, owner, id }) => wireSession(sessions.state(id, owner)),
  },
  {
    ...{ method: 'delete', path: '/v1/sessions/:id', summary: 'Close a session', status: 204 },
    handle: ({ sessions, owner, id }) => sessions.close(id, owner),
  },
  {
    ...{ method: 'post', path: '/v1/sessions/:id/reset', summary: 'Start an episode' },
    description: 'Waits for a slot where all are taken.',
    body: { schema: resetBody, optional: true, example: { seed: 1 } },
    async handle({ request, sessions, owner, id }) {
      const { episode_id: episodeId, request_id: requestId, ...begin } = checkedBody(resetBody, request.body ?? {});
      const served = sessions.environmentOf(id, owner);
      return wireTurn(served, await sessions.reset(id, { ...begin, episodeId, requestId }, owner));
    },
  },
  {
    ...{ method: 'post', path: '/v1/sessions/:id/step', summary: 'Act' },
    description: 'A session takes one request at a time; others wait their turn. A step that fails changes nothing.',
    body: { schema: stepBody, example: { action: [0.5] } },
    async handle({ request, sessions, owner, id }) {
      const served = sessions.environmentOf(id, owner);
      return wireTurn(served, await sessions.step(id, stepRequest(served, request.body), owner));
    },
  },
  {
    ...{ method: 'post', path: '/v1/sessions/:id/touch', summary: 'Keep an idle session open', status: 204 },
    handle: ({ sessions, owner, id }) => sessions.touch(id, owner),
  },
  {
    ...{ method: 'post', path: '/v1/sessions/:id/snapshot', summary: 'Keep the state', status: 201 },
    description: 'Under an id that is the hash of what it is. The server keeps the latest of each token.',
    body: { schema: snapshotBody, optional: true },
    async handle({ request, sessions, owner, id }) {
      const { request_id: requestId } = checkedBody(snapshotBody, request.body ?? {});
      const kept = await sessions.snapshot(id, owner, { requestId });
      return { id: kept.id, env: kept.env, step_count: kept.stepCount };
    },
  },
  {
    ...{ method: 'post', path: '/v1/sessions/:id/restore', summary: 'Go back to a snapshot' },
    description: 'Of the same environment, of this session or another of yours.',
    body: { schema: restoreBody, example: { snapshot: '4f0c9d0a1b2c3d4e5f60718293a4b5c6' } },
    async handle({ request, sessions, owner, id }) {
      const { snapshot, seed, request_id: requestId } = checkedBody(restoreBody, request.body);
      const served = sessions.environmentOf(id, owner);
      return wireTurn(served, await sessions.restore(id, snapshot, owner, { seed, requestId }));
    },
  },
  {
    ...{ method: 'post', path: '/v1/sessions/:id/fork', summary: 'Branch into new sessions', status: 201 },
    description: 'Each resumes from the state of this one, on its own; each takes a slot.',
    body: { schema: forkBody, optional: true, example: { count: 4 } },
    async handle({ request, sessions, owner, id }) {
      const { count, seeds, request_id: requestId } = checkedBody(forkBody, request.body ?? {});
      return { sessions: (await sessions.fork(id, count, owner, { seeds, requestId })).map(wireSession) };
    },
  },
  {
    ...{ method: 'post', path: '/v1/groups', summary: 'Open sessions that start from one state', status: 201 },
    description: 'For learners that compare several tries at the same start (GRPO). All of them open, or none.',
    body: { schema: groupBody, example: { env: 'pendulum', count: 8, seed: 1 } },
    async handle({ request, sessions, owner }) {
      const { env, count, seeds, ...begin } = checkedBody(groupBody, request.body);
      const members = await sessions.openGroup({ env, count, seeds, owner }, begin);
      const [{ session, turn }] = members;
      return {
        sessions: members.map((one) => wireSession(one.session)),
        turn: wireTurn(sessions.environmentOf(session.id, owner), turn),
      };
    },
  },
];

export const nativeDescriptions: readonly RouteDescription[] = [...ROUTES, ...vectorDescriptions];

export const nativeRoutes: ProtocolRoutes = {
  name: 'native',
  reserved: ['v1'],
  register(app: FastifyInstance, context: ProtocolContext) {
    const { sessions, ownerOf } = context;
    for (const { method, path, handle, status = 200 } of ROUTES) {
      app[method]<{ Params: { id?: string; env?: string } }>(path, async (request, reply) => {
        const { id, env } = request.params;
        const told = await handle({ request, sessions, owner: ownerOf(request), id: id ?? env ?? '' });
        void reply.status(status);
        return told === undefined ? reply.send() : told;
      });
    }
    addVectorRoutes(app, context);
  },
};
