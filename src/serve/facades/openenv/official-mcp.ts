// `/mcp` is OpenEnv's and the official MCP endpoint's: who asks in the words of the latter is handed to it.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Servable } from '../../../run/index.js';
import type { Sessions } from '../../core/session-contract.js';

/** Answers a request of streamable HTTP at `/mcp`; its body was read as JSON. */
export type OfficialMcp = (request: FastifyRequest, reply: FastifyReply, served: Servable) => unknown;

const answering = new WeakMap<Sessions, OfficialMcp>();

/** Says who answers the official protocol for these sessions: called by its facade as it registers. */
export function answerOfficialMcp(sessions: Sessions, answer: OfficialMcp): void {
  answering.set(sessions, answer);
}

/** Who answers this request, if it speaks the official protocol and there is somebody. */
export function officialMcp(sessions: Sessions, { method, headers, body }: FastifyRequest): OfficialMcp | undefined {
  const isOfficial =
    headers['mcp-session-id'] !== undefined ||
    headers['mcp-protocol-version'] !== undefined ||
    method === 'GET' ||
    (body as { method?: unknown } | null | undefined)?.method === 'initialize';
  return isOfficial ? answering.get(sessions) : undefined;
}
