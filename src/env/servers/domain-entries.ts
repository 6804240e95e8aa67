// Servers as domains that scenarios name by their protocol: `domain: { openenv: http://127.0.0.1:8000 }`.

import type { DomainEntry } from '../tools/domains.js';
import { serverProtocols } from './protocols.js';
import { type ServerProtocol, type ServerSettings, serverKeys } from './server-protocol.js';

export const serverDomains: readonly DomainEntry[] = serverProtocols.list().map(entryOf);

function entryOf(protocol: ServerProtocol): DomainEntry {
  const { name, summary } = protocol;
  const schema = protocol.schema.extend(serverKeys);
  return {
    name,
    summary,
    namedBy: name,
    schema,
    make: async () => {
      const { serverDomain } = await import('./server-domain.js');
      const serverOf = await protocol.make();
      return async (given) => {
        const settings = schema.parse(given) as unknown as ServerSettings;
        const { timeoutSeconds, taskLimit, environment } = settings;
        return serverDomain(protocol, serverOf(settings, { timeoutSeconds, taskLimit, environment }), settings);
      };
    },
  };
}
