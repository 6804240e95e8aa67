// OpenEnv, for TRL, verifiers, AgileRL, Unsloth and whoever else has its clients: a WebSocket with a session each, and HTTP.
// https://github.com/huggingface/OpenEnv (core/env_server), version 0.3

import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { ReverieError, reverieError } from '../../../core/errors.js';
import type { Servable } from '../../../run/serving/servable.js';
import { environmentByName } from '../../core/tasks.js';
import { type Facade, type FacadeContext, openApiDocument, type RouteDescription } from '../../http/openapi.js';
import { parseJson, sayWhenToRetry } from '../../http/requests.js';
import { type FrameHandlers, serveFrames } from '../../http/sockets.js';
import {
  boundMethods,
  isListing,
  looseMethods,
  officialMcp,
  Player,
  REPLY_LIMITS,
  type ReplyLimits,
  resetSchema,
  serveOpenEnv,
  stateSchema,
} from './messages.js';
import { answerRpc, checkedMessage, envWire, MessageInvalid, RPC_CODES, RpcFault, rpcFailure } from './wire.js';

// `POST /mcp` and the WebSocket `/mcp`, for each environment under /envs/NAME too: JSON-RPC, where a failure is an answer
// of status 200.

type Context = FacadeContext & { readonly replies: ReplyLimits };

/** Adds the routes to an application of their own, as they read bodies and tell errors in their own way. */
function mcpRoutes(app: FastifyInstance, context: Context): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.setErrorHandler(answerMcpError);
  for (const url of ['/mcp', '/envs/:env/mcp']) {
    const servedFor = ({ params }: FastifyRequest) =>
      environmentByName(context.sessions, (params as { env?: string }).env);
    app.post(url, (request, reply) => answerPost(context, servedFor(request), request, reply));
    app.route({
      method: 'GET',
      url,
      handler: (request, reply) => answerGet(context, servedFor(request), request, reply),
      wsHandler: (socket, request) => serveMcp(socket, request, servedFor(request), context),
    });
  }
}

async function answerPost(
  { sessions, ownerOf, replies }: Context,
  served: Servable,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const message = parsed(request.body);
  if (message instanceof RpcFault) return rpcFailure(message);
  request.body = message;
  const official = officialMcp(sessions, request);
  if (official !== undefined) return official(request, reply, served);
  return answerRpc(message, looseMethods({ sessions, served, owner: ownerOf(request), replies }));
}

function answerGet({ sessions }: Context, served: Servable, request: FastifyRequest, reply: FastifyReply) {
  const official = officialMcp(sessions, request);
  if (official !== undefined) return official(request, reply, served);
  throw reverieError('ROUTE_UNKNOWN', { method: 'GET', path: request.url });
}

/** A connection's first call begins an episode. */
function serveMcp(socket: WebSocket, request: FastifyRequest, served: Servable, context: Context): void {
  const { sessions, ownerOf, replies, limits } = context;
  const owner = ownerOf(request);
  let player: Player | undefined;
  const opened = () =>
    new Player({ sessions, served, id: sessions.open({ env: served.name, owner }).id, owner, replies });
  const handlers: FrameHandlers = {
    async answer(text, signal) {
      const message = parsed(text);
      if (message instanceof RpcFault) return JSON.stringify(rpcFailure(message));
      player ??= opened();
      return JSON.stringify(await answerRpc(message, boundMethods(player, signal, true)));
    },
    failure: (error) => JSON.stringify(rpcFailure(error)),
    async left() {
      if (player !== undefined) await sessions.close(player.sessionId, owner).catch(() => {});
    },
  };
  serveFrames(socket, request, handlers, limits);
}

function parsed(text: unknown): unknown {
  try {
    return parseJson(typeof text === 'string' ? text : '');
  } catch (error) {
    return new RpcFault(RPC_CODES.parse, `Parse error: ${(error as ReverieError).message}`);
  }
}

/** Bodies too large and the like: an answer too. Who may not ask at all, and paths that are not, are told as everywhere. */
function answerMcpError(error: FastifyError | ReverieError, _request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof ReverieError && [401, 403, 404, 421].includes(error.status)) throw error;
  const fault = error instanceof ReverieError ? error : new RpcFault(RPC_CODES.request, error.message);
  void reply.status(200).send(rpcFailure(fault));
}

/** Keys of the reference; further ones are taken and not looked at. */
export const stepSchema = z.looseObject({
  action: z.record(z.string(), z.unknown()).describe('As /schema says'),
  timeout_s: z.number().positive().nullish().describe('Seconds the step may take'),
  request_id: z.string().max(255).nullish().describe('The same one again gets the same answer, and is no second step'),
  episode_id: z.string().max(255).nullish().describe('Names the session where no header does'),
});

type Handler = (request: FastifyRequest, served: Servable) => unknown;

/** Adds the routes to an application of their own, as their errors have the reference's form. */
export function httpRoutes(app: FastifyInstance, context: FacadeContext & { readonly replies: ReplyLimits }): void {
  const http = new HttpSessions(context);
  app.setErrorHandler(answerError);
  const route = (method: 'GET' | 'POST', path: string, handle: Handler) => {
    for (const url of [path, `/envs/:env${path}`]) {
      const handler = async (request: FastifyRequest) => {
        const { env } = request.params as { env?: string };
        return handle(request, environmentByName(context.sessions, env));
      };
      app.route({ method, url, handler });
    }
  };
  route('POST', '/reset', (request, served) => reset(http, request, served));
  route('POST', '/step', (request, served) => step(http, request, served));
  route('GET', '/state', (request, served) => state(http, request, served));
  // The server itself answers /health.
  app.get('/envs/:env/health', () => ({ status: 'healthy' }));
  route('GET', '/metadata', (_request, served) => metadataOf(served));
  route('GET', '/schema', (_request, served) => schemasOf(served));
}

function reset(http: HttpSessions, request: FastifyRequest, served: Servable) {
  const body = request.body ?? {};
  const named = sessionNamed(request, body);
  if (named === undefined) return http.once(request, served, (player) => player.reset(body, ['body']));
  return http.opened(request, served, named).reset(body, ['body']);
}

async function step(http: HttpSessions, request: FastifyRequest, served: Servable) {
  const { action, timeout_s: seconds, request_id: requestId } = checkedMessage(stepSchema, request.body, ['body']);
  const named = sessionNamed(request, request.body);
  const at = ['body', 'action'];
  const options = { requestId: requestId ?? undefined, timeoutSeconds: seconds ?? undefined };
  if (named === undefined) {
    if (!isListing(action)) envWire(served).decode(action, at);
    if (!isListing(action)) throw reverieError('SESSION_NOT_NAMED', { what: 'a step' });
    return http.once(request, served, (player) => player.step(action, at));
  }
  const reply = await http.known(request, served, named).step(action, at, options);
  if (reply.done && named.endsWithEpisode) await http.close(request, named);
  return reply;
}

async function state(http: HttpSessions, request: FastifyRequest, served: Servable) {
  const named = sessionNamed(request, {});
  // As the reference: of a new environment.
  if (named === undefined) return { episode_id: null, step_count: 0 };
  return http.known(request, served, named).state();
}

function metadataOf({ name, description, policy, version }: Servable) {
  return {
    name,
    description,
    readme_content: policy === '' ? null : policy,
    version,
    author: null,
    documentation_url: null,
  };
}

function schemasOf(served: Servable) {
  const { action, observation } = envWire(served);
  return { action: jsonSchema(action), observation: jsonSchema(observation), state: jsonSchema(stateSchema) };
}

function jsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input' });
  return json;
}

/** `{"detail"}` as FastAPI has it, and what this server says everywhere; other errors are the application's to answer. */
function answerError(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof MessageInvalid) {
    void reply.status(422).send({ detail: error.errors });
    return;
  }
  if (!(error instanceof ReverieError) || error.status === 401) throw error;
  const { code, message, hint, status } = error;
  sayWhenToRetry(reply, error);
  void reply.status(status).send({ detail: `${message} ${hint}`, error: { code, message, hint } });
}

// Which session a plain request means. The reference makes a new environment for each, so that no episode gets beyond its
// first observation; here a request may name its session, and then it goes on.

/** How sessions are named: told in the documentation of the routes. */
const SESSION_HEADER = 'x-session-id';

interface NamedSession {
  readonly id: string;
  /** Named by its episode alone: then it ends with it. */
  readonly endsWithEpisode: boolean;
}

const nameSchema = z.string().min(1).max(255);
const episodeSchema = z.looseObject({ episode_id: nameSchema.nullish() });

/** The header's session; else one called as the episode is. @throws MessageInvalid */
function sessionNamed({ headers, query }: FastifyRequest, body: unknown): NamedSession | undefined {
  const header = headers[SESSION_HEADER];
  if (header !== undefined) {
    return { id: checkedMessage(nameSchema, header, ['header', 'X-Session-ID']), endsWithEpisode: false };
  }
  const { episode_id: inBody } = checkedMessage(episodeSchema, body ?? {}, ['body']);
  const { episode_id: inQuery } = checkedMessage(episodeSchema, query, ['query']);
  const id = inBody ?? inQuery;
  return id === null || id === undefined ? undefined : { id, endsWithEpisode: true };
}

class HttpSessions {
  constructor(private readonly context: FacadeContext & { readonly replies: ReplyLimits }) {}

  /** The session called `id`, opened where there is none. @throws SESSION_EXISTS if it is another's */
  opened(request: FastifyRequest, served: Servable, { id }: NamedSession): Player {
    const { sessions, ownerOf } = this.context;
    const owner = ownerOf(request);
    try {
      if (sessions.state(id, owner).env !== served.name) throw reverieError('SESSION_EXISTS', { id });
    } catch (error) {
      if (!isUnknown(error)) throw error;
      sessions.open({ env: served.name, id, owner });
    }
    return this.player(request, served, id);
  }

  /** @throws SESSION_UNKNOWN, SESSION_GONE, SESSION_EXISTS if it is of another environment */
  known(request: FastifyRequest, served: Servable, { id }: NamedSession): Player {
    const { sessions, ownerOf } = this.context;
    if (sessions.state(id, ownerOf(request)).env !== served.name) throw reverieError('SESSION_EXISTS', { id });
    return this.player(request, served, id);
  }

  /** Does `work` with a session of its own, which is closed then. */
  async once<R>(request: FastifyRequest, served: Servable, work: (player: Player) => Promise<R>): Promise<R> {
    const { sessions, ownerOf } = this.context;
    const owner = ownerOf(request);
    const { id } = sessions.open({ env: served.name, owner });
    try {
      return await work(this.player(request, served, id));
    } finally {
      await sessions.close(id, owner);
    }
  }

  async close(request: FastifyRequest, { id }: NamedSession): Promise<void> {
    await this.context.sessions.close(id, this.context.ownerOf(request));
  }

  private player(request: FastifyRequest, served: Servable, id: string): Player {
    const { sessions, ownerOf, replies } = this.context;
    return new Player({ sessions, served, id, owner: ownerOf(request), replies });
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof ReverieError && (error.code === 'SESSION_UNKNOWN' || error.code === 'SESSION_GONE');
}

const tag = 'OpenEnv';
const headers = { 'X-Session-ID': 'Names the session; without it `episode_id` does, and without both it is a new one' };

const json = z.record(z.string(), z.unknown());
const turn = z
  .object({
    observation: json.describe('As /schema says'),
    reward: z.number().nullable().describe('Of this step; rewards of an episode sum to its return'),
    done: z.boolean(),
  })
  .meta({ id: 'OpenEnvObservation' });

const routes: readonly Omit<RouteDescription, 'tag'>[] = [
  {
    method: 'post',
    path: '/reset',
    summary: 'Start an episode',
    description: 'Without a named session the answer is all there is of it, as in the reference.',
    headers,
    body: { schema: resetSchema, example: { seed: 1, episode_id: 'my-episode' }, required: false },
    answer: { status: 200, description: 'The first observation', schema: turn },
  },
  {
    method: 'post',
    path: '/step',
    summary: 'Take a step',
    description: 'A session named by `episode_id` alone is closed when its episode is done.',
    headers,
    body: { schema: stepSchema, example: { action: { values: [0.5] }, episode_id: 'my-episode' } },
    answer: { status: 200, description: 'What came of it', schema: turn },
  },
  {
    method: 'get',
    path: '/state',
    summary: 'Look at the episode',
    headers,
    query: z.object({ episode_id: z.string().optional().describe('Names the session where no header does') }),
    answer: { status: 200, description: 'Where it stands', schema: stateSchema },
  },
  {
    method: 'get',
    path: '/health',
    summary: 'Ask whether it runs',
    answer: { status: 200, description: 'It does', schema: z.object({ status: z.literal('healthy') }) },
  },
  {
    method: 'get',
    path: '/metadata',
    summary: 'Look at the environment',
    answer: { status: 200, description: 'Its name, description and version', schema: json },
  },
  {
    method: 'get',
    path: '/schema',
    summary: 'Get the JSON Schemas of action, observation and state',
    answer: { status: 200, description: 'All three', schema: json },
  },
  {
    method: 'post',
    path: '/mcp',
    summary: 'Ask by JSON-RPC: tools/list, tools/call, openenv/session/create and close',
    body: { schema: json, example: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} } },
    answer: { status: 200, description: 'The JSON-RPC answer, failures too', schema: json },
  },
  {
    method: 'get',
    path: '/ws',
    summary: 'Connect a session (WebSocket)',
    description: 'Messages `{"type": "reset" | "step" | "state" | "mcp" | "close", "data"}`, one answer each.',
    answer: { status: 101, description: 'A WebSocket' },
  },
];

/** Of one environment, beneath its own address. */
export const ownDescriptions: readonly RouteDescription[] = routes.map((route) => ({ ...route, tag }));

/** The default environment's, and the same of each. */
export const openEnvDescriptions: readonly RouteDescription[] = [
  ...ownDescriptions,
  ...ownDescriptions.map((route) => {
    return { ...route, path: `/envs/:env${route.path}`, parameters: { env: 'Name of the environment' } };
  }),
];

/** @throws TOOL_NAME_RESERVED when it registers, for an environment that OpenEnv could not serve */
export function makeOpenEnvFacade(replies: ReplyLimits = REPLY_LIMITS): Facade {
  return {
    name: 'openenv',
    reserved: ['ws', 'envs', 'reset', 'step', 'state', 'metadata', 'schema', 'mcp', 'web'],
    routes: openEnvDescriptions,
    async register(app: FastifyInstance, facadeContext: FacadeContext) {
      const context = { ...facadeContext, replies };
      for (const served of context.sessions.environments.values()) envWire(served);
      await app.register(async (own) => httpRoutes(own, context));
      await app.register(async (own) => mcpRoutes(own, context));
      // `openenv validate --url` of one environment looks for it beneath that.
      const document = openApiDocument(ownDescriptions, context.version);
      app.get('/envs/:env/openapi.json', () => document);
      for (const url of ['/ws', '/envs/:env/ws']) {
        const servedFor = ({ params }: FastifyRequest) =>
          environmentByName(context.sessions, (params as { env?: string }).env);
        // Before the connection is upgraded, so that a wrong name is an HTTP 404.
        const preValidation = async (request: FastifyRequest) => void servedFor(request);
        app.get(url, { websocket: true, preValidation }, (socket, request) =>
          serveOpenEnv(socket, request, servedFor(request), context),
        );
      }
    },
  };
}

export const openEnvFacade = makeOpenEnvFacade();
