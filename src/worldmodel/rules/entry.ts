// Exact code of the domain, in the registry of backends.

import { z } from 'zod';
import type { BackendEntry } from '../tools/backend-model.js';
import type { RuledTools } from './rules-model.js';

export const rulesSection = z
  .strictObject({
    tools: z
      .union([z.enum(['all', 'reads']), z.array(z.string().min(1)).min(1)])
      .default('all')
      .describe('Tools that exact code answers: all it knows, those that change nothing (`reads`), or these by name.'),
  })
  .prefault({})
  .describe('Backend `rules`: exact code of the domain.');

export const rulesBackend: BackendEntry = {
  name: 'rules',
  summary: 'Exact code of the domain.',
  schema: rulesSection,
  trust: 'exact',
  isReal: ({ rules, tools }, settings = {}) =>
    (settings.tools ?? 'all') === 'all' && tools.every(({ name }) => rules?.tools.has(name) === true),
  carry: async () => (settings) => ({ settings, files: {} }),
  make: async () => {
    const { RulesModel } = await import('./rules-model.js');
    return ({ domain }, { tools }) =>
      domain.rules ? new RulesModel(domain, domain.rules, tools as RuledTools) : 'rules: the domain has none';
  },
};
