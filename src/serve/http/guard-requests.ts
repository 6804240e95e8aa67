// What every request is held to, whatever route it is for: its URL, the type and the shape of its body; and what every
// answer says.

import type { FastifyInstance } from 'fastify';
import { reverieError } from '../../errors.js';
import type { HttpLimits } from './http-limits.js';
import { parseJson } from './json-guard.js';
import { traceparentIn } from './trace-id.js';

/** For answers in a browser, which are data or pages of this server alone. */
const HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** JSON is the one type of body that is read; a facade adds its own. */
export function guardRequests(app: FastifyInstance, limits: HttpLimits): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/(?:[\w.-]+\+)?json\b/,
    { parseAs: 'string' },
    async (_request: unknown, body: string | Buffer) =>
      body.length === 0 ? undefined : parseJson(String(body), limits),
  );
  app.addHook('onRequest', async ({ id, headers, url }, reply) => {
    reply.headers({ ...HEADERS, 'x-request-id': id });
    const parent = traceparentIn(headers);
    if (parent !== undefined) reply.header('traceparent', parent);
    if (url.length > limits.urlLength) throw reverieError('URL_TOO_LONG', { limit: limits.urlLength });
    const encoding = headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity') {
      throw reverieError('BODY_TYPE_REFUSED', { type: `"${headers['content-type'] ?? ''}" in ${encoding}` });
    }
  });
}
