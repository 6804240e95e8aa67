// What a failed request is answered.

import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { ReverieError, reverieError } from '../../core/errors.js';
import type { HttpLimits } from './http-limits.js';

export interface FailedRequest {
  /** Its trace. */
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly log?: Pick<FastifyBaseLogger, 'error'>;
}

/** `{"error": {code, message, hint, trace}}` with the catalogue's status. Facades whose protocol says otherwise set their own. */
export function errorAnswer(limits: HttpLimits) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const { status, code, body } = failedAnswer(error, request, limits);
    request.failure = code;
    if (status === 401) void reply.header('www-authenticate', 'Bearer');
    void reply.status(status).send(body);
  };
}

export interface FailedAnswer {
  readonly status: number;
  readonly code: string;
  readonly body: unknown;
}

/** What is said of an error; what is not said of it is in the log. */
export function failedAnswer(error: unknown, request: FailedRequest, limits: HttpLimits): FailedAnswer {
  const { code, message, hint, status } = asCatalogued(error, request, limits);
  if (code === 'SERVER_FAILED') request.log?.error({ err: error }, 'request failed');
  return { status, code, body: { error: { code, message, hint, trace: request.id } } };
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
  { headers }: Pick<FailedRequest, 'headers'>,
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
