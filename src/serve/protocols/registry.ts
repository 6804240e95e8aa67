// The protocols a server speaks; each is loaded when a server starts.

import { type Entry, Registry } from '../../core/registry.js';
import type { ProtocolRoutes } from '../http/openapi.js';

export interface Protocol extends Entry<ProtocolRoutes> {
  /** Path that clients are given after the server's address. With `:env` it is one address an environment. */
  readonly path: string;
  /** Environment variables that its clients read the server's address from. */
  readonly variables?: readonly string[];
}

export const protocols = new Registry<Protocol>('protocol', [
  {
    name: 'native',
    summary: 'every verb the sessions have, as JSON over HTTP, and batches of rows in binary',
    path: '',
    make: async () => (await import('./native.js')).nativeRoutes,
  },
  {
    name: 'openenv',
    summary: 'OpenEnv, for TRL, verifiers, AgileRL and Unsloth',
    path: '',
    make: async () => (await import('./openenv.js')).openEnvRoutes,
  },
  {
    name: 'tasks',
    summary: 'the task routes that OpenEnv and the Open Reward Standard share',
    path: '',
    make: async () => (await import('./tasks.js')).tasksRoutes,
  },
  {
    name: 'ors',
    summary: "the Open Reward Standard, for TRL's OpenRewardSpec",
    path: '',
    variables: ['OPENREWARD_API_URL', 'OPENREWARD_SESSION_URL'],
    make: async () => (await import('./ors.js')).orsRoutes,
  },
  {
    name: 'mcp',
    summary: 'the Model Context Protocol over streamable HTTP, for agents with tools',
    path: '/mcp',
    make: async () => (await import('./mcp.js')).mcpRoutes,
  },
  {
    name: 'nemo',
    summary: "NeMo-Gym's gymnasium routes",
    path: '/nemo/:env',
    make: async () => (await import('./nemo.js')).nemoRoutes,
  },
]);

/** An address to be pasted. */
export interface Endpoint {
  readonly protocol: string;
  readonly url: string;
  /** Where the address is of one environment alone. */
  readonly env?: string;
  /** Environment variables that its clients read the address from. */
  readonly variables?: readonly string[];
}

/** Where clients reach each protocol on a server at `url`. */
export function endpointsAt(url: string, environments: Iterable<string>): readonly Endpoint[] {
  const names = [...environments];
  return protocols.list().flatMap(({ name: protocol, path, variables }): Endpoint[] => {
    const more = variables === undefined ? {} : { variables };
    if (!path.includes(':env')) return [{ protocol, url: `${url}${path}`, ...more }];
    return names.map((env) => ({ protocol, env, url: `${url}${path.replace(':env', env)}`, ...more }));
  });
}
