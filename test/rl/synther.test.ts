// Generative replay: rows drawn from a diffusion are like those it was fitted to, say that they are synthetic and mix with real ones in a learner's batches in any share.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { MixtureSampler } from '../../src/replay/mixture.js';
import { UniformSelector } from '../../src/replay/selectors.js';
import type { TransitionBatch } from '../../src/replay/transition.js';
import { makeSac } from '../../src/rl/soft-actor-critic.js';
import { fitDiffusion, levelsDown, preconditioning, type RowDiffusion } from '../../src/rl/synther.js';
import { box, spacesOf } from './batches.js';

const ROWS = 1000;

/** Points on a line in two parts, moved by the action; the reward is twice the action, an end where the first element is above 0. */
function lived(): TransitionBatch {
  const rng = Rng.fromSeed(1);
  const action = rng.fillUniform(new Float32Array(ROWS), -1, 1);
  const first = Float32Array.from(action, () => (rng.uniform() < 0.5 ? -1 : 1) + 0.1 * rng.normal());
  const obs = Float32Array.from({ length: 2 * ROWS }, (_, i) => (i % 2 === 0 ? first[i >> 1] : 7));
  return {
    ...{ rows: ROWS, obs, action },
    reward: action.map((a) => 2 * a),
    nextObs: obs.map((value, i) => (i % 2 === 0 ? value + action[i >> 1] : value)),
    terminated: Uint8Array.from(first, (value) => Number(value > 0)),
    truncated: new Uint8Array(ROWS),
  };
}

const OPTIONS = { hidden: 64, blocks: 2, batchSize: 128, updates: 1500, averaging: 0.02 };
const fitted = (options = {}) =>
  fitDiffusion(lived(), { obsDim: 2, actionDim: 1 }, { ...OPTIONS, ...options }, { rng: Rng.fromSeed(2) });
const mean = (values: ArrayLike<number>) => Array.from(values).reduce((sum, value) => sum + value, 0) / values.length;

describe('rows drawn from a diffusion', () => {
  let model: RowDiffusion;
  let drawn: TransitionBatch;
  beforeAll(async () => {
    model = await fitted();
    drawn = await model.draw(600, Rng.fromSeed(3));
  }, 120_000);
  afterAll(() => model.close());

  it('have the parts and the laws of those that were lived', () => {
    const first = Array.from({ length: drawn.rows }, (_, row) => drawn.obs[2 * row]);
    const near = first.filter((value) => Math.abs(Math.abs(value) - 1) < 0.35).length / drawn.rows;
    expect(near).toBeGreaterThan(0.85);
    expect(mean(first.map((value) => Number(value > 0)))).toBeGreaterThan(0.3);
    expect(mean(first.map((value) => Number(value > 0)))).toBeLessThan(0.7);
    expect(mean(first.map((value, row) => Number(value > 0 === (drawn.terminated[row] === 1))))).toBeGreaterThan(0.95);
    expect(mean(drawn.reward.map((reward, row) => Math.abs(reward - 2 * drawn.action[row])))).toBeLessThan(0.25);
    const moved = first.map((value, row) => Math.abs(drawn.nextObs[2 * row] - value - drawn.action[row]));
    expect(mean(moved)).toBeLessThan(0.25);
    expect(Array.from({ length: drawn.rows }, (_, row) => drawn.obs[2 * row + 1]).every((value) => value === 7)).toBe(
      true,
    );
    expect(drawn.action.every((a) => a >= -1 && a <= 1)).toBe(true);
  });

  it('are the same for the same seeds, and fewer are the first of more', async () => {
    const few = await model.draw(10, Rng.fromSeed(3));
    expect(few.obs).toEqual(drawn.obs.slice(0, 20));
    const small = { updates: 60, hidden: 16 };
    const [one, two] = [await fitted(small), await fitted(small)];
    expect(one.modelVersion).toBe(two.modelVersion);
    expect(one.modelVersion).not.toBe(model.modelVersion);
    await Promise.all([one.close(), two.close()]);
  });

  it('are learned from in any share, with where they come from', async () => {
    const real = new ReplayBuffer({ capacity: ROWS, obsDim: 2, actionDim: 1, source: 'real' });
    const each = { episode: Float64Array.from({ length: ROWS }, (_, i) => i), step: new Uint32Array(ROWS) };
    const from = { scenario: 'line', seed: 1 };
    real.append(lived(), {
      ...from,
      ...each,
      source: 'real',
      backend: 'real',
      modelVersion: '',
      policyVersion: 'none',
    });
    const synthetic = new ReplayBuffer({ capacity: 600, obsDim: 2, actionDim: 1, source: 'synthetic' });
    synthetic.append(drawn, model.provenance(drawn.rows, from));
    expect(synthetic.provenanceAt(5)).toMatchObject({
      backend: 'diffusion',
      modelVersion: model.modelVersion,
      episode: 5,
    });
    for (const realRatio of [0.5]) {
      const sides = {
        real: { buffer: real, selector: new UniformSelector(real) },
        synthetic: { buffer: synthetic, selector: new UniformSelector(synthetic) },
      };
      const batch = new MixtureSampler({ ...sides, realRatio }).sampleSteps(20, 16, Rng.fromSeed(5));
      const sac = await makeSac({ hidden: [16], batchSize: 16 }, spacesOf(2, box(1, -1, 1)), Rng.fromSeed(6));
      const { criticLoss } = await sac.update(batch, 20, Rng.fromSeed(7));
      expect(Number.isFinite(criticLoss)).toBe(true);
      await sac.close();
    }
  });
});

describe('noise levels', () => {
  it('come down from much to none, and leave inputs and targets of unit size', () => {
    const levels = levelsDown(5);
    expect(levels[0]).toBeCloseTo(80);
    expect(levels.at(-2)).toBeCloseTo(0.002);
    expect(levels.at(-1)).toBe(0);
    for (const level of [0.01, 1, 50]) {
      const { skip, out, in: scale } = preconditioning(level);
      // Of data of variance 1: the noisy input's variance, and that of what is to be answered.
      expect(scale ** 2 * (1 + level ** 2)).toBeCloseTo(1);
      expect(((1 - skip) ** 2 + skip ** 2 * level ** 2) / out ** 2).toBeCloseTo(1);
    }
  });
});
