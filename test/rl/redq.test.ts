// Ensembles of critics held against SAC, whose gradients are held against a reference: where REDQ has two critics and draws
// both, its critics' step is SAC's.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { dropoutMask, makeDroq, makeRedq, makeSac } from '../../src/rl/soft-actor-critic.js';
import { box, randomBatch, spacesOf } from './batches.js';

const ROWS = 6;
const spaces = spacesOf(2, box(1, -3, 1));
const shared = {
  hidden: [4, 3],
  activation: 'tanh' as const,
  batchSize: ROWS,
  tau: 0.1,
  initAlpha: 0.3,
  rewardScale: 2,
};
const batch = randomBatch(ROWS, 2, 1, Rng.fromSeed(5));
const noise = Rng.fromSeed(7).fillNormal(new Float32Array(ROWS));
const nextNoise = Rng.fromSeed(8).fillNormal(new Float32Array(ROWS));

/** A stream that answers given normals. */
function replay(draws: Float32Array[]): Rng {
  const fillNormal = (out: Float32Array) => {
    out.set(draws.shift()!);
    return out;
  };
  return { fillNormal, permutation: (n: number) => Uint32Array.from({ length: n }, (_, i) => i) } as unknown as Rng;
}

/** SAC, and REDQ of two critics with the same weights; both critics alike where `isTwin`. */
async function both(lr: number, isTwin = false) {
  const sac = await makeSac(
    { ...shared, criticLr: lr, actorLr: lr, alphaLr: lr, criticLayerNorm: false },
    spaces,
    Rng.fromSeed(4),
  );
  const redq = await makeRedq({ ...shared, lr, critics: 2, drawn: 2, policyEvery: 1 }, spaces, Rng.fromSeed(9));
  const state = sac.state();
  const size = state.arrays.target.length;
  const critics = state.arrays.theta.subarray(0, size);
  if (isTwin) {
    let at = 0;
    for (const length of [3 * 4, 4, 4 * 3, 3, 3, 1]) {
      critics.copyWithin(at + length, at, at + length);
      at += 2 * length;
    }
    state.arrays.target.set(critics);
    sac.restore(state);
  }
  const own = redq.state();
  const theta = state.arrays.theta.slice(size);
  redq.restore({ ...own, arrays: { ...own.arrays, critics: critics.slice(), target: critics.slice(), theta } });
  return { sac, redq, size };
}

const close = (a: Float32Array, b: Float32Array, within: number) => {
  expect(a.length).toBe(b.length);
  a.forEach((value, i) => {
    expect(Math.abs(value - b[i])).toBeLessThan(within * Math.max(1, Math.abs(value)));
  });
};

describe('an ensemble of two critics, both drawn', () => {
  it('moves them and their targets as SAC does', async () => {
    const { sac, redq, size } = await both(1e-3);
    await sac.update(batch, 1, replay([noise, nextNoise]));
    await redq.update(batch, 1, replay([nextNoise, noise]));
    const [theirs, ours] = [sac.state().arrays, redq.state().arrays];
    close(theirs.theta.slice(0, size), ours.critics, 1e-6);
    close(theirs.m.slice(0, size), ours.criticM, 1e-5);
    close(theirs.target, ours.target, 1e-6);
    await Promise.all([sac.close(), redq.close()]);
  });

  it('has the gradient of SAC for policy and temperature where critics agree, so that their mean is their least', async () => {
    const { sac, redq, size } = await both(1e-12, true);
    await sac.update(batch, 1, replay([noise, nextNoise]));
    await redq.update(batch, 1, replay([nextNoise, noise]));
    close(sac.state().arrays.m.slice(size), redq.state().arrays.m, 1e-5);
    await Promise.all([sac.close(), redq.close()]);
  });

  it('has its errors', async () => {
    const { sac, redq } = await both(1e-3);
    const theirs = await sac.tdErrors(batch, replay([nextNoise]));
    close(theirs, await redq.tdErrors(batch, replay([nextNoise])), 1e-5);
    await Promise.all([sac.close(), redq.close()]);
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

  it('refuses to draw more critics than there are', async () => {
    const refused = makeRedq({ critics: 2, drawn: 3 }, spaces, Rng.fromSeed(0));
    await expect(refused).rejects.toMatchObject({ code: 'SETTING_INVALID' });
  });
});

describe('a dropout mask', () => {
  it('leaves out its share, anywhere, the same for the same stream', () => {
    for (const share of [0.01, 0.3]) {
      const mask = dropoutMask(100_000, share, Rng.fromSeed(3));
      expect(mask).toEqual(dropoutMask(100_000, share, Rng.fromSeed(3)));
      const outs = [0, 1].map((half) => mask.subarray(half * 50_000, (half + 1) * 50_000).filter((kept) => kept === 0));
      for (const out of outs) expect(out.length / 50_000).toBeCloseTo(share, share < 0.1 ? 2.5 : 1.5);
    }
  });

  it('changes what the critics learn, and not by how much on average', async () => {
    const learn = async (dropout: number) => {
      const droq = await makeDroq({ ...shared, hidden: [32], dropout }, spaces, Rng.fromSeed(4));
      const { criticLoss, q } = await droq.update(randomBatch(ROWS * 20, 2, 1, Rng.fromSeed(1)), 20, Rng.fromSeed(2));
      await droq.close();
      return { criticLoss, q };
    };
    const [none, some] = [await learn(0), await learn(0.2)];
    expect(some.criticLoss).not.toBe(none.criticLoss);
    expect(some.q).toBeCloseTo(none.q, 0);
  });
});
