import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { checkEnvironment, describeReport } from '../../src/env/check-environment.js';
import { BatchedDream } from '../../src/worldmodel/batched-dream.js';
import { Dream } from '../../src/worldmodel/dream.js';
import type { VectorDynamics } from '../../src/worldmodel/dynamics.js';
import type { EnsembleModel } from '../../src/worldmodel/ensemble/ensemble-model.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';
import { Gridworld, gridDynamics } from '../controlled/gridworld.js';
import { TabularModel } from '../controlled/tabular-model.js';
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
  it('passes the environment checker with a learned model', async () => {
    const report = await checkEnvironment(() => new Dream({ model, starts, maxEpisodeSteps: 20 }));
    expect(report.passed, describeReport(report)).toBe(true);
  });

  it('passes the environment checker with an exact model and a start sampler', async () => {
    const exact = new TabularModel(gridDynamics({ ...grid, slip: 0.3 }));
    const sampler = (rng: Rng) => Float32Array.of(rng.int(2));
    const report = await checkEnvironment(() => new Dream({ model: exact, starts: sampler, maxEpisodeSteps: 15 }));
    expect(report.passed, describeReport(report)).toBe(true);
  });

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
        const [dreamt, lived] = [await dream.step(action), real.step(action)];
        expect(dreamt).toEqual({ ...lived, reward: Math.fround(lived.reward) });
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

describe('BatchedDream', () => {
  const rows = 64;
  const make = (options = {}) =>
    new BatchedDream({ model, rows, starts, rng: Rng.fromSeed(4), maxEpisodeSteps: 5, ...options });
  const actions = (seed: number) => Rng.fromSeed(seed).fillUniform(new Float32Array(rows), -1, 1);

  it('truncates by the clock, ends by the model, and starts again at a start state', async () => {
    const dream = make();
    let obs = await dream.reset();
    const isStart = (row: number, of: Float32Array) => {
      for (let s = 0; s < starts.length; s += 2)
        if (starts[s] === of[2 * row] && starts[s + 1] === of[2 * row + 1]) return true;
      return false;
    };
    const age = new Array<number>(rows).fill(0);
    let [ends, clocks] = [0, 0];
    for (let step = 0; step < 12; step++) {
      const result = await dream.step(actions(step));
      for (let row = 0; row < rows; row++) {
        age[row]++;
        expect(result.truncated[row]).toBe(age[row] === 5 ? 1 : 0);
        const isOver = result.terminated[row] === 1 || result.truncated[row] === 1;
        if (isOver) expect(isStart(row, result.obs)).toBe(true);
        else expect(result.obs.subarray(2 * row, 2 * row + 2)).toEqual(result.nextObs.subarray(2 * row, 2 * row + 2));
        if (isOver) age[row] = 0;
        ends += result.terminated[row];
        clocks += result.truncated[row];
      }
      obs = result.obs;
    }
    expect(obs).toHaveLength(2 * rows);
    expect(ends).toBeGreaterThan(0);
    expect(clocks).toBeGreaterThan(0);
  });

  it('truncates by doubt, and there alone', async () => {
    const free = make({ maxEpisodeSteps: undefined, step: { disagreement: true } });
    await free.reset();
    const doubts = [...(await free.step(actions(1))).disagreement!].sort((a, b) => a - b);
    const disagreementLimit = doubts[rows / 2];
    const dream = make({ maxEpisodeSteps: undefined, disagreementLimit });
    await dream.reset();
    const { disagreement, truncated } = await dream.step(actions(1));
    expect([...truncated]).toEqual([...disagreement!].map((doubt) => (doubt > disagreementLimit ? 1 : 0)));
    expect(truncated.reduce((sum, flag) => sum + flag, 0)).toBe(rows / 2 - 1);
    const mute = Object.assign(Object.create(model) as VectorDynamics, {
      imagine: async (...given: Parameters<VectorDynamics['imagine']>) => ({
        ...(await (model as VectorDynamics).imagine(...given)),
        disagreement: undefined,
      }),
    });
    const certain = make({ model: mute, disagreementLimit });
    await certain.reset();
    await expect(certain.step(actions(1))).rejects.toMatchObject({ code: 'SETTING_INVALID' });
  });

  it('is the same for the same seed, and goes on exactly from a snapshot, in another instance too', async () => {
    const [a, b] = [make(), make()];
    expect(await a.reset()).toEqual(await b.reset());
    for (let step = 0; step < 3; step++) expect(await a.step(actions(step))).toEqual(await b.step(actions(step)));
    const saved = structuredClone(a.snapshot());
    const expected = [await a.step(actions(7)), await a.step(actions(8))];
    for (const dream of [a, make({ rng: Rng.fromSeed(77) })]) {
      dream.restore(saved);
      expect([await dream.step(actions(7)), await dream.step(actions(8))]).toEqual(expected);
    }
    expect(() => make({ rows: 3 }).restore(saved)).toThrowError(expect.objectContaining({ code: 'SNAPSHOT_MISMATCH' }));
  });

  it('starts where it is told to', async () => {
    const own = Rng.fromSeed(5).fillNormal(new Float32Array(2 * rows));
    expect(await make().reset(own)).toEqual(own);
    await expect(make().reset(own.subarray(2))).rejects.toMatchObject({ code: 'SETTING_INVALID' });
  });

  it('is as it was after a step that failed', async () => {
    const dream = make();
    await dream.reset();
    const before = dream.snapshot();
    await expect(dream.step(new Float32Array(3))).rejects.toMatchObject({ code: 'DATA_MISMATCH' });
    expect(dream.snapshot()).toEqual(before);
    await expect(make().step(actions(1))).rejects.toMatchObject({ code: 'ENV_NOT_RESET' });
  });
});
