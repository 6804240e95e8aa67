// GET /metrics, for operators.

import type { FastifyInstance } from 'fastify';
import type { ServerMetrics } from './server-metrics.js';

export const METRICS_PATH = 'metrics';

export function addMetrics(app: FastifyInstance, metrics: ServerMetrics): void {
  const config = { access: 'operator' as const };
  app.get(`/${METRICS_PATH}`, { config, logLevel: 'silent' }, async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.text()),
  );
}
