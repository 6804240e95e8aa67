// OpenEnv, for TRL, verifiers, AgileRL, Unsloth and all else that has its clients: a WebSocket with a session each, and HTTP:
// /reset, /health, /metadata, /schema, /mcp; for each environment under /envs/NAME too.
// https://github.com/huggingface/OpenEnv (core/env_server)

import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { ReverieError, reverieError } from '../../../core/errors.js';
import { faceOf } from '../../../kinds/registry.js';
import type { Servable } from '../../../run/servable.js';
import type { Owner, ResetRequest, SessionCounts, Turn } from '../../core/session-contract.js';
import type { Sessions } from '../../core/sessions.js';
import { environmentByName, resetOf, splitsOf } from '../../core/tasks.js';
import { type Facade, type FacadeContext, openApiDocument, type RouteDescription } from '../../http/openapi.js';
import { parseJson, sayWhenToRetry } from '../../http/requests.js';
import { type FrameHandlers, serveFrames } from '../../http/sockets.js';
import { answerRpc, RPC_CODES, RpcFault, type RpcMethods, rpcFailure } from './rpc.js';
import { checkedMessage, envWire, fieldInvalid, MessageInvalid } from './wire.js';

/**
 * Seconds from a message to its reply, waiting for a slot included. A client of the reference gives up after 60 and then takes
 * a late reply for that of its next message, for ever. An operator's own deadline may be longer, as other protocols can wait.
 */
const REPLY_SECONDS = 55;

type Context = FacadeContext & { readonly replySeconds: number };

interface ObservationReply {
  readonly observation: Readonly<Record<string, unknown>>;
  readonly reward: number | null;
  readonly done: boolean;
}

const stateSchema = z
  .object({
    episode_id: z.string().nullable().describe('null before the first reset'),
    step_count: z.int().min(0).describe('Steps taken in the episode'),
    session_id: z.string().describe('Its name in the native API'),
    env: z.string(),
    status: z.enum(['idle', 'running', 'done']),
    task: z.string().nullable().describe('Id of the task'),
    seed: z.int().nullable(),
    return: z.number().nullable().describe('Sum of rewards; null where one could not be judged'),
  })
  .meta({ title: 'State' });

const metadata = z.record(z.string(), z.unknown());
const listTools = z.strictObject({ type: z.literal('list_tools'), metadata: metadata.optional() });

/** Keys of the reference; further ones are taken and not looked at. */
const stepSchema = z.looseObject({ action: metadata.describe('As /schema says') });

function isListing(data: unknown): boolean {
  return (data as { type?: unknown } | null | undefined)?.type === 'list_tools';
}

/** One session, in the words of OpenEnv. */
class Player {
  constructor(
    private readonly sessions: Sessions,
    readonly served: Servable,
    readonly id: string,
    private readonly owner: Owner,
    private readonly seconds: number,
  ) {}

  /** A session of its own. @throws as `Sessions.open` */
  static open({ sessions, replySeconds }: Context, served: Servable, owner: Owner): Player {
    return new Player(sessions, served, sessions.open({ env: served.name, owner }).id, owner, replySeconds);
  }

  /** @throws MessageInvalid; as `Sessions.reset` */
  async reset(data: unknown, at: readonly string[], signal?: AbortSignal): Promise<ObservationReply> {
    const request = { ...readReset(this.served, data, at), timeoutSeconds: this.seconds };
    const turn = await this.sessions.reset(this.id, request, this.owner, signal);
    return replyOf(turn, envWire(this.served).observe(turn));
  }

  /** Steps, or lists the tools: that is no step and needs no episode. @throws MessageInvalid; as `Sessions.step` */
  async step(data: unknown, at: readonly string[], signal?: AbortSignal): Promise<ObservationReply> {
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
    const turn = await this.sessions.step(this.id, { action, timeoutSeconds: this.seconds }, this.owner, signal);
    return replyOf(turn, wire.observe(turn, action, data));
  }

  state(): z.output<typeof stateSchema> {
    const { episodeId, stepCount, env, status, task, seed, return: sum } = this.sessions.state(this.id, this.owner);
    return { episode_id: episodeId, step_count: stepCount, session_id: this.id, env, status, task, seed, return: sum };
  }

  touch(): void {
    this.sessions.touch(this.id, this.owner);
  }

  close(): Promise<void> {
    return this.sessions.close(this.id, this.owner);
  }
}

function replyOf({ reward, terminated, truncated }: Turn, observation: ObservationReply['observation']) {
  return { observation, reward, done: terminated || truncated };
}

// What may stand in a reset: the reference's seed and episode_id, and which task is begun.

const text = z.string().max(255);

const resetSchema = z
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

/** `taskId`, `task-id` and `Task_ID` are one. */
const plain = (key: string) => key.toLowerCase().replace(/[^a-z]/g, '');
const KNOWN = new Map(Object.keys(resetSchema.shape).map((key) => [plain(key), key]));

/**
 * Keys that no episode knows are dropped, as by the reference; but one that is ours in other letters is refused, as an
 * episode of another task than was meant would go unseen.
 * @throws MessageInvalid, TASK_NOT_CHOSEN
 */
function readReset(served: Servable, data: unknown, at: readonly string[]): ResetRequest {
  const read = checkedMessage(resetSchema, data, at);
  for (const key of Object.keys(read)) {
    const meant = KNOWN.get(plain(key));
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

// WebSocket `/ws`: one connection, one session. One reply for each message, in order; an error leaves the connection usable.

/** Seconds between pings: a session lives as long as its client answers them. */
const PING_SECONDS = 30;
const NORMAL = 1000;

const data = z.record(z.string(), z.unknown());
const FRAMES = {
  reset: z.strictObject({ type: z.literal('reset'), data: data.default({}) }),
  step: z.strictObject({ type: z.literal('step'), data }),
  state: z.strictObject({ type: z.literal('state') }),
  close: z.strictObject({ type: z.literal('close') }),
} as const;

type Frame = z.output<(typeof FRAMES)[keyof typeof FRAMES]>;

function serveOpenEnv(socket: WebSocket, request: FastifyRequest, served: Servable, context: Context): void {
  const { sessions, ownerOf, limits } = context;
  let player: Player | undefined;
  const opened = () => {
    const made = Player.open(context, served, ownerOf(request));
    keepAlive(socket, () => made.touch());
    return made;
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
        if (frame.type === 'state') return JSON.stringify({ type: 'state', data: player.state() });
        return JSON.stringify({ type: 'observation', data: await player[frame.type](frame.data, ['data'], signal) });
      } catch (error) {
        const problem = errorData(error, sessions.counts);
        if (problem.code === 'SESSION_ERROR') setImmediate(() => socket.close(NORMAL));
        return JSON.stringify({ type: 'error', data: problem });
      }
    },
    failure: (error) => JSON.stringify({ type: 'error', data: errorData(error, sessions.counts) }),
    // It may have been closed for idleness, or with the server.
    left: async () => player?.close().catch(() => {}),
  };
  serveFrames(socket, request, handlers, limits);
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
function errorData(error: unknown, { active, slots }: SessionCounts) {
  const { message } = error as Error;
  if (error instanceof FrameRefused) return { message, code: error.code };
  if (error instanceof MessageInvalid) return { message, code: 'VALIDATION_ERROR', errors: error.errors };
  const known = error instanceof ReverieError ? error : reverieError('SERVER_FAILED', {}, error);
  const { hint, code: reason } = known;
  if (reason === 'CAPACITY_REACHED') return { message, code: reason, active_sessions: active, max_sessions: slots };
  return { message: `${known.message} ${hint}`, code: ENDED.has(reason) ? 'SESSION_ERROR' : 'EXECUTION_ERROR', reason };
}

// HTTP. As in the reference, each request has an environment of its own, so that no episode gets beyond its first observation.

/** In an application of their own, as their errors have the reference's form. */
function httpRoutes(app: FastifyInstance, context: Context): void {
  app.setErrorHandler(answerHttpError);
  const route = (
    method: 'GET' | 'POST',
    path: string,
    handle: (served: Servable, request: FastifyRequest) => unknown,
  ) => {
    for (const url of [path, `/envs/:env${path}`]) {
      app.route({ method, url, handler: async (request) => handle(servedFor(context.sessions, request), request) });
    }
  };
  route('POST', '/reset', async (served, request) => {
    const player = Player.open(context, served, context.ownerOf(request));
    return player.reset(request.body ?? {}, ['body']).finally(() => player.close());
  });
  route('POST', '/step', async (served, request) => {
    const { action } = checkedMessage(stepSchema, request.body, ['body']);
    if (!isListing(action)) {
      envWire(served).decode(action, ['body', 'action']);
      throw reverieError('SESSION_NOT_NAMED', { what: 'a step' });
    }
    const player = Player.open(context, served, context.ownerOf(request));
    return player.step(action, ['body', 'action']).finally(() => player.close());
  });
  route('GET', '/state', () => ({ episode_id: null, step_count: 0 }));
  // The server itself answers /health.
  app.get('/envs/:env/health', () => ({ status: 'healthy' }));
  route('GET', '/metadata', ({ name, description, policy, version }) => {
    const readme_content = policy === '' ? null : policy;
    return { name, description, readme_content, version, author: null, documentation_url: null };
  });
  route('GET', '/schema', (served) => {
    const { action, observation } = envWire(served);
    return { action: jsonSchema(action), observation: jsonSchema(observation), state: jsonSchema(stateSchema) };
  });
}

function servedFor(sessions: Sessions, { params }: FastifyRequest): Servable {
  return environmentByName(sessions, (params as { env?: string }).env);
}

function jsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' });
  return json;
}

/** `{"detail"}` as FastAPI has it, and what this server says everywhere; other errors are the application's to answer. */
function answerHttpError(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof MessageInvalid) {
    void reply.status(422).send({ detail: error.errors });
    return;
  }
  if (!(error instanceof ReverieError) || error.status === 401) throw error;
  const { code, message, hint, status } = error;
  sayWhenToRetry(reply, error);
  void reply.status(status).send({ detail: `${message} ${hint}`, error: { code, message, hint } });
}

// `POST /mcp`: JSON-RPC, where a failure is an answer of status 200, with the methods OpenEnv has of MCP: tools/list and
// tools/call, and openenv/session/create and close, as requests have no session of their own. It is the official MCP
// endpoint's too: requests in the words of the latter are handed to it.

const callSchema = z.looseObject({
  name: z.string().optional(),
  arguments: z.record(z.string(), z.unknown()).default({}),
});

/** Requests name a session, or get one for themselves alone. */
function rpcMethods(context: Context, served: Servable, owner: Owner): RpcMethods {
  const { sessions, replySeconds } = context;
  const known = ({ session_id: id }: Record<string, unknown>) => {
    if (typeof id !== 'string' || id === '') {
      throw new RpcFault(RPC_CODES.params, "Invalid params - 'session_id' is required");
    }
    try {
      return new Player(sessions, sessions.environmentOf(id, owner), id, owner, replySeconds);
    } catch {
      throw new RpcFault(RPC_CODES.params, `Unknown session_id: ${id}`);
    }
  };
  const opened = async (params: Record<string, unknown>) => {
    const player = Player.open(context, served, owner);
    try {
      return { player, first: await player.reset(params, []) };
    } catch (error) {
      await player.close();
      throw error;
    }
  };
  return {
    'tools/list': async () => {
      const { tools } = envWire(served);
      return {
        tools: tools.map(({ name, description, parameters: inputSchema }) => ({ name, description, inputSchema })),
      };
    },
    'tools/call': async (params) => {
      if (params['session_id'] !== undefined) return called(known(params), params);
      const { player } = await opened({});
      return called(player, params).finally(() => player.close());
    },
    'openenv/session/create': async (params) => {
      const { player, first } = await opened(params);
      return { session_id: player.id, observation: first.observation };
    },
    'openenv/session/close': async (params) => {
      const player = known(params);
      await player.close();
      return { session_id: player.id, closed: true };
    },
  };
}

/** The result of MCP, with `data` for OpenEnv's client and what MCP has no word for in `_meta`. */
async function called(player: Player, params: Record<string, unknown>) {
  const { name, arguments: given } = checkedMessage(callSchema, params);
  if (!name) throw new RpcFault(RPC_CODES.params, "Missing 'name' in params");
  if (!envWire(player.served).tools.some((tool) => tool.name === name)) {
    throw new RpcFault(RPC_CODES.params, `Tool not found: ${name}`);
  }
  const { observation, reward, done } = await player.step({ tool_name: name, arguments: given }, []);
  const { tool_name: _, result, error, ...rest } = observation as Record<string, never>;
  const { data, is_error: failed = false } = result ?? { data: (error as { message: string }).message, is_error: true };
  const meta = { reward, done, ...(rest as object) };
  return { content: [{ type: 'text', text: data }], data, isError: failed, _meta: meta };
}

/** Answers a request of streamable HTTP at `/mcp`; its body was read as JSON. */
type OfficialMcp = (request: FastifyRequest, reply: FastifyReply, served: Servable) => unknown;

const answering = new WeakMap<Sessions, OfficialMcp>();

/** Says who answers the official protocol for these sessions: called by its facade as it registers. */
export function answerOfficialMcp(sessions: Sessions, answer: OfficialMcp): void {
  answering.set(sessions, answer);
}

/** In an application of their own, as they read bodies and tell errors in their own way. */
function mcpRoutes(app: FastifyInstance, context: Context): void {
  const { sessions, ownerOf } = context;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.setErrorHandler(answerMcpError);
  for (const url of ['/mcp', '/envs/:env/mcp']) {
    app.post(url, async (request, reply) => {
      const served = servedFor(sessions, request);
      try {
        request.body = parseJson(typeof request.body === 'string' ? request.body : '');
      } catch (error) {
        return rpcFailure(new RpcFault(RPC_CODES.parse, `Parse error: ${(error as ReverieError).message}`));
      }
      const { headers, body } = request;
      const isOfficial =
        headers['mcp-session-id'] !== undefined ||
        headers['mcp-protocol-version'] !== undefined ||
        (body as { method?: unknown } | null | undefined)?.method === 'initialize';
      const official = isOfficial ? answering.get(sessions) : undefined;
      if (official !== undefined) return official(request, reply, served);
      return answerRpc(body, rpcMethods(context, served, ownerOf(request)));
    });
    app.get(url, (request, reply) => {
      const official = answering.get(sessions);
      if (official !== undefined) return official(request, reply, servedFor(sessions, request));
      throw reverieError('ROUTE_UNKNOWN', { method: 'GET', path: request.url });
    });
  }
}

/** Bodies too large and the like: an answer too. Who may not ask at all, and paths that are not, are told as everywhere. */
function answerMcpError(error: FastifyError | ReverieError, _request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof ReverieError && [401, 403, 404, 421].includes(error.status)) throw error;
  const fault = error instanceof ReverieError ? error : new RpcFault(RPC_CODES.request, error.message);
  void reply.status(200).send(rpcFailure(fault));
}

// What /openapi.json and /docs tell of these routes.

const json = z.record(z.string(), z.unknown());
const turn = z
  .object({
    observation: json.describe('As /schema says'),
    reward: z.number().nullable().describe('Of this step; rewards of an episode sum to its return'),
    done: z.boolean(),
  })
  .meta({ id: 'OpenEnvObservation' });

function described(
  method: 'get' | 'post',
  path: string,
  summary: string,
  schema: z.ZodType | undefined,
  more: Partial<RouteDescription> = {},
): RouteDescription {
  const answer = { status: 200, description: 'The answer', schema };
  return { method, path, tag: 'OpenEnv', summary, answer, ...more };
}

/** Of one environment, beneath its own address. */
const ownDescriptions: readonly RouteDescription[] = [
  described('post', '/reset', 'See how an episode starts', turn, {
    description: 'The answer is all there is of it, as in the reference: episodes go over /ws.',
    body: { schema: resetSchema, example: { seed: 1 }, required: false },
  }),
  described('post', '/step', 'List the tools; steps go over /ws', json, {
    body: { schema: stepSchema, example: { action: { type: 'list_tools' } } },
  }),
  described('get', '/state', 'Look at the state of a new environment', json),
  described('get', '/health', 'Ask whether it runs', z.object({ status: z.literal('healthy') })),
  described('get', '/metadata', 'Look at the environment: its name, description and version', json),
  described('get', '/schema', 'Get the JSON Schemas of action, observation and state', json),
  described('post', '/mcp', 'Ask by JSON-RPC: tools/list, tools/call, openenv/session/create and close', json, {
    body: { schema: json, example: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} } },
  }),
  described('get', '/ws', 'Connect a session (WebSocket)', undefined, {
    description: 'Messages `{"type": "reset" | "step" | "state" | "close", "data"}`, one answer each.',
    answer: { status: 101, description: 'A WebSocket' },
  }),
];

/** @throws ENV_NAME_INVALID when it registers, for an environment that OpenEnv could not serve */
export function makeOpenEnvFacade(replySeconds = REPLY_SECONDS): Facade {
  const parameters = { env: 'Name of the environment' };
  const ofEach = ownDescriptions.map((one) => ({ ...one, path: `/envs/:env${one.path}`, parameters }));
  return {
    name: 'openenv',
    reserved: ['ws', 'envs', 'reset', 'step', 'state', 'metadata', 'schema', 'mcp', 'web'],
    routes: [...ownDescriptions, ...ofEach],
    async register(app, facadeContext) {
      const context = { ...facadeContext, replySeconds };
      for (const served of context.sessions.environments.values()) envWire(served);
      await app.register(async (own) => httpRoutes(own, context));
      await app.register(async (own) => mcpRoutes(own, context));
      // `openenv validate --url` of one environment looks for it beneath that.
      const document = openApiDocument(ownDescriptions, context.version);
      app.get('/envs/:env/openapi.json', () => document);
      for (const url of ['/ws', '/envs/:env/ws']) {
        // Before the connection is upgraded, so that a wrong name is an HTTP 404.
        const preValidation = async (request: FastifyRequest) => void servedFor(context.sessions, request);
        app.get(url, { websocket: true, preValidation }, (socket, request) =>
          serveOpenEnv(socket, request, servedFor(context.sessions, request), context),
        );
      }
    },
  };
}

export const openEnvFacade = makeOpenEnvFacade();
