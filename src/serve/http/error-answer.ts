// What a failed request is answered.

import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ReverieError, reverieError } from '../../core/errors.js';
import type { HttpLimits } from './http-limits.js';

/**
 * `{"error": {code, message, hint, trace}}` with the catalogue's status; what is not said of an error is in the log. Facades
 * whose protocol says otherwise set their own.
 */
export function errorAnswer(limits: HttpLimits) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const { code, message, hint, status } = asCatalogued(error, request, limits);
    if (code === 'SERVER_FAILED') request.log.error({ err: error }, 'request failed');
    request.failure = code;
    if (status === 401) void reply.header('www-authenticate', 'Bearer');
    void reply.status(status).send({ error: { code, message, hint, trace: request.id } });
  };
}

/** The same for what fails before there is a route, such as a URL that cannot be decoded. */
export function answerFrameworkError(limits: HttpLimits) {
  const answer = errorAnswer(limits);
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    answer(error, request, reply.header('x-request-id', request.id));
  };
}

/** Any error as one of the catalogue: what is not known is the server's fault and says nothing of how. */
export function asCatalogued(
  error: unknown,
  { headers }: { readonly headers: IncomingHttpHeaders },
  { bodyBytes }: HttpLimits,
): ReverieError {
  if (error instanceof ReverieError) return error;
  const { statusCode = 500, message } = error as FastifyError;
  if (statusCode === 413) return reverieError('BODY_TOO_LARGE', { limit: bodyBytes }, error);
  if (statusCode === 415)
    return reverieError('BODY_TYPE_REFUSED', { type: `"${headers['content-type'] ?? ''}"` }, error);
  if (statusCode >= 500) return reverieError('SERVER_FAILED', {}, error);
  return reverieError('REQUEST_INVALID', { problem: message }, error);
}

// Clients of servers made with FastAPI show `detail` of an error: it stands beside what this server says everywhere.

interface ErrorBody {
  readonly error?: { readonly code?: string; readonly message?: string; readonly hint?: string };
}

/**
 * For all routes of this scope. A server whose slots are all taken counts as one that is starting: the OpenReward client
 * asks such a one again, for minutes.
 */
export function tellDetail(app: FastifyInstance): void {
  app.addHook('preSerialization', async (_request, reply, payload) => {
    const { error } = (payload ?? {}) as ErrorBody;
    if (typeof error !== 'object' || reply.statusCode < 400) return payload;
    if (error.code === 'CAPACITY_REACHED') void reply.headers({ 'retry-after': '2', 'x-backend-state': 'starting' });
    return { detail: `${error.message} ${error.hint}`, error };
  });
}
