// OpenEnv, for TRL, verifiers, AgileRL, Unsloth and all else that has its clients: a WebSocket with a session each, and HTTP:
// /reset, /step, /state, /health, /metadata, /schema, /mcp; for each environment under /envs/NAME too.
// https://github.com/huggingface/OpenEnv (core/env_server)

import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { ReverieError, reverieError } from '../../../core/errors.js';
import type { Servable } from '../../../run/servable.js';
import type { Sessions } from '../../core/sessions.js';
import { environmentByName } from '../../core/tasks.js';
import { type Facade, openApiDocument, type RouteDescription } from '../../http/openapi.js';
import { parseJson, sayWhenToRetry } from '../../http/requests.js';
import { serveFrames } from '../../http/sockets.js';
import {
  boundMethods,
  isListing,
  looseMethods,
  type OpenEnvContext,
  Player,
  REPLY_LIMITS,
  type ReplyLimits,
  resetSchema,
  serveOpenEnv,
  stateSchema,
} from './messages.js';
import { answerRpc, checkedMessage, envWire, MessageInvalid, RPC_CODES, RpcFault, rpcFailure } from './wire.js';

/** Keys of the reference; further ones are taken and not looked at. */
const stepSchema = z.looseObject({
  action: z.record(z.string(), z.unknown()).describe('As /schema says'),
  timeout_s: z.number().positive().nullish().describe('Seconds the step may take'),
  request_id: z.string().max(255).nullish().describe('The same one again gets the same answer, and is no second step'),
  episode_id: z.string().max(255).nullish().describe('Names the session where no header does'),
});

type Handler = (request: FastifyRequest, served: Servable) => unknown;

/** In an application of their own, as their errors have the reference's form. */
function httpRoutes(app: FastifyInstance, context: OpenEnvContext): void {
  app.setErrorHandler(answerHttpError);
  const route = (method: 'GET' | 'POST', path: string, handle: Handler) => {
    for (const url of [path, `/envs/:env${path}`]) {
      app.route({ method, url, handler: async (request) => handle(request, servedFor(context.sessions, request)) });
    }
  };
  route('POST', '/reset', (request, served) => reset(context, request, served));
  route('POST', '/step', (request, served) => step(context, request, served));
  route('GET', '/state', (request, served) => {
    const named = sessionNamed(request, {});
    // As the reference: of a new environment.
    return named === undefined ? { episode_id: null, step_count: 0 } : known(context, request, served, named).state();
  });
  // The server itself answers /health.
  app.get('/envs/:env/health', () => ({ status: 'healthy' }));
  route('GET', '/metadata', (_request, { name, description, policy, version }) => {
    const readme_content = policy === '' ? null : policy;
    return { name, description, readme_content, version, author: null, documentation_url: null };
  });
  route('GET', '/schema', (_request, served) => {
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

// Which session a plain request means. The reference makes a new environment for each, so that no episode gets beyond its
// first observation; here a request may name its session, and then it goes on.

interface NamedSession {
  readonly id: string;
  /** Named by its episode alone: then it ends with it. */
  readonly endsWithEpisode: boolean;
}

const nameSchema = z.string().min(1).max(255);
const episodeSchema = z.looseObject({ episode_id: nameSchema.nullish() });

/** The header's session; else one called as the episode is. @throws MessageInvalid */
function sessionNamed({ headers, query }: FastifyRequest, body: unknown): NamedSession | undefined {
  const header = headers['x-session-id'];
  if (header !== undefined) {
    return { id: checkedMessage(nameSchema, header, ['header', 'X-Session-ID']), endsWithEpisode: false };
  }
  const { episode_id: inBody } = checkedMessage(episodeSchema, body ?? {}, ['body']);
  const { episode_id: inQuery } = checkedMessage(episodeSchema, query, ['query']);
  const id = inBody ?? inQuery;
  return id === null || id === undefined ? undefined : { id, endsWithEpisode: true };
}

function reset(context: OpenEnvContext, request: FastifyRequest, served: Servable) {
  const body = request.body ?? {};
  const named = sessionNamed(request, body);
  if (named === undefined) return once(context, request, served, (player) => player.reset(body, ['body']));
  return opened(context, request, served, named).reset(body, ['body']);
}

async function step(context: OpenEnvContext, request: FastifyRequest, served: Servable) {
  const { action, timeout_s: seconds, request_id: requestId } = checkedMessage(stepSchema, request.body, ['body']);
  const named = sessionNamed(request, request.body);
  const at = ['body', 'action'];
  if (named === undefined) {
    if (isListing(action)) return once(context, request, served, (player) => player.step(action, at));
    envWire(served).decode(action, at);
    throw reverieError('SESSION_NOT_NAMED', { what: 'a step' });
  }
  const options = { requestId: requestId ?? undefined, timeoutSeconds: seconds ?? undefined };
  const reply = await known(context, request, served, named).step(action, at, options);
  if (reply.done && named.endsWithEpisode) await context.sessions.close(named.id, context.ownerOf(request));
  return reply;
}

/** The session of this name, opened where there is none. @throws SESSION_EXISTS if it is of another environment */
function opened(context: OpenEnvContext, request: FastifyRequest, served: Servable, named: NamedSession): Player {
  const { sessions, ownerOf } = context;
  try {
    return known(context, request, served, named);
  } catch (error) {
    const isUnknown =
      error instanceof ReverieError && (error.code === 'SESSION_UNKNOWN' || error.code === 'SESSION_GONE');
    if (!isUnknown) throw error;
    sessions.open({ env: served.name, id: named.id, owner: ownerOf(request) });
    return known(context, request, served, named);
  }
}

/** @throws SESSION_UNKNOWN, SESSION_GONE, SESSION_EXISTS if it is of another environment */
function known(
  { sessions, ownerOf, replies }: OpenEnvContext,
  request: FastifyRequest,
  served: Servable,
  { id }: NamedSession,
): Player {
  const owner = ownerOf(request);
  if (sessions.state(id, owner).env !== served.name) throw reverieError('SESSION_EXISTS', { id });
  return new Player({ sessions, served, id, owner, replies });
}

/** Does `work` with a session of its own, which is closed then. */
async function once<R>(
  { sessions, ownerOf, replies }: OpenEnvContext,
  request: FastifyRequest,
  served: Servable,
  work: (player: Player) => Promise<R>,
): Promise<R> {
  const owner = ownerOf(request);
  const { id } = sessions.open({ env: served.name, owner });
  try {
    return await work(new Player({ sessions, served, id, owner, replies }));
  } finally {
    await sessions.close(id, owner);
  }
}

// `POST /mcp` and the WebSocket `/mcp`: JSON-RPC, where a failure is an answer of status 200. They are the official MCP
// endpoint's too: requests in the words of the latter are handed to it.

/** Answers a request of streamable HTTP at `/mcp`; its body was read as JSON. */
type OfficialMcp = (request: FastifyRequest, reply: FastifyReply, served: Servable) => unknown;

const answering = new WeakMap<Sessions, OfficialMcp>();

/** Says who answers the official protocol for these sessions: called by its facade as it registers. */
export function answerOfficialMcp(sessions: Sessions, answer: OfficialMcp): void {
  answering.set(sessions, answer);
}

function officialMcp(sessions: Sessions, { method, headers, body }: FastifyRequest): OfficialMcp | undefined {
  const isOfficial =
    headers['mcp-session-id'] !== undefined ||
    headers['mcp-protocol-version'] !== undefined ||
    method === 'GET' ||
    (body as { method?: unknown } | null | undefined)?.method === 'initialize';
  return isOfficial ? answering.get(sessions) : undefined;
}

/** In an application of their own, as they read bodies and tell errors in their own way. */
function mcpRoutes(app: FastifyInstance, context: OpenEnvContext): void {
  const { sessions, ownerOf, replies } = context;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.setErrorHandler(answerMcpError);
  for (const url of ['/mcp', '/envs/:env/mcp']) {
    app.post(url, async (request, reply) => {
      const served = servedFor(sessions, request);
      const message = parsed(request.body);
      if (message instanceof RpcFault) return rpcFailure(message);
      request.body = message;
      const official = officialMcp(sessions, request);
      if (official !== undefined) return official(request, reply, served);
      return answerRpc(message, looseMethods({ sessions, served, owner: ownerOf(request), replies }));
    });
    app.route({
      method: 'GET',
      url,
      handler: (request, reply) => {
        const official = officialMcp(sessions, request);
        if (official !== undefined) return official(request, reply, servedFor(sessions, request));
        throw reverieError('ROUTE_UNKNOWN', { method: 'GET', path: request.url });
      },
      wsHandler: (socket, request) => serveMcp(socket, request, context),
    });
  }
}

/** A connection's first call begins an episode. */
function serveMcp(socket: WebSocket, request: FastifyRequest, context: OpenEnvContext): void {
  const { sessions, ownerOf, replies, limits } = context;
  const served = servedFor(sessions, request);
  const owner = ownerOf(request);
  let player: Player | undefined;
  const handlers = {
    async answer(text: string, signal: AbortSignal) {
      const message = parsed(text);
      if (message instanceof RpcFault) return JSON.stringify(rpcFailure(message));
      player ??= new Player({ sessions, served, id: sessions.open({ env: served.name, owner }).id, owner, replies });
      return JSON.stringify(await answerRpc(message, boundMethods(player, signal, true)));
    },
    failure: (error: ReverieError) => JSON.stringify(rpcFailure(error)),
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

// What /openapi.json and /docs tell of these routes.

const headers = { 'X-Session-ID': 'Names the session; without it `episode_id` does, and without both it is a new one' };
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
  described('post', '/reset', 'Start an episode', turn, {
    description: 'Without a named session the answer is all there is of it, as in the reference.',
    headers,
    body: { schema: resetSchema, example: { seed: 1, episode_id: 'my-episode' }, required: false },
  }),
  described('post', '/step', 'Take a step', turn, {
    description: 'A session named by `episode_id` alone is closed when its episode is done.',
    headers,
    body: { schema: stepSchema, example: { action: { values: [0.5] }, episode_id: 'my-episode' } },
  }),
  described('get', '/state', 'Look at the episode', stateSchema, {
    headers,
    query: z.object({ episode_id: z.string().optional().describe('Names the session where no header does') }),
  }),
  described('get', '/health', 'Ask whether it runs', z.object({ status: z.literal('healthy') })),
  described('get', '/metadata', 'Look at the environment: its name, description and version', json),
  described('get', '/schema', 'Get the JSON Schemas of action, observation and state', json),
  described('post', '/mcp', 'Ask by JSON-RPC: tools/list, tools/call, openenv/session/create and close', json, {
    body: { schema: json, example: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} } },
  }),
  described('get', '/ws', 'Connect a session (WebSocket)', undefined, {
    description: 'Messages `{"type": "reset" | "step" | "state" | "mcp" | "close", "data"}`, one answer each.',
    answer: { status: 101, description: 'A WebSocket' },
  }),
];

/** @throws ENV_NAME_INVALID when it registers, for an environment that OpenEnv could not serve */
export function makeOpenEnvFacade(replies: ReplyLimits = REPLY_LIMITS): Facade {
  const parameters = { env: 'Name of the environment' };
  return {
    name: 'openenv',
    reserved: ['ws', 'envs', 'reset', 'step', 'state', 'metadata', 'schema', 'mcp', 'web'],
    routes: [
      ...ownDescriptions,
      ...ownDescriptions.map((one) => ({ ...one, path: `/envs/:env${one.path}`, parameters })),
    ],
    async register(app, facadeContext) {
      const context = { ...facadeContext, replies };
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
