// The domains of τ-bench by the names that scenarios give them; their data the user brings.

import path from 'node:path';
import { type DomainEntry, definePlugin, z } from 'reverie/extend';

const settings = z.strictObject({
  data: z.string().min(1).describe('folder of the data of a domain of tau-bench, relative to the scenario'),
  release: z.enum(['tau1', 'tau2']).optional().describe('tools as first released (tau1) or as of tau2-bench (default)'),
});

const FILES = ['db.json', 'policy.md', 'tasks.json', 'tools.json'];

function entry(domain: 'airline' | 'retail'): DomainEntry {
  return {
    name: `tau-${domain}`,
    summary: `The ${domain} domain of tau-bench, whose data the user brings.`,
    schema: settings,
    files: ({ data = '.' }, folder) => FILES.map((file) => path.resolve(folder, data as string, file)),
    home: ({ data = '.' }, folder) => path.resolve(folder, data as string),
    make: async () => {
      const { loadTauDomain } = await import('./tau-domain.js');
      return async (given, folder) => {
        const { data, release } = settings.parse(given);
        return loadTauDomain({ domain, folder: path.resolve(folder, data), release });
      };
    },
  };
}

export default definePlugin({ domains: [entry('airline'), entry('retail')] });
