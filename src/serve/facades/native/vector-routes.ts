// Routes of vector sessions: many environments stepped as one batch, in JSON or binary.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { RouteDescription } from '../../http/facade.js';
import { checkedBody } from '../../http/request-guards.js';
import type { Rows, VectorSession } from '../../vector/vector-table.js';
import type { NativeRoute } from './session-wire.js';
import {
  BINARY_TYPES,
  encodedRows,
  JSON_TYPE,
  MESSAGE_TYPE,
  ROWS_TYPE,
  type RowsFormat,
  type StepMessage,
  stepOfBytes,
  stepOfJson,
  stepOfMessage,
  unpacked,
} from './vector-formats.js';

import {
  openVectorBody,
  resetRows,
  resetVectorBody,
  rowsSchema,
  stepVectorBody,
  stepVectorQuery,
  vectorSchema,
  vectorsSchema,
  wireVector,
} from './vector-wire.js';

const tag = 'Batches of rows';
const parameters = { id: 'Id of the vector session' };
const headers = {
  accept: `\`${MESSAGE_TYPE}\` or \`${ROWS_TYPE}\`: what is answered comes in that form; else in that of the request`,
};

const BINARY_ANSWER = {
  [MESSAGE_TYPE]:
    'A map: `obs`, `reward`, `final_obs` as little-endian float32 bytes; `terminated`, `truncated`, `final_mask` as ' +
    'bytes 0 or 1; `final_info` and `infos` where there are any. `final_obs` and `final_info` hold the rows of `final_mask` alone',
  [ROWS_TYPE]:
    'The bytes `RVR1`; uint32 n rows, d elements of an observation, k rows that ended (same_step), j bytes of JSON; then ' +
    'float32 obs [n, d], reward [n], final_obs [k, d]; uint8 terminated [n], truncated [n], final_mask [n]; then the JSON. ' +
    'Little-endian',
};

const open: NativeRoute = {
  method: 'post',
  path: '/v1/vector',
  tag,
  summary: 'Open a vector session',
  description: 'One session of many environments of family vector, stepped together. Each row takes a slot.',
  body: { schema: openVectorBody, example: { env: 'pendulum', num_envs: 64 } },
  answer: { status: 201, description: 'The session', schema: vectorSchema },
  async handle({ request, reply, owner, vectors }) {
    const { num_envs: rows, autoreset_mode: mode, ...rest } = checkedBody(openVectorBody, request.body);
    const session = await vectors.open({ ...rest, rows, mode, owner });
    void reply.status(201);
    return wireVector(session);
  },
};

const list: NativeRoute = {
  method: 'get',
  path: '/v1/vector',
  tag,
  summary: 'List your vector sessions',
  answer: { status: 200, description: 'Those of your token', schema: vectorsSchema },
  handle: ({ owner, vectors }) => ({ sessions: vectors.list(owner).map(wireVector) }),
};

const get: NativeRoute = {
  method: 'get',
  path: '/v1/vector/:id',
  tag,
  summary: 'Look at a vector session',
  parameters,
  answer: { status: 200, description: 'The session', schema: vectorSchema },
  handle: ({ owner, id, vectors }) => wireVector(vectors.get(id, owner)),
};

const close: NativeRoute = {
  method: 'delete',
  path: '/v1/vector/:id',
  tag,
  summary: 'Close a vector session',
  parameters,
  answer: { status: 204, description: 'It is closed and its slots are free' },
  async handle({ reply, owner, id, vectors }) {
    await vectors.close(id, owner);
    void reply.status(204);
  },
};

const reset: NativeRoute = {
  method: 'post',
  path: '/v1/vector/:id/reset',
  tag,
  summary: 'Start episodes',
  description: 'Of all rows, or of those in `reset_mask`. A row that never had a seed gets its number as one.',
  parameters,
  headers,
  body: { schema: resetVectorBody, required: false, example: { seed: 1 } },
  answer: { status: 200, description: 'What is seen', schema: rowsSchema, binary: BINARY_ANSWER },
  async handle({ request, reply, owner, id, vectors }) {
    const session = vectors.get(id, owner);
    const body = Buffer.isBuffer(request.body) ? unpacked(request.body) : (request.body ?? {});
    const rows = await resetRows(body, session);
    return answered(rows, session, request, reply);
  },
};

const step: NativeRoute = {
  method: 'post',
  path: '/v1/vector/:id/step',
  tag,
  summary: 'Step all rows',
  description:
    'Where an action lies outside its space, or a row has to be reset first, nothing is stepped. ' +
    'The same messages go over a WebSocket, `/v1/vector/{id}/ws`.',
  parameters,
  headers,
  query: stepVectorQuery,
  body: {
    schema: stepVectorBody,
    example: { action: [[0.5], [-0.5]] },
    binary: {
      [MESSAGE_TYPE]: 'A map: `action`, little-endian float32 bytes [num_envs, action_dim], and `request_id` if wanted',
      [ROWS_TYPE]: 'Nothing but little-endian float32 [num_envs, action_dim]; `request_id` goes in the query',
    },
  },
  answer: { status: 200, description: 'What followed', schema: rowsSchema, binary: BINARY_ANSWER },
  async handle({ request, reply, owner, id, vectors }) {
    const session = vectors.get(id, owner);
    const { action, requestId } = stepMessage(request, session);
    return answered(await session.step(action, requestId), session, request, reply);
  },
};

/** Served by vector-socket.ts. */
export const socketRoute: RouteDescription = {
  method: 'get',
  path: '/v1/vector/:id/ws',
  tag,
  summary: 'Reset and step over a WebSocket',
  description:
    'Text messages are JSON, binary ones MessagePack: the bodies of reset and step with `type` "reset" or "step". With ' +
    '`?format=rows` a binary message is the float32 bytes of a step, and a frame of rows answers it. Each message is ' +
    'answered, in the order they came; the session outlives the connection.',
  parameters,
  query: z.strictObject({ format: z.literal('rows').optional().describe('What binary messages are') }),
  answer: { status: 101, description: 'The connection is a WebSocket' },
};

export const vectorRoutes = [open, list, get, close, reset, step];

function stepMessage({ body, headers, query }: FastifyRequest, session: VectorSession): StepMessage {
  if (!Buffer.isBuffer(body)) return stepOfJson(body, session);
  if (headers['content-type'] === MESSAGE_TYPE) return stepOfMessage(unpacked(body), session);
  const { request_id: requestId } = checkedBody(stepVectorQuery, query);
  return { action: stepOfBytes(body, session), requestId };
}

function answered(rows: Rows, session: VectorSession, { headers }: FastifyRequest, reply: FastifyReply) {
  const format = formatOf(headers.accept) ?? formatOf(headers['content-type']) ?? JSON_TYPE;
  void reply.type(format);
  return encodedRows(rows, format, session);
}

function formatOf(header: string | undefined): RowsFormat | undefined {
  return BINARY_TYPES.find((type) => header?.includes(type));
}
