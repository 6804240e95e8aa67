// Screens, as a user's plugin would bring them.

import { NO_COST } from '../core/cost.js';
import type { Plugin } from '../core/plugins.js';
import { isScreenDomain } from '../env/screens/screen-state.js';
import type { BackendEntry } from '../worldmodel/tools/backend-model.js';
import { screenGraphs } from './graph/graph-domain.js';
import { liftedBackend } from './lifted/entry.js';
import { type PageLlmSettings, pageLlmSection } from './page-llm/replies.js';
import { screenKind } from './screen-environment.js';

/** What calls come to by themselves. */
const mechanicsBackend: BackendEntry = {
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

const pageLlmBackend: BackendEntry = {
  name: 'page-llm',
  summary: 'A language model that writes what pages become, in stages that are checked.',
  schema: pageLlmSection,
  trust: 'proposal',
  minConfidence: ({ minConfidence }) => minConfidence as number,
  needs: ['model'],
  make: async () => {
    const { PageModel } = await import('./page-llm/page-model.js');
    return ({ domain, model, index }, settings) => {
      if (!isScreenDomain(domain)) return 'page-llm: the states of this domain are no screens';
      if (model === undefined) return 'page-llm: no language model is configured';
      return new PageModel(model, settings as unknown as PageLlmSettings, index);
    };
  },
};

export const screens: Plugin = {
  kinds: [screenKind],
  domains: [screenGraphs],
  backends: [mechanicsBackend, liftedBackend, pageLlmBackend],
  services: [
    {
      name: 'guided-agent',
      summary: 'A language model that walks over screens from one sub-goal to the next.',
      make: async () => {
        const { GuidedAgent } = await import('./guided/guided-agent.js');
        return (options: ConstructorParameters<typeof GuidedAgent>[0]) => new GuidedAgent(options);
      },
    },
    {
      name: 'wrapped-walk',
      summary: 'A walk over screens as a task that it solves.',
      make: async () => (await import('./guided/wrap-walk.js')).wrapWalk,
    },
    {
      name: 'screen-fidelity',
      summary: 'What is measured of simulated screens.',
      make: async () => (await import('./fidelity/elements.js')).SCREEN_QUESTIONS,
    },
  ],
};
