// The messages of OpenEnv over one session: reset, step, state. A WebSocket has one, a request over HTTP makes one.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { ReverieError, reverieError } from '../../../core/errors.js';
import { faceOf } from '../../../kinds/registry.js';
import type { Servable } from '../../../run/serving/servable.js';
import type { Action, Owner, ResetRequest, SessionCounts, Sessions, Turn } from '../../core/session-contract.js';
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

export interface PlayerOptions {
  readonly sessions: Sessions;
  readonly served: Servable;
  readonly id: string;
  readonly owner: Owner;
  readonly replies: ReplyLimits;
}

export interface ObservationReply {
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

export class Player {
  constructor(private readonly options: PlayerOptions) {}

  get served(): Servable {
    return this.options.served;
  }

  get sessionId(): string {
    return this.options.id;
  }

  /** @throws MessageInvalid; as `Sessions.reset` */
  async reset(data: unknown, at: readonly string[], signal?: AbortSignal): Promise<ObservationReply> {
    const { sessions, id, owner, replies } = this.options;
    const request = readReset(this.served, data, at);
    return this.reply(await sessions.reset(id, { ...request, timeoutSeconds: replies.seconds }, owner, signal));
  }

  /** Steps, or lists the tools: that is no step and needs no episode. @throws MessageInvalid; as `Sessions.step` */
  async step(data: unknown, at: readonly string[], options: StepOptions = {}): Promise<ObservationReply> {
    if (isListing(data)) return this.listing(data, at);
    const action = envWire(this.served).decode(data, at);
    return this.reply(await this.act(action, options), action, data);
  }

  /** @throws as `Sessions.step` */
  act(action: Action, { signal, ...request }: StepOptions): Promise<Turn> {
    const { sessions, id, owner, replies } = this.options;
    const timeoutSeconds = Math.min(request.timeoutSeconds ?? Number.POSITIVE_INFINITY, replies.seconds);
    return sessions.step(id, { action, ...request, timeoutSeconds }, owner, signal);
  }

  state(): z.output<typeof stateSchema> {
    const { sessions, id, owner } = this.options;
    const { episodeId, stepCount, env, status, task, seed, return: sum } = sessions.state(id, owner);
    return { episode_id: episodeId, step_count: stepCount, session_id: id, env, status, task, seed, return: sum };
  }

  private reply(turn: Turn, action?: Action, data?: unknown): ObservationReply {
    const { reward, terminated, truncated } = turn;
    return { observation: envWire(this.served).observe(turn, action, data), reward, done: terminated || truncated };
  }

  private listing(data: unknown, at: readonly string[]): ObservationReply {
    checkedMessage(listTools, data, at);
    return { observation: { tools: toolCards(this.served) }, reward: null, done: this.state().status === 'done' };
  }
}

/** As in steps and ORS: keys in snake_case. */
export function toolCards(served: Servable) {
  return envWire(served).tools.map(({ name, description, parameters }) => {
    return { name, description, input_schema: parameters };
  });
}

export function isListing(data: unknown): boolean {
  return (data as { type?: unknown } | null | undefined)?.type === 'list_tools';
}

// A reply in time or none: a client of the reference gives up after 60 s and then takes a late reply for that of its next
// message, for ever. An operator's own deadline may be longer, as other protocols can wait.

export interface ReplyLimits {
  /** From the message to its reply, waiting for a slot included. */
  readonly seconds: number;
}

export const REPLY_LIMITS: ReplyLimits = { seconds: 55 };

// What may stand in a reset: the reference's seed and episode_id, and which task is begun.

const text = z.string().max(255);

/** A task by its id, or its whole card as the task routes tell it. */
const taskSchema = z.union([text, z.looseObject({ id: text })]);

export const resetSchema = z
  .looseObject({
    seed: z.int().min(0).nullish().describe('Seeds the episode: the same one, the same episode'),
    episode_id: text.nullish().describe("The caller's own name for the episode"),
    task: taskSchema.nullish().describe('A task by its id, or as the task routes tell it'),
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
      if (sessionOf(params) !== player.sessionId) throw unknownSession(params);
      throw new RpcFault(RPC_CODES.request, 'Cannot close active WebSocket-managed session via MCP method');
    },
  };
}

export interface McpHost {
  readonly sessions: Sessions;
  readonly served: Servable;
  readonly owner: Owner;
  readonly replies: ReplyLimits;
}

/** Of single requests: they name a session, or get one for themselves alone. */
export function looseMethods(host: McpHost): RpcMethods {
  return {
    'tools/list': async () => listed(host.served),
    'tools/call': async (params) => {
      if (params['session_id'] !== undefined) return called(known(host, params), params, {});
      const { player } = await opened(host, {});
      return called(player, params, {}).finally(() => closed(host, player.sessionId));
    },
    'openenv/session/create': async (params) => {
      const { player, first } = await opened(host, params);
      return { session_id: player.sessionId, observation: first.observation };
    },
    'openenv/session/close': async (params) => {
      const { sessionId } = known(host, params);
      await closed(host, sessionId);
      return { session_id: sessionId, closed: true };
    },
  };
}

function listed(served: Servable) {
  const tools = envWire(served).tools.map(({ name, description, parameters }) => {
    return { name, description, inputSchema: parameters };
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

async function opened({ sessions, served, owner, replies }: McpHost, params: Record<string, unknown>) {
  const { id } = sessions.open({ env: served.name, owner });
  const player = new Player({ sessions, served, id, owner, replies });
  try {
    return { player, first: await player.reset(params, []) };
  } catch (error) {
    await sessions.close(id, owner);
    throw error;
  }
}

async function closed({ sessions, owner }: McpHost, id: string): Promise<void> {
  await sessions.close(id, owner);
}

function known({ sessions, owner, replies }: McpHost, params: Record<string, unknown>): Player {
  const id = sessionOf(params);
  try {
    const served = sessions.environments.get(sessions.state(id, owner).env)!;
    return new Player({ sessions, served, id, owner, replies });
  } catch {
    throw unknownSession(params);
  }
}

function sessionOf({ session_id: id }: Record<string, unknown>): string {
  if (typeof id === 'string' && id !== '') return id;
  throw new RpcFault(RPC_CODES.params, "Invalid params - 'session_id' is required");
}

function unknownSession({ session_id: id }: Record<string, unknown>) {
  return new RpcFault(RPC_CODES.params, `Unknown session_id: ${id}`);
}

// `/mcp` is OpenEnv's and the official MCP endpoint's: who asks in the words of the latter is handed to it.

/** Answers a request of streamable HTTP at `/mcp`; its body was read as JSON. */
type OfficialMcp = (request: FastifyRequest, reply: FastifyReply, served: Servable) => unknown;

const answering = new WeakMap<Sessions, OfficialMcp>();

/** Says who answers the official protocol for these sessions: called by its facade as it registers. */
export function answerOfficialMcp(sessions: Sessions, answer: OfficialMcp): void {
  answering.set(sessions, answer);
}

/** Who answers this request, if it speaks the official protocol and there is somebody. */
export function officialMcp(sessions: Sessions, { method, headers, body }: FastifyRequest): OfficialMcp | undefined {
  const isOfficial =
    headers['mcp-session-id'] !== undefined ||
    headers['mcp-protocol-version'] !== undefined ||
    method === 'GET' ||
    (body as { method?: unknown } | null | undefined)?.method === 'initialize';
  return isOfficial ? answering.get(sessions) : undefined;
}

/** Seconds between pings: a session lives as long as its client answers them. */
const PING_SECONDS = 30;
const NORMAL = 1000;

export function serveOpenEnv(
  socket: WebSocket,
  request: FastifyRequest,
  served: Servable,
  context: FacadeContext & { readonly replies: ReplyLimits },
): void {
  const { sessions, ownerOf, replies, limits } = context;
  const owner = ownerOf(request);
  const connection = new Connection(() => {
    const { id } = sessions.open({ env: served.name, owner });
    keepAlive(socket, () => sessions.touch(id, owner));
    return new Player({ sessions, served, id, owner, replies });
  });
  const answerTo = async (text: string, signal: AbortSignal): Promise<Answer> => {
    try {
      return await connection.answer(text, signal);
    } catch (error) {
      const { text: reply, ends } = errorFrame(error, sessions.counts);
      return { reply, ends };
    }
  };
  const handlers: FrameHandlers = {
    answer: async (text, signal) => {
      const { reply, ends } = await answerTo(text, signal);
      if (ends) setImmediate(() => socket.close(NORMAL));
      return reply;
    },
    failure: (error) => errorFrame(error, sessions.counts).text,
    left: async () => {
      const id = connection.player?.sessionId;
      // It may have been closed for idleness, or with the server.
      if (id !== undefined) await sessions.close(id, owner).catch(() => {});
    },
  };
  serveFrames(socket, request, handlers, limits);
}

interface Answer {
  readonly reply: string | undefined;
  readonly ends: boolean;
}

class Connection {
  player: Player | undefined;

  constructor(private readonly open: () => Player) {}

  /** @throws as its messages do */
  async answer(text: string, signal: AbortSignal): Promise<Answer> {
    const frame = readFrame(text);
    if (frame.type === 'close') return { reply: undefined, ends: true };
    this.player ??= this.open();
    return { reply: JSON.stringify(await replyTo(frame, this.player, signal)), ends: false };
  }
}

async function replyTo(frame: Exclude<Frame, { type: 'close' }>, player: Player, signal: AbortSignal) {
  if (frame.type === 'state') return { type: 'state', data: player.state() };
  if (frame.type === 'mcp') return { type: 'mcp', data: await answerRpc(frame.data, boundMethods(player, signal)) };
  const data =
    frame.type === 'reset'
      ? await player.reset(frame.data, ['data'], signal)
      : await player.step(frame.data, ['data'], { signal });
  return { type: 'observation', data };
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

// Frames of a WebSocket `/ws`: what may come in, and how errors go out. https://github.com/huggingface/OpenEnv, types.py

const data = z.record(z.string(), z.unknown());

const FRAMES = {
  reset: z.strictObject({ type: z.literal('reset'), data: data.default({}) }),
  step: z.strictObject({ type: z.literal('step'), data }),
  state: z.strictObject({ type: z.literal('state') }),
  mcp: z.strictObject({ type: z.literal('mcp'), data }),
  close: z.strictObject({ type: z.literal('close') }),
} as const;

type Frame = z.output<(typeof FRAMES)[keyof typeof FRAMES]>;

type ErrorCode =
  | 'INVALID_JSON'
  | 'UNKNOWN_TYPE'
  | 'VALIDATION_ERROR'
  | 'EXECUTION_ERROR'
  | 'CAPACITY_REACHED'
  | 'SESSION_ERROR';

/** A frame that cannot be read at all. */
class FrameRefused extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** @throws FrameRefused, MessageInvalid */
function readFrame(text: string): Frame {
  const message = parsed(text);
  if (typeof message !== 'object' || message === null || Array.isArray(message)) {
    throw new MessageInvalid([{ type: 'dict_type', loc: [], msg: 'Input should be an object', input: message }]);
  }
  const { type = '' } = message as { type?: unknown };
  if (typeof type === 'string' && Object.hasOwn(FRAMES, type)) {
    return checkedMessage<Frame>(FRAMES[type as keyof typeof FRAMES], message);
  }
  throw new FrameRefused('UNKNOWN_TYPE', `Unknown message type: ${typeof type === 'string' ? type : 'not a string'}`);
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    const { values, message } = error as ReverieError;
    throw new FrameRefused('INVALID_JSON', `Invalid JSON: ${values?.['problem'] ?? message}`);
  }
}

/** Errors that end the session, and with it the connection. */
const ENDED = new Set(['SESSION_GONE', 'SESSION_UNKNOWN', 'SERVER_DRAINING']);

interface ErrorFrame {
  readonly text: string;
  /** The session is no more. */
  readonly ends: boolean;
}

/** @param counts  of the server, told where it is full */
function errorFrame(error: unknown, counts: SessionCounts): ErrorFrame {
  const data = errorData(error, counts);
  const ends = data.code === 'SESSION_ERROR';
  return { text: JSON.stringify({ type: 'error', data }), ends };
}

function errorData(error: unknown, { active, slots }: SessionCounts): { code: ErrorCode; message: string } {
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
