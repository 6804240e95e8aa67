import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { Dream } from '../../src/worldmodel/dream.js';
import type { EnsembleModel } from '../../src/worldmodel/ensemble/ensemble-model.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';
import { isWithin, seenRange, widenedRange } from '../../src/worldmodel/seen-range.js';
import { temporaryFolder } from '../temporary-folder.js';
import { linearSpaces, linearTransitions, smallConfig } from './linear-system.js';

const rows = linearTransitions(400, Rng.fromSeed(1));
const folder = temporaryFolder('seen');
let model: EnsembleModel;

beforeAll(async () => {
  ({ model } = await fitEnsemble(rows, linearSpaces, { ...smallConfig, maxEpochs: 2 }, { rng: Rng.fromSeed(2) }));
});
afterAll(async () => {
  await model.close();
  rmSync(folder, { recursive: true });
});

describe('what a model was shown', () => {
  it('is the range of the observations on both sides of a step, the rewards that one row of twenty is below and above, and whether there are ends', () => {
    const { low, high, lowReward, highReward, ends } = seenRange(rows, 2);
    const column = (j: number) => [...rows.obs, ...rows.nextObs].filter((_, at) => at % 2 === j);
    expect(low).toEqual([Math.min(...column(0)), Math.min(...column(1))]);
    expect(high).toEqual([Math.max(...column(0)), Math.max(...column(1))]);
    expect(rows.reward.filter((reward) => reward < lowReward).length).toBe(19);
    expect(rows.reward.filter((reward) => reward > highReward).length).toBe(19);
    expect(ends).toBe(false);
    expect(seenRange(linearTransitions(400, Rng.fromSeed(1), { edge: 1 }), 2).ends).toBe(true);
  });

  it('is widened by a share of its width, and holds no NaN', () => {
    const range = widenedRange({ low: [0, -1], high: [2, -1] }, 0.5);
    expect(isWithin(Float32Array.of(9, 9, 2.9, -1), 1, range)).toBe(true);
    expect(isWithin(Float32Array.of(3.1, -1), 0, range)).toBe(false);
    expect(isWithin(Float32Array.of(1, -1.01), 0, range)).toBe(false);
    expect(isWithin(Float32Array.of(Number.NaN, -1), 0, range)).toBe(false);
  });

  it('ends a dream that leaves it, unless it is told to go on', async () => {
    const far = Float32Array.of(1e4, 1e4);
    const dream = new Dream({ model, starts: far });
    await dream.reset({ seed: 0 });
    const left = await dream.step(Float32Array.of(0));
    expect(left).toMatchObject({ truncated: true, terminated: false, info: { outOfRange: true } });
    const endless = new Dream({ model, starts: far, range: null });
    await endless.reset({ seed: 0 });
    expect(await endless.step(Float32Array.of(0))).toMatchObject({ truncated: false, info: {} });
    const near = new Dream({ model, starts: Float32Array.of(0, 0) });
    await near.reset({ seed: 0 });
    expect(await near.step(Float32Array.of(0))).toMatchObject({ truncated: false, info: {} });
  });
});
