// Text games, as a user's plugin would bring them.

import type { Plugin } from '../core/plugins.js';
import { operatorsBackend } from './operators/entry.js';
import { textGames } from './pddl/games-domain.js';

const induceRecorded = {
  name: 'induced-operators',
  summary: 'Operators from recorded steps.',
  make: async () => (await import('./operators/induce-operators.js')).induceRecorded,
};

const fitted = {
  name: 'operators',
  summary: 'Induces preconditions and effects.',
  make: async () => (await import('./operators/induce-operators.js')).fitOperators,
};

export const games: Plugin = {
  domains: [textGames],
  backends: [operatorsBackend],
  fittedBackends: [fitted],
  services: [induceRecorded],
};
