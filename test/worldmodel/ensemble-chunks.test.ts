import { beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import type { EnsembleModel } from '../../src/worldmodel/ensemble/ensemble-model.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';
import { drawElites } from '../../src/worldmodel/ensemble/propagation.js';
import { linearSpaces, linearTransitions, smallConfig } from './linear-system.js';
import { oneStep } from './one-step.js';

// More rows than a chunk has, and a number that no chunk or tile divides.
const ROWS = 9_011;

describe('a step of more rows than are worked off at once', () => {
  let model: EnsembleModel;
  const { obs, action } = linearTransitions(ROWS, Rng.fromSeed(99));

  beforeAll(async () => {
    const config = { ...smallConfig, hidden: [...smallConfig.hidden], maxEpochs: 1 };
    const data = linearTransitions(1000, Rng.fromSeed(1));
    ({ model } = await fitEnsemble(data, linearSpaces, config, { rng: Rng.fromSeed(2) }));
    return () => model.close();
  });

  it.each([0, 3])('gives every row its own elite and its own noise, from word %i of a stream', async (skipped) => {
    const [given, expected] = [Rng.fromSeed(7), Rng.fromSeed(7)];
    for (const rng of [given, expected]) rng.skip(skipped);
    const { nextObs, reward } = await oneStep(model, obs, action, given);
    const { mean, std } = await model.stepElites(obs, action, ROWS);
    const elite = drawElites(ROWS, mean.length / ROWS / 3, expected);
    const noise = expected.fillNormal(new Float32Array(ROWS * 3));
    let worst = 0;
    for (let at = 0; at < noise.length; at++) {
      const [row, j] = [Math.floor(at / 3), at % 3];
      const from = elite[row] * noise.length + at;
      const sample = mean[from] + std[from] * noise[at];
      const [got, wanted] = j < 2 ? [nextObs[2 * row + j], obs[2 * row + j] + sample] : [reward[row], sample];
      worst = Math.max(worst, Math.abs(got - wanted));
    }
    expect(worst).toBeLessThan(1e-5);
    expect(given.state()).toEqual(expected.state());
  });
});
