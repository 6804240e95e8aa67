// Soft actor-critics at their border: steps in one call and in many, where the bootstrap stops, and what is refused with nothing
// learned. What they learn is pinned by native-learners.test.ts; that they learn, by learning.test.ts.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import type { TrainingDevice } from '../../src/nn/trainer.js';
import { makeDroq, makeRedq, makeSac, makeSimba } from '../../src/rl/soft-actor-critic.js';
import { make as build, distance, lacksCompiler } from '../native/native-build.js';
import { box, randomBatch, spacesOf } from './batches.js';

const hasAddon = !lacksCompiler('sac.test.ts');
if (hasAddon) build('addon');
const DEVICES: readonly TrainingDevice[] = hasAddon ? ['cpu', 'native'] : ['cpu'];

const ROWS = 6;
const shared = {
  ...{ hidden: [4, 3], activation: 'tanh' as const, batchSize: ROWS, tau: 0.1, initAlpha: 0.3, rewardScale: 2 },
};
const settings = { ...shared, lr: 1e-3 };
const spaces = spacesOf(2, box(1, -3, 1));

describe.each(DEVICES)('SAC on %s', (device) => {
  const makeOne = () => makeSac(settings, spaces, Rng.fromSeed(4), device);

  it('runs K steps in one call as in K calls', async () => {
    const batch = randomBatch(ROWS * 3, 2, 1, Rng.fromSeed(5));
    const [together, apart] = [await makeOne(), await makeOne()];
    await together.update(batch, 3, Rng.fromSeed(1));
    const noise = Rng.fromSeed(1).fillNormal(new Float32Array(ROWS * 6));
    const part = (k: number) => noise.subarray(k * ROWS, (k + 1) * ROWS);
    for (let k = 0; k < 3; k++) {
      await apart.update(rowsOf(batch, k * ROWS, (k + 1) * ROWS), 1, replay([part(k), part(3 + k)]));
    }
    expect(together.state()).toEqual(apart.state());
    await Promise.all([together.close(), apart.close()]);
  });

  it('stops the bootstrap at terminated rows and not at truncated ones', async () => {
    const sac = await makeOne();
    const flags = { terminated: Uint8Array.of(1, 0, 0, 1), truncated: Uint8Array.of(0, 1, 0, 1) };
    const batch = { ...randomBatch(4, 2, 1, Rng.fromSeed(5)), ...flags };
    const shifted = { ...batch, nextObs: batch.nextObs.map((x) => x + 5) };
    const [a, b] = [await sac.tdErrors(batch, Rng.fromSeed(1)), await sac.tdErrors(shifted, Rng.fromSeed(1))];
    expect([...a].map((value, i) => value === b[i])).toEqual([true, false, false, true]);
    await sac.close();
  });

  it('begins as PyTorch does, and by the preset of MBPO as the code of its paper: without biases, and with larger weights', async () => {
    const first = async (preset?: 'mbpo') => {
      const sac = await makeSac(
        { ...settings, hidden: [256, 256], criticLayerNorm: false, preset },
        spaces,
        Rng.fromSeed(4),
        device,
      );
      const { theta } = sac.state().arrays;
      await sac.close();
      const weights = theta.filter((x) => x !== 0);
      // Of second layers.
      return { biases: theta.length - weights.length, size: Math.hypot(...weights.slice(5000, 60_000)) };
    };
    const [plain, published] = [await first(), await first('mbpo')];
    expect(plain.biases).toBe(0);
    // Two critics of two layers and an output, and a policy with an output for mean and deviation.
    expect(published.biases).toBe(2 * (256 + 256 + 1) + 256 + 256 + 2);
    expect(published.size / plain.size).toBeGreaterThan(1.5);
  });

  it('learns nothing from data that is not finite or not of its shape', async () => {
    const sac = await makeOne();
    const before = sac.state();
    const good = randomBatch(ROWS, 2, 1, Rng.fromSeed(5));
    const reward = good.reward.slice();
    reward[2] = Number.NaN;
    const obs = good.obs.slice();
    obs[3] = Number.POSITIVE_INFINITY;
    const refusal = (mentioned: string) => ({
      code: 'NON_FINITE_VALUE',
      message: expect.stringContaining(mentioned),
    });
    const update = (batch: typeof good) => sac.update(batch, 1, Rng.fromSeed(1));
    await expect(update({ ...good, reward })).rejects.toMatchObject(refusal('row 2'));
    await expect(update({ ...good, obs })).rejects.toMatchObject(refusal('obs'));
    await expect(sac.update(good, 2, Rng.fromSeed(1))).rejects.toMatchObject({ code: 'DATA_MISMATCH' });
    expect(sac.state()).toEqual(before);
    await sac.close();
  });

  it('refuses unknown settings, discrete actions and unbounded boxes', async () => {
    const rng = Rng.fromSeed(0);
    await expect(makeSac({ gama: 0.9 } as never, spaces, rng)).rejects.toMatchObject({
      code: 'SETTING_INVALID',
      message: expect.stringContaining('"gamma"'),
    });
    const discrete = spacesOf(2, { type: 'discrete', n: 3, start: 0 });
    await expect(makeSac({}, discrete, rng)).rejects.toMatchObject({ code: 'SCENARIO_UNFIT' });
    await expect(makeSac({}, spacesOf(2, box(1, null, 1)), rng)).rejects.toMatchObject({ code: 'SCENARIO_UNFIT' });
  });
});

describe('a learner with many steps of its critics', () => {
  it('moves the policy once in so many, and counts across calls', async () => {
    const redq = await makeRedq({ ...shared, policyEvery: 4 }, spaces, Rng.fromSeed(4));
    const step = async (steps: number) => {
      const before = redq.policy().version;
      const metrics = await redq.update(randomBatch(steps * ROWS, 2, 1, Rng.fromSeed(1)), steps, Rng.fromSeed(2));
      expect(metrics.policyLoss !== undefined).toBe(redq.policy().version !== before);
      return redq.policy().version !== before;
    };
    expect([await step(3), await step(1), await step(2), await step(5)]).toEqual([false, true, false, true]);
    expect(redq.gradientSteps).toBe(11);
    await redq.close();
  });

  it('learns nothing from a batch that fails midway', async () => {
    const droq = await makeDroq({ ...shared, policyEvery: 1 }, spaces, Rng.fromSeed(4));
    const before = droq.state();
    const rows = randomBatch(2 * ROWS, 2, 1, Rng.fromSeed(1));
    rows.reward.fill(3e38, ROWS);
    await expect(droq.update(rows, 2, Rng.fromSeed(2))).rejects.toMatchObject({ code: 'NON_FINITE_VALUE' });
    expect(droq.state()).toEqual(before);
    await droq.close();
  });
});

describe.each(DEVICES)('SimBa on %s', (device) => {
  /** What it does and knows after a few steps on observations in these units: value, then value times `scale` plus `shift`. */
  const learnedIn = async (scale: number, shift: number) => {
    const simba = await makeSimba({ ...shared, hidden: [4, 4], policyEvery: 2 }, spaces, Rng.fromSeed(4), device);
    const batch = randomBatch(ROWS * 4, 2, 1, Rng.fromSeed(5));
    const inUnits = (obs: Float32Array) => obs.map((value) => value * scale + shift);
    const rows = { ...batch, obs: inUnits(batch.obs), nextObs: inUnits(batch.nextObs) };
    simba.standardise(rows.obs);
    await simba.update(rows, 4, Rng.fromSeed(1));
    const { action } = await simba.policy().act(rows.obs, rows.rows, Rng.fromSeed(2));
    const { critics } = simba.state().arrays;
    const tdErrors = await simba.tdErrors(rows, Rng.fromSeed(3));
    await simba.close();
    return { action, critics, tdErrors };
  };

  it('learns the same whatever the units of observations are', async () => {
    const [plain, other] = [await learnedIn(8, 0), await learnedIn(32, 100)];
    for (const [name, values] of Object.entries(plain)) {
      // A thousandth is added to every deviation.
      expect(distance(other[name as keyof typeof other], values), name).toBeLessThan(1e-3);
    }
  });
});

type Batch = ReturnType<typeof randomBatch>;

function rowsOf(batch: Batch, from: number, to: number): Batch {
  const cut = <T extends Float32Array | Uint8Array>(column: T) => {
    const width = column.length / batch.rows;
    return column.slice(from * width, to * width) as T;
  };
  const { obs, action, reward, terminated, truncated, nextObs } = batch;
  return {
    rows: to - from,
    obs: cut(obs),
    action: cut(action),
    reward: cut(reward),
    terminated: cut(terminated),
    truncated: cut(truncated),
    nextObs: cut(nextObs),
  };
}

/** A stream that answers given normals. */
function replay(draws: Float32Array[]): Rng {
  const fillNormal = (out: Float32Array) => {
    out.set(draws.shift()!);
    return out;
  };
  return { fillNormal } as unknown as Rng;
}
