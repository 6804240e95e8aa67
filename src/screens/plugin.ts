// Screens, as a user's plugin would bring them.

import type { Plugin } from '../core/plugins.js';
import { screenGraphs } from './graph/graph-domain.js';
import { screenKind } from './kind.js';
import { liftedBackend } from './lifted/entry.js';
import { mechanicsBackend } from './mechanics-backend.js';
import { pageLlmBackend } from './page-llm/entry.js';

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
