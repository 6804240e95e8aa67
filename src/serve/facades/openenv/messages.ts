// The messages of OpenEnv over one session: reset, step, state, and the methods it has of MCP. A WebSocket has one session, a
// request over HTTP names one or has one of its own.

import type { FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { ReverieError, reverieError } from '../../../core/errors.js';
import { faceOf } from '../../../kinds/registry.js';
import type { Servable } from '../../../run/servable.js';
import type { Owner, ResetRequest, SessionCounts, Turn } from '../../core/session-contract.js';
import type { Sessions } from '../../core/sessions.js';
import { resetOf, splitsOf } from '../../core/tasks.js';
import type { FacadeContext } from '../../http/openapi.js';
import { parseJson } from '../../http/requests.js';
import { type FrameHandlers, serveFrames } from '../../http/sockets.js';
import {
  answerRpc,
  checkedMessage,
  envWire,
  fieldInvalid,
  MessageInvalid,
  RPC_CODES,
  RpcFault,
  type RpcMethods,
} from './wire.js';

/**
 * A reply in time or none: a client of the reference gives up after 60 s and then takes a late reply for that of its next
 * message, for ever. An operator's own deadline may be longer, as other protocols can wait.
 */
export interface ReplyLimits {
  /** From the message to its reply, waiting for a slot included. */
  readonly seconds: number;
}

export const REPLY_LIMITS: ReplyLimits = { seconds: 55 };

export type OpenEnvContext = FacadeContext & { readonly replies: ReplyLimits };

interface PlayerOptions {
  readonly sessions: Sessions;
  readonly served: Servable;
  readonly id: string;
  readonly owner: Owner;
  readonly replies: ReplyLimits;
}

interface ObservationReply {
  readonly observation: Readonly<Record<string, unknown>>;
  readonly reward: number | null;
  readonly done: boolean;
}

export interface StepOptions {
  readonly signal?: AbortSignal;
  readonly requestId?: string;
  readonly timeoutSeconds?: number;
}

export const stateSchema = z
  .object({
    episode_id: z.string().nullable().describe('null before the first reset'),
    step_count: z.int().min(0).describe('Steps taken in the episode'),
    session_id: z.string().describe('Its name in the native API'),
    env: z.string(),
    status: z.enum(['idle', 'running', 'done']),
    task: z.string().nullable().describe('Id of the task'),
    seed: z.int().nullable(),
    return: z.number().nullable().describe('Sum of rewards; null where one could not be told'),
  })
  .meta({ title: 'State' });

const listTools = z.strictObject({
  type: z.literal('list_tools'),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

export function isListing(data: unknown): boolean {
  return (data as { type?: unknown } | null | undefined)?.type === 'list_tools';
}

export class Player {
  readonly served: Servable;
  readonly sessionId: string;

  constructor(private readonly options: PlayerOptions) {
    this.served = options.served;
    this.sessionId = options.id;
  }

  /** @throws MessageInvalid; as `Sessions.reset` */
  async reset(data: unknown, at: readonly string[], signal?: AbortSignal): Promise<ObservationReply> {
    const { sessions, id, owner, replies } = this.options;
    const request = readReset(this.served, data, at);
    const turn = await sessions.reset(id, { ...request, timeoutSeconds: replies.seconds }, owner, signal);
    return replyOf(turn, envWire(this.served).observe(turn));
  }

  /** Steps, or lists the tools: that is no step and needs no episode. @throws MessageInvalid; as `Sessions.step` */
  async step(data: unknown, at: readonly string[], options: StepOptions = {}): Promise<ObservationReply> {
    const { sessions, id, owner, replies } = this.options;
    const wire = envWire(this.served);
    if (isListing(data)) {
      checkedMessage(listTools, data, at);
      // As in steps and ORS: keys in snake_case.
      const tools = wire.tools.map(({ name, description, parameters: input_schema }) => {
        return { name, description, input_schema };
      });
      return { observation: { tools }, reward: null, done: this.state().status === 'done' };
    }
    const action = wire.decode(data, at);
    const { signal, requestId } = options;
    const timeoutSeconds = Math.min(options.timeoutSeconds ?? Number.POSITIVE_INFINITY, replies.seconds);
    const turn = await sessions.step(id, { action, requestId, timeoutSeconds }, owner, signal);
    return replyOf(turn, wire.observe(turn, action, data));
  }

  state(): z.output<typeof stateSchema> {
    const { sessions, id, owner } = this.options;
    const { episodeId, stepCount, env, status, task, seed, return: sum } = sessions.state(id, owner);
    return { episode_id: episodeId, step_count: stepCount, session_id: id, env, status, task, seed, return: sum };
  }
}

function replyOf({ reward, terminated, truncated }: Turn, observation: ObservationReply['observation']) {
  return { observation, reward, done: terminated || truncated };
}

// What may stand in a reset: the reference's seed and episode_id, and which task is begun.

const text = z.string().max(255);

export const resetSchema = z
  .looseObject({
    seed: z.int().min(0).nullish().describe('Seeds the episode: the same one, the same episode'),
    episode_id: text.nullish().describe("The caller's own name for the episode"),
    task: z
      .union([text, z.looseObject({ id: text })])
      .nullish()
      .describe('A task by its id, or as the task routes tell it'),
    task_id: text.nullish().describe('The same by its id'),
    id: text.nullish().describe("The same, as a task's own keys may be given"),
    split: text.nullish().describe('train, validation or test'),
    index: z.int().min(0).nullish().describe('Place of the task within its split'),
    from_snapshot: text.nullish().describe('Goes on from a snapshot of the native API instead of starting a task'),
  })
  .describe('How an episode begins');

const KNOWN: ReadonlyMap<string, string> = new Map(
  Object.keys(resetSchema.shape).map((key) => [withoutPunctuation(key), key]),
);

/**
 * Keys that no episode knows are dropped, as by the reference; but one that is ours in other letters is refused, as an
 * episode of another task than was meant would go unseen.
 * @throws MessageInvalid, TASK_NOT_CHOSEN
 */
function readReset(served: Servable, data: unknown, at: readonly string[]): ResetRequest {
  const read = checkedMessage(resetSchema, data, at);
  for (const key of Object.keys(read)) {
    const meant = KNOWN.get(withoutPunctuation(key));
    if (meant !== undefined && meant !== key) throw fieldInvalid([...at, key], `It is called "${meant}"`, read[key]);
  }
  const { seed, episode_id: episodeId, task, task_id: taskId, id, split, index, from_snapshot: snapshot } = read;
  const named = (typeof task === 'object' ? task?.id : task) ?? taskId ?? id ?? undefined;
  const place = { split: split ?? undefined, index: index ?? undefined, from_snapshot: snapshot ?? undefined };
  const wanted = faceOf(served).tasks === 'seed' ? seedOf(served, seed, named) : { seed: seed ?? undefined, id: named };
  return { ...resetOf(served, { ...place, ...wanted }), episodeId: episodeId ?? undefined };
}

/** There a task is a seed, called `seed-N`. @throws TASK_NOT_CHOSEN */
function seedOf(served: Servable, seed: number | null | undefined, named: string | undefined) {
  if (seed !== null && seed !== undefined) return { seed };
  if (named === undefined) return {};
  const [, digits] = /^seed-(\d{1,15})$/.exec(named) ?? [];
  if (digits !== undefined) return { seed: Number(digits) };
  const splits = splitsOf(served).join(', ');
  throw reverieError('TASK_NOT_CHOSEN', { index: `"${named}"`, split: 'any', env: served.name, splits });
}

/** `taskId`, `task-id` and `Task_ID` are one. */
function withoutPunctuation(key: string): string {
  return key.toLowerCase().replace(/[^a-z]/g, '');
}

// The methods OpenEnv has of MCP: tools/list and tools/call, and openenv/session/create and close, as plain requests have no
// session of their own. (The official protocol, with `initialize`, is another facade's.)

const callSchema = z.looseObject({
  name: z.string().optional(),
  arguments: z.record(z.string(), z.unknown()).default({}),
});

/** Of a connection that has a session. @param begins  whether the first call begins an episode where none was */
export function boundMethods(player: Player, signal?: AbortSignal, begins = false): RpcMethods {
  return {
    'tools/list': async () => listed(player.served),
    'tools/call': async (params) => {
      if (begins && player.state().status === 'idle') await player.reset({}, [], signal);
      return called(player, params, { signal });
    },
    'openenv/session/create': async () => ({ session_id: player.sessionId }),
    'openenv/session/close': async (params) => {
      if (sessionIn(params) !== player.sessionId) throw unknownSession(params);
      throw new RpcFault(RPC_CODES.request, 'Cannot close active WebSocket-managed session via MCP method');
    },
  };
}

/** Of single requests: they name a session, or get one for themselves alone. */
export function looseMethods(host: Omit<PlayerOptions, 'id'>): RpcMethods {
  const { sessions, served, owner } = host;
  const known = (params: Record<string, unknown>) => {
    const id = sessionIn(params);
    try {
      return new Player({ ...host, served: sessions.environmentOf(id, owner), id });
    } catch {
      throw unknownSession(params);
    }
  };
  const opened = async (params: Record<string, unknown>) => {
    const { id } = sessions.open({ env: served.name, owner });
    const player = new Player({ ...host, id });
    try {
      return { player, first: await player.reset(params, []) };
    } catch (error) {
      await sessions.close(id, owner);
      throw error;
    }
  };
  return {
    'tools/list': async () => listed(served),
    'tools/call': async (params) => {
      if (params['session_id'] !== undefined) return called(known(params), params, {});
      const { player } = await opened({});
      return called(player, params, {}).finally(() => sessions.close(player.sessionId, owner));
    },
    'openenv/session/create': async (params) => {
      const { player, first } = await opened(params);
      return { session_id: player.sessionId, observation: first.observation };
    },
    'openenv/session/close': async (params) => {
      const { sessionId } = known(params);
      await sessions.close(sessionId, owner);
      return { session_id: sessionId, closed: true };
    },
  };
}

function listed(served: Servable) {
  const tools = envWire(served).tools.map(({ name, description, parameters: inputSchema }) => {
    return { name, description, inputSchema };
  });
  return { tools };
}

/** The result of MCP, with `data` for OpenEnv's client and what MCP has no word for in `_meta`. */
async function called(player: Player, params: Record<string, unknown>, options: StepOptions) {
  const { name, arguments: given } = checkedMessage(callSchema, params);
  if (!name) throw new RpcFault(RPC_CODES.params, "Missing 'name' in params");
  if (!envWire(player.served).tools.some((tool) => tool.name === name)) {
    throw new RpcFault(RPC_CODES.params, `Tool not found: ${name}`);
  }
  const { observation, reward, done } = await player.step({ tool_name: name, arguments: given }, [], options);
  const { tool_name: _, result, error, ...rest } = observation as Record<string, never>;
  const { data, is_error: failed = false } = result ?? { data: (error as { message: string }).message, is_error: true };
  return {
    content: [{ type: 'text', text: data }],
    data,
    isError: failed,
    _meta: { reward, done, ...(rest as object) },
  };
}

function sessionIn({ session_id: id }: Record<string, unknown>): string {
  if (typeof id === 'string' && id !== '') return id;
  throw new RpcFault(RPC_CODES.params, "Invalid params - 'session_id' is required");
}

function unknownSession({ session_id: id }: Record<string, unknown>) {
  return new RpcFault(RPC_CODES.params, `Unknown session_id: ${id}`);
}

// WebSocket `/ws`: one connection, one session. One reply for each message, in order; an error leaves the connection usable.
// https://github.com/huggingface/OpenEnv, types.py

/** Seconds between pings: a session lives as long as its client answers them. */
const PING_SECONDS = 30;
const NORMAL = 1000;

const data = z.record(z.string(), z.unknown());
const FRAMES = {
  reset: z.strictObject({ type: z.literal('reset'), data: data.default({}) }),
  step: z.strictObject({ type: z.literal('step'), data }),
  state: z.strictObject({ type: z.literal('state') }),
  mcp: z.strictObject({ type: z.literal('mcp'), data }),
  close: z.strictObject({ type: z.literal('close') }),
} as const;

type Frame = z.output<(typeof FRAMES)[keyof typeof FRAMES]>;

export function serveOpenEnv(
  socket: WebSocket,
  request: FastifyRequest,
  served: Servable,
  { sessions, ownerOf, replies, limits }: OpenEnvContext,
): void {
  const owner = ownerOf(request);
  let player: Player | undefined;
  const opened = () => {
    const { id } = sessions.open({ env: served.name, owner });
    keepAlive(socket, () => sessions.touch(id, owner));
    return new Player({ sessions, served, id, owner, replies });
  };
  const handlers: FrameHandlers = {
    async answer(message, signal) {
      try {
        const frame = readFrame(message);
        if (frame.type === 'close') {
          setImmediate(() => socket.close(NORMAL));
          return undefined;
        }
        player ??= opened();
        return JSON.stringify(await replyTo(frame, player, signal));
      } catch (error) {
        const problem = errorData(error, sessions.counts);
        if (problem.code === 'SESSION_ERROR') setImmediate(() => socket.close(NORMAL));
        return JSON.stringify({ type: 'error', data: problem });
      }
    },
    failure: (error) => JSON.stringify({ type: 'error', data: errorData(error, sessions.counts) }),
    left: async () => {
      // It may have been closed for idleness, or with the server.
      if (player !== undefined) await sessions.close(player.sessionId, owner).catch(() => {});
    },
  };
  serveFrames(socket, request, handlers, limits);
}

async function replyTo(frame: Exclude<Frame, { type: 'close' }>, player: Player, signal: AbortSignal) {
  if (frame.type === 'state') return { type: 'state', data: player.state() };
  if (frame.type === 'mcp') return { type: 'mcp', data: await answerRpc(frame.data, boundMethods(player, signal)) };
  const answer =
    frame.type === 'reset'
      ? await player.reset(frame.data, ['data'], signal)
      : await player.step(frame.data, ['data'], { signal });
  return { type: 'observation', data: answer };
}

/** A client that answers pings, or sends some, is there, however long its model thinks. */
function keepAlive(socket: WebSocket, touch: () => void): void {
  const beat = () => {
    try {
      touch();
    } catch {
      // The session is gone; the client is told so when it asks.
    }
  };
  const timer = setInterval(() => socket.ping(), PING_SECONDS * 1000).unref();
  socket.on('pong', beat);
  socket.on('ping', beat);
  socket.on('close', () => clearInterval(timer));
}

/** A frame that cannot be read at all. */
class FrameRefused extends Error {
  constructor(
    readonly code: 'INVALID_JSON' | 'UNKNOWN_TYPE',
    message: string,
  ) {
    super(message);
  }
}

/** @throws FrameRefused, MessageInvalid */
function readFrame(frame: string): Frame {
  let message: unknown;
  try {
    message = parseJson(frame);
  } catch (error) {
    const { values, message: problem } = error as ReverieError;
    throw new FrameRefused('INVALID_JSON', `Invalid JSON: ${values?.['problem'] ?? problem}`);
  }
  if (typeof message !== 'object' || message === null || Array.isArray(message)) {
    throw new MessageInvalid([{ type: 'dict_type', loc: [], msg: 'Input should be an object', input: message }]);
  }
  const { type = '' } = message as { type?: unknown };
  if (typeof type === 'string' && Object.hasOwn(FRAMES, type)) {
    return checkedMessage<Frame>(FRAMES[type as keyof typeof FRAMES], message);
  }
  throw new FrameRefused('UNKNOWN_TYPE', `Unknown message type: ${typeof type === 'string' ? type : 'not a string'}`);
}

/** Errors that end the session, and with it the connection. */
const ENDED = new Set(['SESSION_GONE', 'SESSION_UNKNOWN', 'SERVER_DRAINING']);

/** @param counts  of the server, told where it is full */
function errorData(error: unknown, { active, slots }: SessionCounts): { code: string; message: string } {
  if (error instanceof FrameRefused) return { message: error.message, code: error.code };
  if (error instanceof MessageInvalid) {
    return { message: error.message, code: 'VALIDATION_ERROR', ...{ errors: error.errors } };
  }
  const known = error instanceof ReverieError ? error : reverieError('SERVER_FAILED', {}, error);
  const { message, hint, code: reason } = known;
  if (reason === 'CAPACITY_REACHED') {
    return { message, code: 'CAPACITY_REACHED', ...{ active_sessions: active, max_sessions: slots } };
  }
  const code = ENDED.has(reason) ? 'SESSION_ERROR' : 'EXECUTION_ERROR';
  return { message: `${message} ${hint}`, code, ...{ reason } };
}
