// OpenEnv, for TRL, verifiers, AgileRL, Unsloth and all else that has its clients: a WebSocket with a session each, and HTTP:
// /reset, /health, /metadata, /schema; for each environment under /envs/NAME too. /mcp is in mcp.ts.
// https://github.com/huggingface/OpenEnv (core/env_server)

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { ReverieError, reverieError } from '../../core/errors.js';
import type { Servable } from '../../run/servable.js';
import type { Owner, ResetRequest, Turn } from '../core/session-contract.js';
import type { Sessions } from '../core/sessions.js';
import { environmentOf, resetOf, taskFields } from '../core/tasks.js';
import { jsonSchema, openApiDocument, type ProtocolContext, type ProtocolRoutes } from '../http/openapi.js';
import { type JsonLimits, parseJson, tellDetail } from '../http/requests.js';
import { type FrameHandlers, serveFrames } from '../http/sockets.js';
import { nativeDescriptions } from './native.js';
import { checkedMessage, envWire, fieldInvalid, MessageInvalid } from './openenv-wire.js';

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

const anything = z.record(z.string(), z.unknown());
const listTools = z.strictObject({ type: z.literal('list_tools'), metadata: anything.optional() });
/** Keys of the reference; further ones are taken and not looked at. */
const stepSchema = z.looseObject({ action: anything.describe('As /schema says') });

function isListing(data: unknown): boolean {
  return (data as { type?: unknown } | null | undefined)?.type === 'list_tools';
}

/** One session, in the words of OpenEnv. */
class Player {
  readonly id: string;

  /** Opens it. @throws as `Sessions.open` */
  constructor(
    private readonly sessions: Sessions,
    private readonly served: Servable,
    private readonly owner: Owner,
  ) {
    this.id = sessions.open({ env: served.name, owner }).id;
  }

  /** @throws MessageInvalid; as `Sessions.reset` */
  async reset(data: unknown, at: readonly string[], signal?: AbortSignal) {
    const turn = await this.sessions.reset(this.id, readReset(this.served, data, at), this.owner, signal);
    return replyOf(turn, envWire(this.served).observe(turn));
  }

  /** Steps, or lists the tools: that is no step and needs no episode. @throws MessageInvalid; as `Sessions.step` */
  async step(data: unknown, at: readonly string[], signal?: AbortSignal) {
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
    const turn = await this.sessions.step(this.id, { action }, this.owner, signal);
    return replyOf(turn, wire.observe(turn, action));
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

function replyOf({ reward, terminated, truncated }: Turn, observation: Readonly<Record<string, unknown>>) {
  return { observation, reward, done: terminated || truncated };
}

// What may stand in a reset: the reference's seed and episode_id, and which task is begun.

const { seed, ...place } = taskFields;
const { id: text } = place;

const resetSchema = z.looseObject({
  seed,
  episode_id: text,
  /** By its id, or as the task routes tell it. */
  task: z.union([text, z.looseObject({ id: text })]),
  task_id: text,
  ...place,
});

/** `taskId`, `task-id` and `Task_ID` are one. */
const plain = (key: string) => key.toLowerCase().replace(/[^a-z]/g, '');
const KNOWN = new Map(Object.keys(resetSchema.shape).map((key) => [plain(key), key]));

/**
 * Keys that no episode knows are dropped, as by the reference; but one that is ours in other letters is refused, as an
 * episode of another task than was meant would go unseen.
 * @throws MessageInvalid, TASK_NOT_CHOSEN, TASK_UNKNOWN
 */
function readReset(served: Servable, data: unknown, at: readonly string[]): ResetRequest {
  const read = checkedMessage(resetSchema, data, at);
  for (const key of Object.keys(read)) {
    const meant = KNOWN.get(plain(key));
    if (meant !== undefined && meant !== key) throw fieldInvalid([...at, key], `It is called "${meant}"`, read[key]);
  }
  const { episode_id: episodeId, task, task_id: taskId } = read;
  const id = (typeof task === 'object' ? task?.id : task) ?? taskId ?? read.id;
  return { ...resetOf(served, { ...read, id }), episodeId: episodeId ?? undefined };
}

// WebSocket `/ws`: one connection, one session. One reply for each message, in order; an error leaves the connection usable.

/** Seconds between pings: a session lives as long as its client answers them. */
const PING_SECONDS = 30;
const NORMAL = 1000;

const FRAMES = {
  reset: z.strictObject({ type: z.literal('reset'), data: anything.default({}) }),
  step: z.strictObject({ type: z.literal('step'), data: anything }),
  state: z.strictObject({ type: z.literal('state') }),
  close: z.strictObject({ type: z.literal('close') }),
} as const;

type Frame = z.output<(typeof FRAMES)[keyof typeof FRAMES]>;

function serveOpenEnv(socket: WebSocket, request: FastifyRequest, served: Servable, context: ProtocolContext): void {
  const { sessions, ownerOf, limits } = context;
  let player: Player | undefined;
  const opened = () => {
    const made = new Player(sessions, served, ownerOf(request));
    keepAlive(socket, () => made.touch());
    return made;
  };
  const handlers: FrameHandlers = {
    async answer(message, signal) {
      try {
        const frame = readFrame(message, limits);
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
function readFrame(frame: string, limits: JsonLimits): Frame {
  let message: unknown;
  try {
    message = parseJson(frame, limits);
  } catch (error) {
    throw new FrameRefused('INVALID_JSON', `Invalid JSON: ${(error as Error).message}`);
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
function errorData(error: unknown, { active, slots }: Sessions['counts']) {
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
function httpRoutes(app: FastifyInstance, { sessions, ownerOf }: ProtocolContext): void {
  tellDetail(app);
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof MessageInvalid)) throw error;
    return reply.status(422).send({ detail: error.errors });
  });
  const route = (
    method: 'GET' | 'POST',
    path: string,
    handle: (served: Servable, request: FastifyRequest) => unknown,
  ) => {
    for (const url of [path, `/envs/:env${path}`]) {
      app.route({ method, url, handler: async (request) => handle(servedFor(sessions, request), request) });
    }
  };
  route('POST', '/reset', async (served, request) => {
    const player = new Player(sessions, served, ownerOf(request));
    return player.reset(request.body ?? {}, ['body']).finally(() => player.close());
  });
  route('POST', '/step', async (served, request) => {
    const { action } = checkedMessage(stepSchema, request.body, ['body']);
    if (!isListing(action)) {
      envWire(served).decode(action, ['body', 'action']);
      throw reverieError('SESSION_NOT_NAMED', { what: 'a step' });
    }
    const player = new Player(sessions, served, ownerOf(request));
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
  return environmentOf(sessions, (params as { env?: string }).env);
}

export const openEnvRoutes: ProtocolRoutes = {
  name: 'openenv',
  reserved: ['ws', 'envs', 'reset', 'step', 'state', 'metadata', 'schema', 'mcp', 'web'],
  /** @throws ENV_NAME_INVALID for an environment that OpenEnv could not serve */
  async register(app, context) {
    for (const served of context.sessions.environments.values()) envWire(served);
    await app.register(async (own) => httpRoutes(own, context));
    // `openenv validate --url` of one environment looks for it beneath that.
    const document = openApiDocument(nativeDescriptions, context.version);
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
