// Small environments, real and dreamt, as data.

import { Rng } from '../../../src/core/rng.js';
import { gridDynamics } from '../../../src/env/index.js';
import type { VectorBlueprint } from '../../../src/run/index.js';
import { fitEnsemble, TabularModel } from '../../../src/worldmodel/index.js';
import { linearSpaces, linearTransitions, smallConfig } from '../../worldmodel/linear-system.js';

export const pendulum: VectorBlueprint = {
  kind: 'vector',
  source: 'real',
  env: { id: 'pendulum', maxEpisodeSteps: 30 },
};

const map = ['S..', '.#H', '..G'];

/** Gridworld, dreamt from its own tables. */
export const gridDream: VectorBlueprint = {
  kind: 'vector',
  source: 'dream',
  of: { id: 'gridworld', map, slip: 0.2 },
  id: 'grid-dream',
  model: new TabularModel(gridDynamics({ map, slip: 0.2, stepReward: -0.1 })).snapshot(),
  starts: Float32Array.of(0, 3),
  maxEpisodeSteps: 20,
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
    source: 'dream',
    of: { id: 'pendulum' },
    id: 'linear-dream',
    model: snapshot,
    starts,
    maxEpisodeSteps: 25,
  };
}
