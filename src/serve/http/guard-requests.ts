// What every request is held to, whatever route it is for: its URL, the type and the shape of its body; and what every
// answer says.

import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { reverieError } from '../../core/errors.js';
import type { HttpLimits } from './http-limits.js';
import { parseJson } from './json-guard.js';
import { traceparentIn } from './trace-id.js';

/** For answers in a browser, which are data or pages of this server alone. */
const BROWSER_HEADERS = Object.entries({
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}).flat();

/** JSON is the one type of body that is read; a facade adds its own. */
export function readJson(app: FastifyInstance, limits: HttpLimits): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^application\/(?:[\w.-]+\+)?json\b/,
    { parseAs: 'string' },
    (_request: unknown, body: string | Buffer, done: (error: Error | null, value?: unknown) => void) => {
      let value: unknown;
      try {
        value = body.length === 0 ? undefined : parseJson(String(body), limits);
      } catch (error) {
        done(error as Error);
        return;
      }
      done(null, value);
    },
  );
}

/** What every answer says, name and value by turns. @param id  of the request, whose `headers` these are */
export function answerHeaders(id: string, headers: IncomingHttpHeaders): string[] {
  const parent = traceparentIn(headers);
  const said = [...BROWSER_HEADERS, 'x-request-id', id];
  return parent === undefined ? said : [...said, 'traceparent', parent];
}

/** @throws URL_TOO_LONG, BODY_TYPE_REFUSED */
export function guardRequest(
  { headers, url = '' }: { readonly headers: IncomingHttpHeaders; readonly url?: string },
  { urlLength }: HttpLimits,
): void {
  if (url.length > urlLength) throw reverieError('URL_TOO_LONG', { limit: urlLength });
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw reverieError('BODY_TYPE_REFUSED', { type: `"${headers['content-type'] ?? ''}" in ${encoding}` });
  }
}
