// The native API: every verb the sessions have, as JSON over HTTP, and batches of rows in binary.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RawData, WebSocket } from 'ws';
import { z } from 'zod';
import { reverieError } from '../../../core/errors.js';
import type { Servable } from '../../../run/serving/index.js';
import type { Owner, Sessions, StepItem } from '../../core/session-contract.js';
import { SPLITS, splitsOf } from '../../core/task-choice.js';
import { decodeAction } from '../../core/values.js';
import type { Facade, FacadeContext } from '../../http/facade.js';
import { checkedBody, parseJson } from '../../http/request-guards.js';

import { type Rows, type VectorSession, VectorTable } from '../../vector/vector-table.js';

import {
  environmentCard,
  environmentSchema,
  environmentsSchema,
  servedAs,
  taskCards,
  tasksSchema,
} from './environment-card.js';
import { sessionRoutes } from './session-routes.js';
import {
  groupBody,
  groupSchema,
  manyStepsBody,
  type NativeRoute,
  resultsSchema,
  wireError,
  wireSession,
  wireTurn,
} from './session-wire.js';
import {
  BINARY_TYPES,
  encodedRows,
  JSON_TYPE,
  MESSAGE_TYPE,
  packed,
  ROWS_TYPE,
  type RowsFormat,
  stepOfBytes,
  stepOfJson,
  stepOfMessage,
  unpacked,
} from './vector-formats.js';

import { socketRoute, vectorRoutes } from './vector-routes.js';
import { resetRows } from './vector-wire.js';

// Routes for many sessions at once: groups that start from one state, and steps in one request.

const openGroup: NativeRoute = {
  method: 'post',
  path: '/v1/groups',
  tag: 'Many at once',
  summary: 'Open sessions that start from one state',
  description: 'For learners that compare several tries at the same start (GRPO). All of them open, or none.',
  body: { schema: groupBody, example: { env: 'pendulum', count: 8, seed: 1 } },
  answer: { status: 201, description: 'The sessions, reset', schema: groupSchema },
  async handle({ request, reply, sessions, owner }) {
    const { env, count, seeds, ...start } = checkedBody(groupBody, request.body);
    const members = await sessions.openGroup({ env, count, seeds, owner }, start);
    void reply.status(201);
    const [first] = members;
    const turn = wireTurn(sessions.environmentOf(first.session.id, owner), first.turn);
    return { sessions: members.map(({ session }) => wireSession(session)), turn };
  },
};

const stepMany: NativeRoute = {
  method: 'post',
  path: '/v1/step',
  tag: 'Many at once',
  summary: 'Step many sessions',
  description: 'One request instead of many; a step that fails does so alone. Steps of one session follow each other.',
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
    const items = steps.map((step) => itemOf(step, sessions, owner));
    const outcomes = await sessions.stepMany(
      items.flatMap((item) => ('step' in item ? [item.step] : [])),
      owner,
    );
    const taken = outcomes[Symbol.iterator]();
    const results = items.map((item) => {
      if ('error' in item) return wireError(item.error);
      const outcome = taken.next().value!;
      return 'turn' in outcome ? wireTurn(item.served, outcome.turn) : wireError(outcome.error);
    });
    return { results };
  },
};

const batchRoutes = [openGroup, stepMany];

type ManySteps = ReturnType<typeof manyStepsBody.parse>['steps'];

/** A step as the sessions take it, or why it is none. */
function itemOf(
  step: ManySteps[number],
  sessions: Sessions,
  owner: Owner,
): { readonly step: StepItem; readonly served: Servable } | { readonly error: unknown } {
  const { session: id, action, request_id: requestId, timeout_seconds: timeoutSeconds } = step;
  try {
    const served = sessions.environments.get(sessions.state(id, owner).env)!;
    return { served, step: { id, action: decodeAction(served, action), requestId, timeoutSeconds } };
  } catch (error) {
    return { error };
  }
}

// Routes that tell what is served.

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

const environmentRoutes = [list, get, tasks];

const ROUTES: readonly NativeRoute[] = [...environmentRoutes, ...sessionRoutes, ...batchRoutes, ...vectorRoutes];

type Params = { Params: { id?: string; env?: string } };

export const nativeFacade: Facade = {
  name: 'native',
  reserved: ['v1'],
  routes: [...ROUTES, socketRoute],
  register(app: FastifyInstance, { sessions, ownerOf }: FacadeContext) {
    const vectors = new VectorTable(sessions);
    app.addHook('onClose', () => vectors.end());
    for (const type of BINARY_TYPES) {
      app.addContentTypeParser(type, { parseAs: 'buffer' }, (_, body, done) => done(null, body));
    }
    for (const { method, path, handle } of ROUTES) {
      app[method]<Params>(path, async (request, reply) => {
        const { id, env } = request.params;
        const asked = { request, reply, sessions, vectors, owner: ownerOf(request), id: id ?? env ?? '' };
        const answer = await handle(asked);
        return answer === undefined ? reply.send() : answer;
      });
    }
    const sessionOf = (request: FastifyRequest) => {
      return vectors.get((request.params as { id: string }).id, ownerOf(request));
    };
    // Before the connection is a WebSocket: there is an answer then, with a status.
    const preValidation = async (request: FastifyRequest) => void sessionOf(request);
    app.get(socketRoute.path, { websocket: true, preValidation }, (socket, request) =>
      serveRows(socket, request, () => sessionOf(request)),
    );
  },
};

// A vector session over a WebSocket: text messages are JSON, binary ones MessagePack; with ?format=rows a binary message
// is nothing but the actions of a step, and is answered by a frame of rows. Each is answered in the order it came.

/** Messages that may wait for their answers; a client with more in flight is not reading them. */
const MAX_WAITING = 64;
/** RFC 6455, 7.4.1: a message that goes against a policy. */
const POLICY = 1008;

/** @param sessionNow  throws once it is closed */
function serveRows(socket: WebSocket, request: FastifyRequest, sessionNow: () => VectorSession): void {
  const isRaw = (request.query as { format?: string }).format === 'rows';
  let queue: Promise<void> = Promise.resolve();
  let waiting = 0;
  socket.on('message', (data: RawData, isBinary: boolean) => {
    if (waiting >= MAX_WAITING) return socket.close(POLICY, 'too many messages wait for their answers');
    waiting++;
    const format = !isBinary ? JSON_TYPE : isRaw ? ROWS_TYPE : MESSAGE_TYPE;
    queue = queue
      .then(() => answered(data as Buffer, format, sessionNow))
      .then((answer) => {
        waiting--;
        socket.send(answer);
      });
  });
}

async function answered(data: Buffer, format: RowsFormat, sessionNow: () => VectorSession): Promise<Buffer | string> {
  try {
    const session = sessionNow();
    const answer = encodedRows(await rowsFor(data, format, session), format, session);
    return Buffer.isBuffer(answer) ? answer : JSON.stringify(answer);
  } catch (error) {
    // There is no room for an error in a frame of rows: there it comes as text.
    return format === MESSAGE_TYPE ? packed(wireError(error)) : JSON.stringify(wireError(error));
  }
}

function rowsFor(data: Buffer, format: RowsFormat, session: VectorSession): Promise<Rows> {
  if (format === ROWS_TYPE) return session.step(stepOfBytes(data, session));
  const { type, ...body } = messageOf(format === JSON_TYPE ? parseJson(String(data)) : unpacked(data));
  if (type === 'reset') return resetRows(body, session);
  if (type !== 'step') throw invalid('type: expected "reset" or "step"');
  const { action, requestId } = format === JSON_TYPE ? stepOfJson(body, session) : stepOfMessage(body, session);
  return session.step(action, requestId);
}

function messageOf(message: unknown): Record<string, unknown> {
  if (typeof message === 'object' && message !== null && !Array.isArray(message)) {
    return message as Record<string, unknown>;
  }
  throw invalid('a message is an object');
}

function invalid(problem: string) {
  return reverieError('REQUEST_INVALID', { problem });
}
