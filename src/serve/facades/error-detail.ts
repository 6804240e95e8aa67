// Clients of servers made with FastAPI show `detail` of an error: it stands beside what this server says everywhere.

import type { FastifyInstance } from 'fastify';

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
