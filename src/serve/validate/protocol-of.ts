// Which protocol a server speaks, by what it answers; and a client of it.

import { fetch } from 'undici';
import { reverieError } from '../../core/errors.js';
import { type EnvironmentServer, serverKeys, serverProtocols } from '../../env/index.js';
import { isObject } from './server-client.js';
import type { Server } from './validate-contract.js';

/** Milliseconds for a question that a server of another protocol may leave open. */
const PATIENCE = 10_000;
const OPENENV = 'openenv';

/** What a server of each protocol, and no other, answers; asked in this order. */
const SIGNS: readonly (readonly [string, (server: Server) => Promise<boolean>])[] = [
  [
    OPENENV,
    async (server) => isObject((await server.ask('/schema')).body) && (await server.ask('/schema')).status === 200,
  ],
  ['ors', async (server) => Array.isArray((await server.ask('/list_environments')).body)],
  ['mcp', speaksMcp],
  ['agentgym', async (server) => typeof (await server.ask(server.url)).body === 'string'],
];

/** OpenEnv where nothing tells: its checks say what is missing. */
export async function protocolOf(server: Server): Promise<string> {
  for (const [name, speaks] of SIGNS) if (await speaks(server)) return name;
  return OPENENV;
}

/** Undefined for OpenEnv, which the checks speak themselves. @throws FLAG_INVALID */
export async function clientOf(
  named: string,
  address: string,
  token: string | undefined,
  taskLimit: number,
): Promise<EnvironmentServer | undefined> {
  const [protocol, dialect] = named.split(':');
  if (!serverProtocols.has(protocol)) {
    const expected = `one of ${serverProtocols.names().join(', ')}, or agentgym:DIALECT`;
    throw reverieError('FLAG_INVALID', { flag: '--protocol', value: named, expected });
  }
  if (protocol === OPENENV) return undefined;
  const entry = serverProtocols.get(protocol);
  const isCommand = !/^https?:/.test(address);
  const where = isCommand ? address.trim().split(/\s+/) : address;
  const schema = entry.schema.extend(serverKeys);
  const settings = schema.safeParse({ [protocol]: where, ...(dialect === undefined ? {} : { dialect }) });
  if (!settings.success) {
    const expected = settings.error.issues.map(({ message }) => message).join('; ');
    throw reverieError('FLAG_INVALID', { flag: '--protocol', value: `${named} of ${address}`, expected });
  }
  const { timeoutSeconds } = settings.data as { timeoutSeconds: number };
  const make = await entry.make();
  return make(settings.data as never, { timeoutSeconds, taskLimit, ...(token === undefined ? {} : { token }) });
}

/** As the first message of any client of it. */
async function speaksMcp({ url, headers }: Server): Promise<boolean> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'reverie', version: '1' } };
  try {
    const reply = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
      signal: AbortSignal.timeout(PATIENCE),
    });
    const session = reply.headers.get('mcp-session-id');
    const isIt = reply.status === 200 && (await reply.text()).includes('"protocolVersion"');
    if (session !== null) {
      await fetch(url, { method: 'DELETE', headers: { ...headers, 'mcp-session-id': session } }).catch(() => undefined);
    }
    return isIt;
  } catch {
    return false;
  }
}
