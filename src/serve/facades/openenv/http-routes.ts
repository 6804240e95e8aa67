// OpenEnv over HTTP: /reset, /step, /state, /health, /metadata, /schema; for each environment under /envs/NAME too.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ReverieError, reverieError } from '../../../errors.js';
import type { Servable } from '../../../run/index.js';
import type { FacadeContext } from '../../http/facade.js';
import { servedByName } from '../served-name.js';
import { envWire } from './env-wire.js';
import { checkedMessage, MessageInvalid } from './field-errors.js';
import { HttpSessions, sessionNamed } from './http-sessions.js';
import { isListing, stateSchema } from './player.js';
import type { ReplyLimits } from './reply-in-time.js';

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
