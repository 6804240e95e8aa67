// Small environments, real and simulated, as data.

import type { VectorBlueprint } from '../../../src/run/serve-vector.js';

export const pendulum: VectorBlueprint = {
  kind: 'vector',
  env: { id: 'pendulum', maxEpisodeSteps: 30 },
};

/** A world with discrete actions. */
export const cart: VectorBlueprint = {
  kind: 'vector',
  env: { id: 'cartpole', maxEpisodeSteps: 20 },
};
