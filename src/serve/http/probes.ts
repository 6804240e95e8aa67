// GET /health: the process answers. GET /ready: it takes new sessions. Open to all, for whoever watches over the server.

import type { FastifyInstance } from 'fastify';

export type Phase = 'starting' | 'ready' | 'draining';

export const PROBE_PATHS = ['health', 'ready'] as const;

export function addProbes(app: FastifyInstance, phase: () => Phase): void {
  const open = { config: { access: 'open' as const }, logLevel: 'silent' as const };
  app.get('/health', open, () => ({ status: 'healthy' }));
  app.get('/ready', open, (_request, reply) => {
    const status = phase();
    return reply.status(status === 'ready' ? 200 : 503).send({ status });
  });
}
