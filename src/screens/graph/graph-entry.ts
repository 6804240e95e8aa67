// A navigation graph as a domain that scenarios can name: `domain: { id: screen-graph, graph: shop.yaml }` (GUI Exploration Lab: pages as
// nodes, actions as edges, so that what an agent does there is exact and costs nothing).

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { DomainEntry } from '../../env/tools/domains.js';
import { perturbationSchema } from '../perturbation.js';

const SEEDS = 5;
const MOST_SEEDS = 1_000_000;

const of = 'screens of a graph';
const shownKeys = {
  screens: z.array(z.string().min(1)).min(1).optional().describe(`${of}: tasks by their names; default: all`),
  seeds: z
    .number()
    .int()
    .min(1)
    .max(MOST_SEEDS)
    .optional()
    .describe(`${of}: seeds of each task and split; default ${SEEDS}`),
  perturb: perturbationSchema.optional(),
};
const ownSettings = z.strictObject(shownKeys);
const settings = z.strictObject({
  graph: z.string().min(1).describe("screen-graph: the graph's file, YAML or JSON, relative to the scenario"),
  ...shownKeys,
});

export const screenGraphs: DomainEntry = {
  name: 'screen-graph',
  summary: 'Screens of a navigation graph in a file of your own: pages, edges, data and tasks, without a browser.',
  schema: settings,
  files: ({ graph }, folder) => (typeof graph === 'string' ? [path.resolve(folder, graph)] : []),
  make: async () => async (given, folder) => {
    const { graph, ...rest } = settings.parse(given);
    return made(path.resolve(folder, graph), rest);
  },
};

/**
 * A graph under a name of its own, for packs and plugins.
 * @param file absolute: its path, or its URL (`new URL('shop.yaml', import.meta.url)`)
 */
export function screenGraphDomain(name: string, summary: string, file: string | URL): DomainEntry {
  const graph = file instanceof URL ? fileURLToPath(file) : file;
  return {
    name,
    summary,
    schema: ownSettings,
    files: () => [graph],
    make: async () => async (given) => ({ ...(await made(graph, ownSettings.parse(given))), id: name }),
  };
}

async function made(
  file: string,
  { seeds = SEEDS, screens, perturb }: z.output<typeof ownSettings>,
): Promise<ToolsDomain> {
  const { graphDomain } = await import('./graph-domain.js');
  return graphDomain(file, { screens, seeds, ...(perturb && { perturb }) });
}
