// The protocols a server speaks. Each is a folder beside this file and an entry here; a server mounts what is registered.

import { type Entry, Registry } from '../../core/registry.js';
import type { Facade } from '../http/openapi.js';

export interface Protocol extends Entry<Facade> {
  /** Path that clients are given after the server's address. With `:env` it is one address an environment. */
  readonly path: string;
  /** Environment variables that its clients read the server's address from. */
  readonly variables?: readonly string[];
}

export const protocols = new Registry<Protocol>('protocol');

protocols.register({
  name: 'native',
  summary: 'every verb the sessions have, as JSON over HTTP, and batches of rows in binary',
  path: '',
  make: async () => (await import('./native/native.js')).nativeFacade,
});
protocols.register({
  name: 'openenv',
  summary: 'OpenEnv, for TRL, verifiers, AgileRL and Unsloth',
  path: '',
  make: async () => (await import('./openenv/openenv.js')).openEnvFacade,
});
protocols.register({
  name: 'tasks',
  summary: 'the task routes that OpenEnv and the Open Reward Standard share',
  path: '',
  make: async () => (await import('./tasks.js')).tasksFacade,
});
protocols.register({
  name: 'ors',
  summary: "the Open Reward Standard, for TRL's OpenRewardSpec",
  path: '',
  variables: ['OPENREWARD_API_URL', 'OPENREWARD_SESSION_URL'],
  make: async () => (await import('./ors.js')).orsFacade,
});
protocols.register({
  name: 'mcp',
  summary: 'the Model Context Protocol over streamable HTTP, for agents with tools',
  path: '/mcp',
  make: async () => (await import('./mcp.js')).mcpFacade,
});
protocols.register({
  name: 'nemo',
  summary: "NeMo-Gym's gymnasium routes",
  path: '/nemo/:env',
  make: async () => (await import('./nemo.js')).nemoFacade,
});

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
