// `/mcp` is OpenEnv's and the official MCP endpoint's: who asks in the words of the latter is handed to it.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Servable } from '../../../run/index.js';

/** The facade of the official protocol adds itself: `app.decorate(OFFICIAL_MCP, handler)`. */
export const OFFICIAL_MCP = 'officialMcp';

/** Answers a request of streamable HTTP at `/mcp`; its body was read as JSON. */
export type OfficialMcp = (request: FastifyRequest, reply: FastifyReply, served: Servable) => unknown;

/** The handler for this request, if it speaks the official protocol and somebody answers that. */
export function officialMcp(app: FastifyInstance, { method, headers, body }: FastifyRequest): OfficialMcp | undefined {
  const isOfficial =
    headers['mcp-session-id'] !== undefined ||
    headers['mcp-protocol-version'] !== undefined ||
    method === 'GET' ||
    (body as { method?: unknown } | null | undefined)?.method === 'initialize';
  return isOfficial && app.hasDecorator(OFFICIAL_MCP) ? app.getDecorator<OfficialMcp>(OFFICIAL_MCP) : undefined;
}
