// Rules found in logs and accepted by a person, in the registry of backends.

import type { BackendEntry } from '../tools/backend-model.js';

export const inducedBackend: BackendEntry = {
  name: 'induced',
  summary: 'Rules found in logs, as far as a person has accepted them.',
  trust: 'proposal',
  make: async () => {
    const { InducedModel } = await import('./induced-model.js');
    return ({ domain: { induced } }) => {
      if (induced === undefined) return 'induced: the domain has no induced.yaml';
      return induced.rules.some(({ accepted }) => accepted)
        ? new InducedModel(induced)
        : 'induced: no rule of induced.yaml is accepted';
    };
  },
};
