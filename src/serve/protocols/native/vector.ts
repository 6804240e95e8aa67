// Vector sessions over the native API: many environments stepped as one batch. Rows travel as JSON to look at, or as one flat
// frame that is read without a parser, all little-endian:
//
//   0   'RVR1'
//   4   uint32 n, rows
//   8   uint32 d, elements of an observation
//   12  uint32 k, rows that ended and began anew (same_step)
//   16  uint32 j, bytes of JSON at the end
//   20  float32 obs [n, d], float32 reward [n], float32 final_obs [k, d],
//       uint8 terminated [n], uint8 truncated [n], uint8 final_mask [n], JSON {"infos"?, "final_info"?} [j]

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RawData, WebSocket } from 'ws';
import { z } from 'zod';
import { reverieError } from '../../../core/errors.js';
import type { Owner } from '../../core/session-contract.js';
import { encodeInfo } from '../../core/tasks.js';
import type { FacadeContext, RouteDescription } from '../../http/openapi.js';
import { checkedBody, errorBody, parseJson } from '../../http/requests.js';
import type { Rows, VectorSession, VectorTable } from './vector-table.js';

const ROWS_TYPE = 'application/vnd.reverie.rows';

// What is taken and answered.

const request_id = z
  .string()
  .max(255)
  .optional()
  .describe("Yours: a request sent again under the same id gets the first one's answer and does nothing twice");

const autoresetMode = z
  .enum(['next_step', 'same_step', 'disabled'])
  .describe(
    "Gymnasium's AutoresetMode. next_step: the step after the end is the reset, its action ignored, its reward 0. " +
      'same_step: a row begins anew in the step that ended it, and final_obs has what it ended with. ' +
      'disabled: rows are reset with reset_mask',
  );

const openBody = z.strictObject({
  env: z.string().optional().describe('Name of an environment of family vector; the first one served unless given'),
  num_envs: z.int().min(1).max(65_536).describe('Rows: each takes a slot'),
  autoreset_mode: autoresetMode.default('next_step'),
  infos: z.boolean().default(false).describe('Whether to answer the info of every row; slower'),
});

const resetBody = z.strictObject({
  seed: z.int().min(0).optional().describe("Row i gets seed + i: Gymnasium's convention"),
  seeds: z.array(z.int().min(0).nullable()).optional().describe('By row instead; null: its stream goes on'),
  reset_mask: z.array(z.boolean()).optional().describe('By row: whether it is reset. All of them unless given'),
  request_id,
});

const numbers = z.array(z.number());
const stepBody = z.strictObject({
  action: z.union([numbers, z.array(numbers)]).describe('By row, nested or flat: num_envs × elements of an action'),
  request_id,
});
const stepQuery = z.strictObject({ request_id });

const vectorSchema = z
  .object({
    id: z.string().min(1).max(255),
    env: z.string(),
    num_envs: z.int(),
    autoreset_mode: autoresetMode,
    obs_dim: z.int().describe('Elements of an observation'),
    action_dim: z.int().describe('Elements of an action'),
    transitions: z.int().describe('Steps taken by all rows together'),
    opened_at: z.number().describe('Milliseconds since the epoch'),
    last_used_at: z.number().describe('Milliseconds since the epoch'),
  })
  .meta({ id: 'VectorSession' });

const flags = z.array(z.boolean());
const info = z.record(z.string(), z.unknown());
const rowsSchema = z
  .object({
    obs: z.array(numbers).describe('[num_envs, obs_dim]: what to act on now'),
    reward: numbers,
    terminated: flags.describe('Ended by the task'),
    truncated: flags.describe('Ended by the clock'),
    final_obs: z.array(numbers.nullable()).describe('Mode same_step: what a row that ended ended with; else null'),
    final_info: z.array(info.nullable()).describe('The same for info'),
    infos: z.array(info).optional().describe('By row, where the session was opened with infos'),
  })
  .meta({ id: 'Rows' });

function wireVector({ id, env, batch, transitions, openedAt, lastUsedAt }: VectorSession) {
  const { rows, mode, obsDim, actionDim } = batch;
  const shape = { num_envs: rows, autoreset_mode: mode, obs_dim: obsDim, action_dim: actionDim };
  return { id, env, ...shape, transitions, opened_at: openedAt, last_used_at: lastUsedAt };
}

// Requests as a session takes them.

function invalid(problem: string) {
  return reverieError('REQUEST_INVALID', { problem });
}

/** @throws REQUEST_INVALID */
function resetRows(body: unknown, session: VectorSession): Promise<Rows> {
  const { seed, seeds, reset_mask: mask, request_id: requestId } = checkedBody(resetBody, body);
  const { rows } = session.batch;
  for (const [name, given] of Object.entries({ seeds, reset_mask: mask })) {
    if (given !== undefined && given.length !== rows) throw invalid(`${name}: ${given.length} values for ${rows} rows`);
  }
  const byRow = seeds ?? (seed === undefined ? undefined : Array.from({ length: rows }, (_, row) => seed + row));
  return session.reset({ seeds: byRow, mask: mask && Uint8Array.from(mask, Number) }, requestId);
}

/** Actions as JSON has them, nested by row or flat. @throws REQUEST_INVALID */
function stepOfJson(body: unknown, session: VectorSession): Promise<Rows> {
  const { action, request_id: requestId } = checkedBody(stepBody, body);
  const { rows, actionDim } = session.batch;
  const nested = Array.isArray(action[0]) ? (action as number[][]) : undefined;
  if (nested !== undefined && (nested.length !== rows || nested.some((row) => row.length !== actionDim))) {
    throw sizeWrong(session, `${nested.length} rows of ${nested[0].length}`);
  }
  const flat = action.flat() as number[];
  if (flat.length !== rows * actionDim) throw sizeWrong(session, `${flat.length} numbers`);
  return session.step(Float32Array.from(flat), requestId);
}

/** As nothing but the float32 bytes [rows, actionDim]. @throws REQUEST_INVALID */
function stepOfBytes(bytes: Uint8Array, session: VectorSession, requestId?: string): Promise<Rows> {
  const length = session.batch.rows * session.batch.actionDim;
  if (bytes.byteLength !== 4 * length) throw sizeWrong(session, `${bytes.byteLength} bytes`);
  // A view needs its offset to be a multiple of four, which that of a network buffer need not be.
  const whole = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  return session.step(new Float32Array(whole.buffer as ArrayBuffer, whole.byteOffset, length), requestId);
}

function sizeWrong({ batch: { rows, actionDim } }: VectorSession, given: string) {
  const wanted = `${rows} rows of ${actionDim} (float32, row after row: ${4 * rows * actionDim} bytes)`;
  return invalid(`action: ${given} where ${wanted} are needed`);
}

// Rows as they are answered.

const HEADER = 20;

function encodedRows(rows: Rows, isBinary: boolean, session: VectorSession): Buffer | object {
  const infos = session.infos ? { infos: rows.infos.map(encodeInfo) } : {};
  if (!isBinary) return { ...jsonRows(rows), ...infos };
  const isPlain = !session.infos && rows.finalInfo.length === 0;
  return frameOf(rows, isPlain ? '' : JSON.stringify({ ...infos, final_info: rows.finalInfo.map(encodeInfo) }));
}

/** @param json  what has no place in an array */
function frameOf({ obs, reward, finalObs, terminated, truncated, finalMask }: Rows, json: string): Buffer {
  const rows = reward.length;
  const tail = Buffer.from(json);
  const floats = [obs, reward, finalObs];
  const length = HEADER + 4 * floats.reduce((sum, array) => sum + array.length, 0) + 3 * rows + tail.length;
  const frame = Buffer.allocUnsafe(length);
  frame.write('RVR1', 'latin1');
  const d = obs.length / rows;
  for (const [i, word] of [rows, d, finalObs.length / d, tail.length].entries()) frame.writeUInt32LE(word, 4 + 4 * i);
  let at = HEADER;
  for (const { buffer, byteOffset, byteLength } of [...floats, terminated, truncated, finalMask, tail]) {
    // Little-endian, as every machine that Node.js runs on by default.
    frame.set(new Uint8Array(buffer, byteOffset, byteLength), at);
    at += byteLength;
  }
  return frame;
}

function jsonRows({ obs, reward, terminated, truncated, finalMask, finalObs, finalInfo }: Rows) {
  const rowsOf = (values: Float32Array, rows: number) => {
    const size = values.length / rows;
    return Array.from({ length: rows }, (_, row) => Array.from(values.subarray(row * size, (row + 1) * size)));
  };
  /** By row; null where it did not end. */
  const ofEnded = <T>(values: readonly T[]) => {
    let next = 0;
    return Array.from(finalMask, (isFinal) => (isFinal === 1 ? values[next++] : null));
  };
  return {
    obs: rowsOf(obs, reward.length),
    reward: Array.from(reward),
    terminated: Array.from(terminated, Boolean),
    truncated: Array.from(truncated, Boolean),
    final_obs: ofEnded(rowsOf(finalObs, finalInfo.length)),
    final_info: ofEnded(finalInfo.map(encodeInfo)),
  };
}

function answered(rows: Rows, session: VectorSession, { headers }: FastifyRequest, reply: FastifyReply) {
  const isBinary = [headers.accept, headers['content-type']].some((type) => type?.includes(ROWS_TYPE));
  void reply.type(isBinary ? ROWS_TYPE : 'application/json');
  return encodedRows(rows, isBinary, session);
}

// The routes.

interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly vectors: VectorTable;
  readonly owner: Owner;
  /** Throws where the path's session is unknown. */
  readonly session: () => VectorSession;
}

interface VectorRoute extends RouteDescription {
  handle(asked: Asked): unknown;
}

const tag = 'Batches of rows';
const ofSession = { tag, parameters: { id: 'Id of the vector session' } };
const headers = { accept: `\`${ROWS_TYPE}\`: the answer is a frame of rows; else it has the form of the request` };
const rowsAnswer = {
  status: 200,
  schema: rowsSchema,
  binary: {
    [ROWS_TYPE]:
      'The bytes `RVR1`; uint32 n rows, d elements of an observation, k rows that ended (same_step), j bytes of JSON; then ' +
      'float32 obs [n, d], reward [n], final_obs [k, d]; uint8 terminated [n], truncated [n], final_mask [n]; then the JSON. ' +
      'Little-endian',
  },
};

const ROUTES: readonly VectorRoute[] = [
  {
    method: 'post',
    path: '/v1/vector',
    tag,
    summary: 'Open a vector session',
    description: 'One session of many environments of family vector, stepped together. Each row takes a slot.',
    body: { schema: openBody, example: { env: 'pendulum', num_envs: 64 } },
    answer: { status: 201, description: 'The session', schema: vectorSchema },
    async handle({ request, reply, owner, vectors }) {
      const { num_envs: rows, autoreset_mode: mode, ...rest } = checkedBody(openBody, request.body);
      const opened = await vectors.open({ ...rest, rows, mode, owner });
      void reply.status(201);
      return wireVector(opened);
    },
  },
  {
    method: 'get',
    path: '/v1/vector',
    tag,
    summary: 'List your vector sessions',
    answer: { status: 200, description: 'Those of your token', schema: z.object({ sessions: z.array(vectorSchema) }) },
    handle: ({ owner, vectors }) => ({ sessions: vectors.list(owner).map(wireVector) }),
  },
  {
    method: 'get',
    path: '/v1/vector/:id',
    ...ofSession,
    summary: 'Look at a vector session',
    answer: { status: 200, description: 'The session', schema: vectorSchema },
    handle: ({ session }) => wireVector(session()),
  },
  {
    method: 'delete',
    path: '/v1/vector/:id',
    ...ofSession,
    summary: 'Close a vector session',
    answer: { status: 204, description: 'It is closed and its slots are free' },
    async handle({ reply, owner, session, vectors }) {
      await vectors.close(session().id, owner);
      void reply.status(204);
    },
  },
  {
    method: 'post',
    path: '/v1/vector/:id/reset',
    ...ofSession,
    summary: 'Start episodes',
    description: 'Of all rows, or of those in `reset_mask`. A row that never had a seed gets its number as one.',
    headers,
    body: { schema: resetBody, required: false, example: { seed: 1 } },
    answer: { ...rowsAnswer, description: 'What is seen' },
    async handle({ request, reply, session }) {
      const one = session();
      return answered(await resetRows(request.body ?? {}, one), one, request, reply);
    },
  },
  {
    method: 'post',
    path: '/v1/vector/:id/step',
    ...ofSession,
    summary: 'Step all rows',
    description:
      'Where an action lies outside its space, or a row has to be reset first, nothing is stepped. ' +
      'The same messages go over a WebSocket, `/v1/vector/{id}/ws`.',
    headers,
    query: stepQuery,
    body: {
      schema: stepBody,
      example: { action: [[0.5], [-0.5]] },
      binary: {
        [ROWS_TYPE]: 'Nothing but little-endian float32 [num_envs, action_dim]; `request_id` goes in the query',
      },
    },
    answer: { ...rowsAnswer, description: 'What followed' },
    async handle({ request, reply, session }) {
      const one = session();
      const { body, query } = request;
      const rows = Buffer.isBuffer(body)
        ? stepOfBytes(body, one, checkedBody(stepQuery, query).request_id)
        : stepOfJson(body, one);
      return answered(await rows, one, request, reply);
    },
  },
];

const socketRoute: RouteDescription = {
  method: 'get',
  path: '/v1/vector/:id/ws',
  ...ofSession,
  summary: 'Reset and step over a WebSocket',
  description:
    'Text messages are JSON: the bodies of reset and step with `type` "reset" or "step". A binary message is the float32 ' +
    'bytes of a step, and a frame of rows answers it. Each message is answered, in the order they came; the session ' +
    'outlives the connection.',
  answer: { status: 101, description: 'The connection is a WebSocket' },
};

export const vectorDescriptions: readonly RouteDescription[] = [...ROUTES, socketRoute];

export function addVectorRoutes(app: FastifyInstance, vectors: VectorTable, ownerOf: FacadeContext['ownerOf']): void {
  app.addHook('onClose', () => vectors.end());
  app.addContentTypeParser(ROWS_TYPE, { parseAs: 'buffer' }, (_, body, done) => done(null, body));
  const sessionOf = (request: FastifyRequest) => vectors.get((request.params as { id: string }).id, ownerOf(request));
  for (const { method, path, handle } of ROUTES) {
    app[method](path, async (request, reply) => {
      const session = () => sessionOf(request);
      const answer = await handle({ request, reply, vectors, owner: ownerOf(request), session });
      return answer === undefined ? reply.send() : answer;
    });
  }
  // Before the connection is a WebSocket: there is an answer then, with a status.
  const preValidation = async (request: FastifyRequest) => void sessionOf(request);
  app.get(socketRoute.path, { websocket: true, preValidation }, (socket, request) =>
    serveRows(socket, () => sessionOf(request)),
  );
}

/** Messages that may wait for their answers; a client with more in flight is not reading them. */
const MAX_WAITING = 64;
/** RFC 6455, 7.4.1: a message that goes against a policy. */
const POLICY = 1008;

/** @param sessionNow  throws once it is closed */
function serveRows(socket: WebSocket, sessionNow: () => VectorSession): void {
  let queue: Promise<void> = Promise.resolve();
  let waiting = 0;
  const answer = async (data: Buffer, isBinary: boolean) => {
    try {
      const session = sessionNow();
      const rows = isBinary ? stepOfBytes(data, session) : rowsOfText(String(data), session);
      const encoded = encodedRows(await rows, isBinary, session);
      return Buffer.isBuffer(encoded) ? encoded : JSON.stringify(encoded);
    } catch (error) {
      return JSON.stringify(errorBody(error));
    }
  };
  socket.on('message', (data: RawData, isBinary: boolean) => {
    if (waiting >= MAX_WAITING) return socket.close(POLICY, 'too many messages wait for their answers');
    waiting++;
    queue = queue
      .then(() => answer(data as Buffer, isBinary))
      .then((text) => {
        waiting--;
        socket.send(text);
      });
  });
}

function rowsOfText(text: string, session: VectorSession): Promise<Rows> {
  const message = parseJson(text);
  if (typeof message !== 'object' || message === null || Array.isArray(message)) {
    throw invalid('a message is an object');
  }
  const { type, ...body } = message as Record<string, unknown>;
  if (type === 'reset') return resetRows(body, session);
  if (type === 'step') return stepOfJson(body, session);
  throw invalid('type: expected "reset" or "step"');
}
