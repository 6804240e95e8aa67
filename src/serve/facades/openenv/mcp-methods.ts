// The methods OpenEnv has of MCP: tools/list and tools/call, and openenv/session/create and close, as plain requests have
// no session of their own. (The official protocol, with `initialize`, is another facade's.)

import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Servable } from '../../../run/serving/index.js';
import type { Owner, Sessions } from '../../core/session-contract.js';
import { envWire } from './env-wire.js';
import { checkedMessage, RPC_CODES, RpcFault, type RpcMethods } from './json-rpc.js';
import { Player, type ReplyLimits, type StepOptions } from './player.js';

const callSchema = z.looseObject({
  name: z.string().optional(),
  arguments: z.record(z.string(), z.unknown()).default({}),
});

/** Of a connection that has a session. @param begins  whether the first call begins an episode where none was */
export function boundMethods(player: Player, signal?: AbortSignal, begins = false): RpcMethods {
  return {
    'tools/list': async () => listed(player.served),
    'tools/call': async (params) => {
      if (begins && player.state().status === 'idle') await player.reset({}, [], signal);
      return called(player, params, { signal });
    },
    'openenv/session/create': async () => ({ session_id: player.sessionId }),
    'openenv/session/close': async (params) => {
      if (sessionOf(params) !== player.sessionId) throw unknownSession(params);
      throw new RpcFault(RPC_CODES.request, 'Cannot close active WebSocket-managed session via MCP method');
    },
  };
}

export interface McpHost {
  readonly sessions: Sessions;
  readonly served: Servable;
  readonly owner: Owner;
  readonly replies: ReplyLimits;
}

/** Of single requests: they name a session, or get one for themselves alone. */
export function looseMethods(host: McpHost): RpcMethods {
  return {
    'tools/list': async () => listed(host.served),
    'tools/call': async (params) => {
      if (params['session_id'] !== undefined) return called(known(host, params), params, {});
      const { player } = await opened(host, {});
      return called(player, params, {}).finally(() => closed(host, player.sessionId));
    },
    'openenv/session/create': async (params) => {
      const { player, first } = await opened(host, params);
      return { session_id: player.sessionId, observation: first.observation };
    },
    'openenv/session/close': async (params) => {
      const { sessionId } = known(host, params);
      await closed(host, sessionId);
      return { session_id: sessionId, closed: true };
    },
  };
}

function listed(served: Servable) {
  const tools = envWire(served).tools.map(({ name, description, parameters }) => {
    return { name, description, inputSchema: parameters };
  });
  return { tools };
}

/** The result of MCP, with `data` for OpenEnv's client and what MCP has no word for in `_meta`. */
async function called(player: Player, params: Record<string, unknown>, options: StepOptions) {
  const { name, arguments: given } = checkedMessage(callSchema, params);
  if (!name) throw new RpcFault(RPC_CODES.params, "Missing 'name' in params");
  if (!envWire(player.served).tools.some((tool) => tool.name === name)) {
    throw new RpcFault(RPC_CODES.params, `Tool not found: ${name}`);
  }
  const { observation, reward, done } = await player.step({ tool_name: name, arguments: given }, [], options);
  const { tool_name: _, result, error, ...rest } = observation as Record<string, never>;
  const { data, is_error: failed = false } = result ?? { data: (error as { message: string }).message, is_error: true };
  return {
    content: [{ type: 'text', text: data }],
    data,
    isError: failed,
    _meta: { reward, done, ...(rest as object) },
  };
}

async function opened({ sessions, served, owner, replies }: McpHost, params: Record<string, unknown>) {
  const { id } = sessions.open({ env: served.name, owner });
  const player = new Player({ sessions, served, id, owner, replies });
  try {
    return { player, first: await player.reset(params, []) };
  } catch (error) {
    await sessions.close(id, owner);
    throw error;
  }
}

async function closed({ sessions, owner }: McpHost, id: string): Promise<void> {
  await sessions.close(id, owner);
}

function known({ sessions, owner, replies }: McpHost, params: Record<string, unknown>): Player {
  const id = sessionOf(params);
  try {
    const served = sessions.environments.get(sessions.state(id, owner).env)!;
    return new Player({ sessions, served, id, owner, replies });
  } catch {
    throw unknownSession(params);
  }
}

function sessionOf({ session_id: id }: Record<string, unknown>): string {
  if (typeof id === 'string' && id !== '') return id;
  throw new RpcFault(RPC_CODES.params, "Invalid params - 'session_id' is required");
}

function unknownSession({ session_id: id }: Record<string, unknown>) {
  return new RpcFault(RPC_CODES.params, `Unknown session_id: ${id}`);
}

// `/mcp` is OpenEnv's and the official MCP endpoint's: who asks in the words of the latter is handed to it.

/** Answers a request of streamable HTTP at `/mcp`; its body was read as JSON. */
type OfficialMcp = (request: FastifyRequest, reply: FastifyReply, served: Servable) => unknown;

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
