// Protocols of servers that can be the real environment. A new one is a folder here and a line below.

import { Registry } from '../../core/registry.js';
import { mcp } from './mcp/entry.js';
import { openEnv } from './openenv/entry.js';
import { ors } from './ors/entry.js';
import type { ServerProtocol } from './server-protocol.js';

/** By the key that a scenario names them with. */
export const serverProtocols = new Registry<ServerProtocol>('server protocol', [openEnv, ors, mcp]);
