// What calls come to by themselves, in the registry of backends.

import { NO_COST } from '../core/cost.js';
import type { BackendEntry } from '../worldmodel/tools/backend-model.js';

export const mechanicsBackend: BackendEntry = {
  name: 'mechanics',
  summary:
    'What calls come to by themselves, where the domain knows: on screens, writing, typing, choosing, ticking, and refusals.',
  trust: 'proposal',
  make:
    async () =>
    ({ domain: { rules } }) => {
      const mechanics = rules?.mechanics?.bind(rules);
      if (mechanics === undefined) return 'mechanics: nothing is known of this domain without what it really is';
      return {
        version: `mechanics 2:${rules!.version}`,
        predict: ({ state, call }) => {
          const outcome = mechanics(state, call);
          if (outcome === undefined) return { declined: `what ${call.name} comes to here is not known by itself` };
          const { operations, observation, isError } = outcome;
          return { operations, observation, isError, confidence: 1, cost: NO_COST };
        },
      };
    },
};
