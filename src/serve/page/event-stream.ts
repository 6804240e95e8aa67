// Server-sent events: what is live, as it changes, but never faster than an eye or a slow line can take.

import type { FastifyReply, FastifyRequest } from 'fastify';

/** Milliseconds between two looks. */
const PERIOD = 500;
/** Looks after which something is said even where nothing changed, so that charts move and lines stay open. */
const QUIET_LOOKS = 4;
/** Bytes that may wait on a slow line before it is spared. */
const BACKLOG = 1 << 20;

export interface EventSource {
  readonly name: string;
  /** Differs from the last one where there is something new to say. */
  readonly revision: () => unknown;
  readonly read: () => unknown;
}

/** Streams until the client leaves or `stop` is aborted. */
export function streamEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  source: EventSource,
  stop: AbortSignal,
): void {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  let told: unknown;
  let quiet = 0;
  const look = () => {
    const revision = source.revision();
    quiet = revision === told ? quiet + 1 : 0;
    if ((quiet > 0 && quiet < QUIET_LOOKS) || raw.writableLength > BACKLOG) return;
    quiet = 0;
    told = revision;
    raw.write(`event: ${source.name}\ndata: ${JSON.stringify(source.read())}\n\n`);
  };
  const timer = setInterval(look, PERIOD);
  const end = () => {
    clearInterval(timer);
    stop.removeEventListener('abort', end);
    raw.end();
  };
  request.raw.socket.once('close', end);
  stop.addEventListener('abort', end, { once: true });
  look();
}
