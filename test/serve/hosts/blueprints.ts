// Small environments, real and dreamt, as data.

import { Rng } from '../../../src/core/rng.js';
import type { VectorBlueprint } from '../../../src/run/serve-vector.js';
import { fitEnsemble } from '../../../src/worldmodel/ensemble/fit.js';
import { linearSpaces, linearTransitions, smallConfig } from '../../worldmodel/linear-system.js';

export const pendulum: VectorBlueprint = {
  kind: 'vector',
  env: { id: 'pendulum', maxEpisodeSteps: 30 },
};

/** A world with discrete actions. */
export const cart: VectorBlueprint = {
  kind: 'vector',
  env: { id: 'cartpole', maxEpisodeSteps: 20 },
};

/** A dream of a linear system by an ensemble that was fitted to a few rows of it. */
export async function ensembleDream(): Promise<VectorBlueprint> {
  const data = linearTransitions(400, Rng.fromSeed(1));
  const config = { ...smallConfig, hidden: [16, 16], maxEpochs: 2 };
  const { model } = await fitEnsemble(data, linearSpaces, config, { rng: Rng.fromSeed(2) });
  const snapshot = model.snapshot();
  await model.close();
  const starts = data.obs.slice(0, 40);
  return {
    kind: 'vector',
    env: { id: 'pendulum' },
    dream: { id: 'linear-dream', model: snapshot, starts, maxEpisodeSteps: 25 },
  };
}
