// A model held against real episodes: how far it may be trusted follows from how soon it strays.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { allocateBatch } from '../../src/replay/columns.js';
import { type ModelTrial, tryModel, withTrial } from '../../src/training/model-trial.js';
import type { VectorDynamics } from '../../src/worldmodel/dynamics.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';
import { linearSpaces, linearTransitions, meanChange, smallConfig } from '../worldmodel/linear-system.js';

const EPISODE = 10;
const PROVENANCE = {
  source: 'real',
  backend: 'real',
  modelVersion: '',
  scenario: 't',
  policyVersion: 'p',
  seed: 0,
} as const;

/** Real episodes of the linear system without its noise, or of one in which actions do the opposite. */
function episodes(count: number, sign = 1): ReplayBuffer {
  const rng = Rng.fromSeed(8);
  const buffer = new ReplayBuffer({ capacity: 4000, obsDim: 2, actionDim: 1, source: 'real' });
  const rows = count * EPISODE;
  const batch = allocateBatch(rows, 2, 1);
  rng.fillUniform(batch.action, -1, 1);
  for (let r = 0; r < rows; r++) {
    const isFirst = r % EPISODE === 0;
    const [x, y] = isFirst ? [rng.normal(), rng.normal()] : [batch.nextObs[2 * r - 2], batch.nextObs[2 * r - 1]];
    const [dx, dy] = meanChange(x, y, sign * batch.action[r]);
    batch.obs.set([x, y], 2 * r);
    batch.nextObs.set([x + dx, y + dy], 2 * r);
    batch.truncated[r] = r % EPISODE === EPISODE - 1 ? 1 : 0;
  }
  buffer.append(batch, {
    ...PROVENANCE,
    episode: Float64Array.from({ length: rows }, (_, r) => Math.floor(r / EPISODE)),
    step: Uint32Array.from({ length: rows }, (_, r) => r % EPISODE),
  });
  return buffer;
}

describe('a model tried on real episodes', () => {
  it('is trusted as long as it stays near them, and no longer', async () => {
    const batch = linearTransitions(2000, Rng.fromSeed(1));
    const { model } = await fitEnsemble(batch, linearSpaces, smallConfig, { rng: Rng.fromSeed(2) });
    const options = { from: 0, rng: Rng.fromSeed(3) };
    const like = (await tryModel(model, episodes(20), options))!;
    const unlike = (await tryModel(model, episodes(20, -1), options))!;
    expect(like.r2).toBeGreaterThan(0.8);
    expect(like.trustedSteps).toBeGreaterThan(5);
    expect(like.longest).toBeLessThanOrEqual(EPISODE);
    expect(unlike.trustedSteps).toBeLessThan(like.trustedSteps);
    expect(unlike.r2).toBeLessThan(0.5);
    expect(like.doubt).toBeGreaterThan(0);
    expect(await tryModel(model, episodes(20), options)).toEqual(like);
    await model.close();
  });

  it('says nothing of fewer stretches than tell anything', async () => {
    const { model } = await fitEnsemble(linearTransitions(200, Rng.fromSeed(1)), linearSpaces, smallConfig, {
      rng: Rng.fromSeed(2),
    });
    const real = episodes(2);
    expect(await tryModel(model, real, { from: 5, rng: Rng.fromSeed(3) })).toBeUndefined();
    expect(await tryModel(model, real, { from: 4, rng: Rng.fromSeed(3) })).toMatchObject({ windows: 16, longest: 1 });
    await model.close();
  });

  it('judges an element that is large and moves little', async () => {
    const real = new ReplayBuffer({ capacity: 50, obsDim: 1, actionDim: 1, source: 'real' });
    const batch = allocateBatch(50, 1, 1);
    // Kelvins, up and down by one.
    for (let r = 0; r < 50; r++) [batch.obs[r], batch.nextObs[r]] = r % 2 === 0 ? [5000, 5001] : [5001, 5000];
    real.append(batch, {
      ...PROVENANCE,
      episode: new Float64Array(50),
      step: Uint32Array.from({ length: 50 }, (_, r) => r),
    });
    // A model in which nothing changes.
    const still = {
      begin: (obs: Float32Array) => obs,
      pick: (obs: Float32Array, rows: Uint32Array) => Float32Array.from(rows, (row) => obs[row]),
      imagine: (obs: Float32Array) => ({ carry: obs, observation: obs, reward: new Float32Array(obs.length) }),
    } as unknown as VectorDynamics;
    const { trustedSteps, r2 } = (await tryModel(still, real, { from: 0, rng: Rng.fromSeed(3) }))!;
    expect([trustedSteps, r2! < 0.5]).toEqual([0, true]);
  });

  it('takes nothing from an earlier trial where stretches ended before the model strayed', () => {
    const trial = {
      windows: 100,
      longest: 30,
      trustedSteps: 30,
      r2: 0.9,
      rewardR2: null,
      doubt: 1,
    } satisfies ModelTrial;
    const short = { ...trial, longest: 5, trustedSteps: 5, r2: 0.8 };
    expect(withTrial(trial, short)).toEqual({ ...trial, r2: 0.8 });
    expect(withTrial(trial, { ...short, trustedSteps: 4 })).toMatchObject({ longest: 5, trustedSteps: 4 });
    expect(withTrial({ ...trial, trustedSteps: 3 }, short)).toBe(short);
    expect(withTrial(trial, undefined)).toBe(trial);
    expect(withTrial(undefined, short)).toBe(short);
  });
});
