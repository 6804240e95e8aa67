// Routes of one session: open, reset, step, look, snapshot, restore, fork, close.

import type { z } from 'zod';
import type { Servable } from '../../../run/serving/index.js';
import type { StepRequest } from '../../core/session-contract.js';
import { decodeAction } from '../../core/values.js';
import { checkedBody } from '../../http/request-guards.js';
import {
  forkBody,
  type NativeRoute,
  openBody,
  resetBody,
  restoreBody,
  sessionSchema,
  sessionsSchema,
  snapshotBody,
  snapshotSchema,
  stepBody,
  turnSchema,
  wireSession,
  wireSnapshot,
  wireTurn,
} from './session-wire.js';

const tag = 'Sessions';
const parameters = { id: 'Id of the session' };

const open: NativeRoute = {
  method: 'post',
  path: '/v1/sessions',
  tag,
  summary: 'Open a session',
  description: 'It takes a slot at its first reset and is closed when nothing is asked of it for a while.',
  body: { schema: openBody, required: false, example: { env: 'pendulum' } },
  answer: { status: 201, description: 'The session', schema: sessionSchema },
  handle({ request, reply, sessions, owner }) {
    const body = checkedBody(openBody, request.body ?? {});
    void reply.status(201);
    return wireSession(sessions.open({ ...body, owner }));
  },
};

const list: NativeRoute = {
  method: 'get',
  path: '/v1/sessions',
  tag,
  summary: 'List your sessions',
  answer: { status: 200, description: 'Those of your token', schema: sessionsSchema },
  handle: ({ sessions, owner }) => ({ sessions: sessions.list(owner).map(wireSession) }),
};

const get: NativeRoute = {
  method: 'get',
  path: '/v1/sessions/:id',
  tag,
  summary: 'Look at a session',
  parameters,
  answer: { status: 200, description: 'The session', schema: sessionSchema },
  handle: ({ sessions, owner, id }) => wireSession(sessions.state(id, owner)),
};

const close: NativeRoute = {
  method: 'delete',
  path: '/v1/sessions/:id',
  tag,
  summary: 'Close a session',
  parameters,
  answer: { status: 204, description: 'It is closed and its slot is free' },
  handle: async ({ reply, sessions, owner, id }) => {
    await sessions.close(id, owner);
    void reply.status(204);
  },
};

const reset: NativeRoute = {
  method: 'post',
  path: '/v1/sessions/:id/reset',
  tag,
  summary: 'Start an episode',
  description: 'Waits for a slot where all are taken.',
  parameters,
  body: { schema: resetBody, required: false, example: { seed: 1 } },
  answer: { status: 200, description: 'What is seen first', schema: turnSchema },
  async handle({ request, sessions, owner, id }) {
    const body = checkedBody(resetBody, request.body ?? {});
    const { episode_id: episodeId, request_id: requestId, ...start } = body;
    const served = sessions.environmentOf(id, owner);
    return wireTurn(served, await sessions.reset(id, { ...start, episodeId, requestId }, owner));
  },
};

const step: NativeRoute = {
  method: 'post',
  path: '/v1/sessions/:id/step',
  tag,
  summary: 'Act',
  description: 'A session takes one request at a time; others wait their turn. A step that fails changes nothing.',
  parameters,
  body: { schema: stepBody, example: { action: [0.5] } },
  answer: { status: 200, description: 'What followed', schema: turnSchema },
  async handle({ request, sessions, owner, id }) {
    const served = sessions.environmentOf(id, owner);
    return wireTurn(served, await sessions.step(id, stepRequest(served, request.body), owner));
  },
};

const observe: NativeRoute = {
  method: 'get',
  path: '/v1/sessions/:id/observation',
  tag,
  summary: 'See the last turn again',
  description: 'Without a step.',
  parameters,
  answer: { status: 200, description: 'What the last reset or step answered', schema: turnSchema },
  handle: ({ sessions, owner, id }) => wireTurn(sessions.environmentOf(id, owner), sessions.observe(id, owner)),
};

const touch: NativeRoute = {
  method: 'post',
  path: '/v1/sessions/:id/touch',
  tag,
  summary: 'Say that it is still wanted',
  description: 'Keeps an idle session from being closed.',
  parameters,
  answer: { status: 204, description: 'Heard' },
  handle({ reply, sessions, owner, id }) {
    sessions.touch(id, owner);
    void reply.status(204);
  },
};

const snapshot: NativeRoute = {
  method: 'post',
  path: '/v1/sessions/:id/snapshot',
  tag: 'Snapshots and forks',
  summary: 'Keep the state',
  description: 'Under an id that is the hash of what it is. The server keeps the latest of each token.',
  parameters,
  body: { schema: snapshotBody, required: false, example: {} },
  answer: { status: 201, description: 'Where to come back to', schema: snapshotSchema },
  async handle({ request, reply, sessions, owner, id }) {
    const { request_id: requestId } = checkedBody(snapshotBody, request.body ?? {});
    const kept = await sessions.snapshot(id, owner, { requestId });
    void reply.status(201);
    return wireSnapshot(kept);
  },
};

const restore: NativeRoute = {
  method: 'post',
  path: '/v1/sessions/:id/restore',
  tag: 'Snapshots and forks',
  summary: 'Go back to a snapshot',
  description: 'Of the same environment, of this session or another of yours.',
  parameters,
  body: { schema: restoreBody, example: { snapshot: '4f0c9d0a1b2c3d4e5f60718293a4b5c6' } },
  answer: { status: 200, description: 'What is seen there', schema: turnSchema },
  async handle({ request, sessions, owner, id }) {
    const { snapshot, seed, request_id: requestId } = checkedBody(restoreBody, request.body);
    const served = sessions.environmentOf(id, owner);
    return wireTurn(served, await sessions.restore(id, snapshot, owner, { seed, requestId }));
  },
};

const fork: NativeRoute = {
  method: 'post',
  path: '/v1/sessions/:id/fork',
  tag: 'Snapshots and forks',
  summary: 'Branch into new sessions',
  description: 'Each goes on from the state of this one, on its own; each takes a slot.',
  parameters,
  body: { schema: forkBody, required: false, example: { count: 4 } },
  answer: { status: 201, description: 'The new sessions', schema: sessionsSchema },
  async handle({ request, reply, sessions, owner, id }) {
    const { count, seeds, request_id: requestId } = checkedBody(forkBody, request.body ?? {});
    const forks = await sessions.fork(id, count, owner, { seeds, requestId });
    void reply.status(201);
    return { sessions: forks.map(wireSession) };
  },
};

/** @throws REQUEST_INVALID */
function stepRequest(served: Servable, body: unknown): StepRequest {
  const { action, request_id: requestId, timeout_seconds: timeoutSeconds } = stepIn(body);
  return { action: decodeAction(served, action), requestId, timeoutSeconds };
}

/** Nothing is to be checked of an action alone: what it may be is the environment's to say. @throws REQUEST_INVALID */
function stepIn(body: unknown): z.output<typeof stepBody> {
  const isAction = typeof body === 'object' && body !== null && 'action' in body && Object.keys(body).length === 1;
  return isAction ? (body as { action: unknown }) : checkedBody(stepBody, body);
}

export const sessionRoutes = [open, list, get, close, reset, step, observe, touch, snapshot, restore, fork];
