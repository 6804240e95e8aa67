// One id a request, the caller's own where it sends one: in the answer, in errors and in the log.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { unguessable } from '../core/unguessable.js';

/** New ids: of this process, and counted. They name requests and open nothing, so they may be guessed. */
const PROCESS = unguessable().slice(0, 12);
let made = 0;

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** The W3C trace context that came with a request, if it is well-formed. */
export function traceparentIn({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}

/** The trace of a `traceparent`, else `X-Request-ID`, else a new one. What is not well-formed is not taken. */
export function traceIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  const named = typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined;
  return traceparentIn(headers)?.split('-')[1] ?? named ?? `${PROCESS}-${(++made).toString(36)}`;
}
