// Many dreams on one model: batched, and none can tell.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ImagineOptions } from '../../../src/core/dynamics.js';
import { Rng } from '../../../src/core/rng.js';
import { BatchingModel } from '../../../src/serve/hosts/batching-model.js';
import { Dream } from '../../../src/worldmodel/dream.js';
import type { EnsembleModel } from '../../../src/worldmodel/ensemble/ensemble-model.js';
import { fitEnsemble } from '../../../src/worldmodel/ensemble/fit.js';
import { linearSpaces, linearTransitions, smallConfig } from '../../worldmodel/linear-system.js';
import { oneStep } from '../../worldmodel/one-step.js';

let model: EnsembleModel;
const starts = linearTransitions(50, Rng.fromSeed(9)).obs;

beforeAll(async () => {
  const config = { ...smallConfig, hidden: [16, 16], maxEpochs: 2 };
  ({ model } = await fitEnsemble(linearTransitions(400, Rng.fromSeed(1)), linearSpaces, config, {
    rng: Rng.fromSeed(2),
  }));
});
afterAll(() => model.close());

function batching(maxRows = 64) {
  const batches: number[] = [];
  const imagine: typeof model.imagine = (carry, ...rest) => {
    batches.push(carry.rows);
    return model.imagine(carry, ...rest);
  };
  const counted = new Proxy(model, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (key === 'imagine') return imagine;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { batches, shared: new BatchingModel(counted, maxRows) };
}

async function episode(dream: Dream, seed: number): Promise<unknown[]> {
  const rng = Rng.fromSeed(seed);
  const seen: unknown[] = [await dream.reset({ seed })];
  for (let t = 0; t < 8; t++) seen.push(await dream.step(Float32Array.of(2 * rng.uniform() - 1)));
  seen.push(await dream.snapshot());
  return seen;
}

const OPTIONS: readonly ImagineOptions[] = [
  {},
  { propagation: 'mean' },
  { disagreement: true },
  { deterministic: true },
];

describe('dreams that share a model', () => {
  it('live as each would alone, whatever they ask of it', async () => {
    const { shared, batches } = batching();
    const dreams = Array.from({ length: 16 }, (_, i) => ({ step: OPTIONS[i % OPTIONS.length], starts }));
    const alone: unknown[] = [];
    for (const [i, options] of dreams.entries()) alone.push(await episode(new Dream({ ...options, model }), i));
    const together = dreams.map((options, i) => episode(new Dream({ ...options, model: shared }), i));
    expect(await Promise.all(together)).toEqual(alone);
    expect(batches).toHaveLength(8 * OPTIONS.length);
    expect(new Set(batches)).toEqual(new Set([4]));
  });

  it('are asked in batches no larger than allowed', async () => {
    const { shared, batches } = batching(16);
    await Promise.all(Array.from({ length: 40 }, (_, i) => episode(new Dream({ starts, model: shared }), i)));
    expect(Math.max(...batches)).toBe(16);
    expect(batches.reduce((sum, rows) => sum + rows)).toBe(40 * 8);
  });

  it('are not harmed by one whose row the model refuses', async () => {
    const { shared, batches } = batching();
    const rows = [0, 1, 2].map((i) => ({ obs: Float32Array.of(i, 0), rng: Rng.fromSeed(i) }));
    const action = Float32Array.of(0.5);
    const alone = await Promise.all(rows.map(({ obs }, i) => oneStep(model, obs, action, Rng.fromSeed(i))));
    const push = rows.map((_, i) => Float32Array.of(i === 1 ? Number.NaN : 0.5));
    const [first, bad, last] = await Promise.allSettled(
      rows.map(({ obs, rng }, i) => oneStep(shared, obs, push[i], rng)),
    );
    expect(batches).toEqual([3, 1, 1, 1]);
    expect(first).toEqual({ status: 'fulfilled', value: alone[0] });
    expect(bad).toMatchObject({ status: 'rejected', reason: { code: 'NON_FINITE_VALUE' } });
    expect(last).toEqual({ status: 'fulfilled', value: alone[2] });
    expect(rows[1].rng.state()).toEqual(Rng.fromSeed(1).state());
    const moved = Rng.fromSeed(2);
    await oneStep(model, Float32Array.of(2, 0), action, moved);
    expect(rows[2].rng.state()).toEqual(moved.state());
  });
});
