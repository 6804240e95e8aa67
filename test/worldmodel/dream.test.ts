import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { Dream } from '../../src/worldmodel/dream.js';
import type { EnsembleModel } from '../../src/worldmodel/ensemble/ensemble-model.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';
import { Gridworld, TabularModel } from '../controlled/gridworld.js';
import { environmentContract } from '../env/environment.contract.js';
import { linearSpaces, linearTransitions, smallConfig } from './linear-system.js';

const grid = { map: ['S..', '.#H', '..G'], slip: 0, stepReward: -0.1 };
let model: EnsembleModel;
const starts = linearTransitions(50, Rng.fromSeed(9)).obs;

beforeAll(async () => {
  const batch = linearTransitions(600, Rng.fromSeed(1), { edge: 2 });
  const config = { ...smallConfig, hidden: [16, 16], maxEpochs: 8, learnTermination: true };
  ({ model } = await fitEnsemble(batch, linearSpaces, config, { rng: Rng.fromSeed(2) }));
});
afterAll(() => model.close());

describe('Dream', () => {
  environmentContract('a learned model', async () => new Dream({ model, starts, maxEpisodeSteps: 20 }));

  it('lives what the real environment lives when its model is exact', async () => {
    const real = new Gridworld(grid, 30);
    const dream = new Dream({
      model: new TabularModel(real.dynamics),
      starts: Float32Array.of(0),
      maxEpisodeSteps: 30,
    });
    const actions = Rng.fromSeed(3);
    for (let episode = 0; episode < 10; episode++) {
      expect((await dream.reset()).observation).toEqual(real.reset().observation);
      for (let isOver = false; !isOver; ) {
        const action = Float32Array.of(actions.int(4));
        const [simulated, lived] = [await dream.step(action), real.step(action)];
        expect(simulated).toEqual({ ...lived, reward: Math.fround(lived.reward) });
        isOver = lived.terminated || lived.truncated;
      }
    }
  });

  it('starts from each of the given states, and tells of disagreement when asked', async () => {
    const dream = new Dream({ model, starts: Float32Array.of(0, 0, 1, 1), step: { disagreement: true } });
    const seen = new Set<number>();
    for (let seed = 0; seed < 20; seed++) seen.add((await dream.reset({ seed })).observation[0]);
    expect(seen).toEqual(new Set([0, 1]));
    const { info, truncated } = await dream.step(Float32Array.of(0));
    expect(info['disagreement']).toBeGreaterThan(0);
    expect(truncated).toBe(false);
  });

  it('refuses a second step before the first has answered, and a snapshot of another model', async () => {
    const dream = new Dream({ model, starts });
    await dream.reset({ seed: 1 });
    const first = dream.step(Float32Array.of(0));
    await expect(dream.step(Float32Array.of(0))).rejects.toMatchObject({ code: 'ENV_NOT_RESET' });
    await first;
    const { env, state } = await dream.snapshot();
    const foreign = { env, state: { ...(state as object), modelVersion: 'other' } };
    await expect(dream.restore(foreign)).rejects.toMatchObject({ code: 'SNAPSHOT_MISMATCH' });
  });

  it('refuses start states that are none', () => {
    const make = (bad: Float32Array) => () => new Dream({ model, starts: bad });
    expect(make(new Float32Array(3))).toThrowError(expect.objectContaining({ code: 'SETTING_INVALID' }));
    expect(make(new Float32Array(0))).toThrowError(expect.objectContaining({ code: 'SETTING_INVALID' }));
    expect(make(Float32Array.of(1, Number.NaN))).toThrowError(expect.objectContaining({ code: 'NON_FINITE_VALUE' }));
  });
});
