// OpenEnv over HTTP: /reset, /step, /state, /health, /metadata, /schema; for each environment under /envs/NAME too.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ReverieError, reverieError } from '../../../core/errors.js';
import type { Servable } from '../../../run/serving/index.js';
import { servedByName } from '../../core/task-choice.js';
import type { FacadeContext } from '../../http/facade.js';
import { envWire } from './env-wire.js';
import { checkedMessage, MessageInvalid } from './json-rpc.js';
import { isListing, Player, type ReplyLimits, stateSchema } from './player.js';

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
        return handle(request, servedByName(context.sessions, env));
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
