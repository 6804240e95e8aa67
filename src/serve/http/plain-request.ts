// Which requests are plain: nothing about them is unusual, and all of their body came with their head.

import type { IncomingMessage, ServerResponse } from 'node:http';

/** As clients write it; fastify knows other ways. */
const JSON_TYPES = new Set(['application/json', 'application/json; charset=utf-8']);

/** A POST of JSON whose length is told, with nobody before it on its connection who was not answered yet. */
export function isPlain({ method, httpVersion, headers }: IncomingMessage, response: ServerResponse): boolean {
  return (
    method === 'POST' &&
    // One that comes while another waits for its answer has no connection yet, and keeps its turn.
    response.socket !== null &&
    httpVersion === '1.1' &&
    headers['content-length'] !== undefined &&
    JSON_TYPES.has(headers['content-type'] ?? '') &&
    headers.expect === undefined
  );
}

/**
 * The body of a plain request, if all of it is there; undefined: it was not touched. To be asked a tick after the request
 * came: what arrived with its head is parsed by then.
 * @param limit  bytes
 */
export function arrivedBody(request: IncomingMessage, limit: number): Buffer | undefined {
  const length = Number(request.headers['content-length']);
  if (length > limit || request.readableLength !== length) return undefined;
  return (request.read() as Buffer | null) ?? undefined;
}

/** Urls of a route with one `:id`; its first group is the id. Those with an id that would have to be decoded do not match. */
export function urlPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(':id', '([\\w-]{1,255})')}$`);
}
