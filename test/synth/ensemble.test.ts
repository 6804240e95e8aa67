// The real thing: a fitted ensemble and a SAC policy, revived in workers by their own rooms.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { boxSpace, unboundedSpace } from '../../src/env/space-values.js';
import { allocateBatch } from '../../src/replay/columns.js';
import { makeSac } from '../../src/rl/soft-actor-critic.js';
import type { FrozenRolloutRequest } from '../../src/synth/rollout/plan.js';
import { RolloutPool } from '../../src/synth/rollout/pool.js';
import type { EnsembleModel } from '../../src/worldmodel/ensemble/ensemble-model.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';
import { digest } from './fixtures.js';

const OBS_DIM = 4;
const ACTION_DIM = 2;
const ROWS = 150;
const spaces = {
  observationSpace: unboundedSpace(OBS_DIM),
  actionSpace: boxSpace(new Array(ACTION_DIM).fill(-1), new Array(ACTION_DIM).fill(1)),
};

let model: EnsembleModel;
let request: FrozenRolloutRequest;
const pools: RolloutPool[] = [];

beforeAll(async () => {
  const rng = Rng.fromSeed(21);
  const data = allocateBatch(600, OBS_DIM, ACTION_DIM);
  rng.fillNormal(data.obs);
  rng.fillUniform(data.action, -1, 1);
  for (let i = 0; i < data.nextObs.length; i++) {
    data.nextObs[i] = 0.8 * data.obs[i] + 0.3 * data.action[Math.floor(i / OBS_DIM) * ACTION_DIM + (i % ACTION_DIM)];
    data.reward[Math.floor(i / OBS_DIM)] += data.nextObs[i];
  }
  const settings = { members: 3, elites: 2, hidden: [32, 32], maxEpochs: 5 };
  ({ model } = await fitEnsemble(data, spaces, settings, { rng: rng.split('fit') }));
  const sac = await makeSac({ hidden: [32, 32] }, spaces, rng.split('sac'));
  const starts = rng.split('starts').fillNormal(new Float32Array(ROWS * OBS_DIM));
  const startIds = Float64Array.from({ length: ROWS }, (_, row) => row);
  request = { model: model.snapshot(), policy: sac.policySnapshot(), starts, startIds, horizon: 5, chunkSize: 32, rng };
  await sac.close();
  for (const workers of [0, 2]) pools.push(new RolloutPool({ workers }));
});

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.close()));
  await model.close();
});

describe('the ensemble and a SAC policy in the pool', () => {
  const onAll = (overrides: Partial<FrozenRolloutRequest>) =>
    Promise.all(pools.map((pool) => pool.branchedRollouts({ ...request, ...overrides })));

  it('give the same bytes with 0 and 2 workers', async () => {
    const results = await onAll({ propagation: 'ts1' });
    expect(new Set(results.map(digest)).size).toBe(1);
    const { provenance, counts } = results[0];
    expect(counts).toMatchObject({ rows: ROWS * 5, outOfHorizon: ROWS });
    expect(provenance).toMatchObject({ backend: 'ensemble', modelVersion: model.modelVersion });
    expect(provenance.logProb!.every(Number.isFinite)).toBe(true);
  });

  it('end where the elites disagree, the same bytes', async () => {
    const [free] = await onAll({ propagation: 'mean', disagreementLimit: 1e9 });
    const sorted = free.provenance.confidence!.slice().sort();
    const disagreementLimit = 1 / sorted[Math.floor(sorted.length / 2)] - 1;
    const results = await onAll({ propagation: 'mean', disagreementLimit });
    expect(new Set(results.map(digest)).size).toBe(1);
    const { provenance, counts } = results[0];
    expect(counts.doubted).toBeGreaterThan(ROWS / 4);
    expect(counts.doubted).toBeLessThanOrEqual(ROWS);
    expect(Math.min(...provenance.confidence!)).toBeGreaterThanOrEqual(Math.fround(1 / (1 + disagreementLimit)) - 1e-6);
  });
});
