// GET /openapi.json and GET /docs: what this server offers, told by its facades.

import type { FastifyInstance } from 'fastify';
import { docsPage } from './docs-page.js';
import type { Facade } from './facade.js';
import { openApiDocument } from './openapi.js';

/** First segments of these routes' paths. */
export const DESCRIPTION_PATHS = ['openapi.json', 'docs'] as const;

export function describeRoutes(app: FastifyInstance, facades: readonly Facade[], version: string): void {
  const document = openApiDocument(
    facades.flatMap(({ routes }) => routes ?? []),
    version,
  );
  app.get('/openapi.json', () => document);
  app.get('/docs', (request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
      .send(docsPage(document, `${request.protocol}://${request.host}`)),
  );
}
