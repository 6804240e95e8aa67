// Branched rollouts in one thread, held against the slow reference and against what can be computed by hand.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import type { RolloutRequest } from '../../src/synth/rollout/plan.js';
import {
  branchedRollouts,
  digest,
  frozenModel,
  frozenPolicy,
  OBS_DIM,
  requestOf,
  revive,
  rowsOf,
  startsOf,
} from './fixtures.js';
import { referenceRollouts } from './reference.js';

const CASES: Record<string, Partial<RolloutRequest>> = {
  'samples, chunks and a remainder': {},
  'horizon 1': { horizon: 1 },
  'a limit that drops': { disagreementLimit: 0.4 },
  'chunks of ten from an episode on': { firstEpisode: 500, chunkSize: 10 },
};

describe('branchedRollouts against the reference', () => {
  for (const [name, overrides] of Object.entries(CASES)) {
    it(name, async () => {
      const request = await revive(requestOf(70, overrides));
      const result = await branchedRollouts(request);
      expect(rowsOf(result)).toEqual(await referenceRollouts(request));
      expect(result.counts.rows).toBe(result.batch.rows);
      const { terminated, outOfHorizon, doubted, episodes } = result.counts;
      expect(terminated + outOfHorizon + doubted).toBe(episodes);
      expect(episodes).toBe(70);
    });
  }
});

describe('how branches end', () => {
  const still = { noise: 0, weights: new Float32Array(OBS_DIM), terminateAbove: 10 };

  it('where the ensemble disagrees: dropped, and the row before is truncated', async () => {
    // Disagreement of the double is |nextObs[1]|, which decays 0.9 a step: above the limit from the start, or never.
    const starts = Float32Array.from([0, 2, 0, 0, 0.2, 0]);
    const grow = { ...still, disagreementScale: 1 };
    const settings = { starts, startIds: [1, 2], horizon: 3, disagreementLimit: 0.5, model: frozenModel(grow) };
    const dropped = await branchedRollouts(await revive(requestOf(2, settings)));
    expect([...dropped.provenance.parent!]).toEqual([2, 2, 2]);
    expect(dropped.counts).toEqual({ episodes: 2, rows: 3, terminated: 0, outOfHorizon: 1, doubted: 1 });
  });
});

describe('identity and streams', () => {
  it('keeps the chunk cut in the bytes, and the seed in the provenance', async () => {
    const request = await revive(requestOf(40, { rng: Rng.fromSeed(123456789012) }));
    const result = await branchedRollouts(request);
    expect(digest(await branchedRollouts(request))).toBe(digest(result));
    expect(digest(await branchedRollouts({ ...request, chunkSize: 8 }))).not.toBe(digest(result));
    expect(digest(await branchedRollouts({ ...request, rng: Rng.fromSeed(1) }))).not.toBe(digest(result));
    expect(result.provenance).toMatchObject({
      source: 'synthetic',
      backend: 'analytic',
      seed: 123456789012,
      scenario: '',
    });
    expect(request.rng.state().position).toBe(0);
  });

  it('has no log-probabilities where the policy gives none, and no confidence without a limit', async () => {
    const request = await revive(requestOf(4, { policy: frozenPolicy({ withLogProb: false }) }));
    const { provenance } = await branchedRollouts(request);
    expect(provenance.logProb).toBeUndefined();
    expect(provenance.confidence).toBeUndefined();
  });
});

describe('bad input', () => {
  const attempt = async (overrides: Record<string, unknown>) =>
    branchedRollouts({ ...(await revive(requestOf(4))), ...overrides });

  it.each([
    [{ horizon: 0 }, 'horizon is 0'],
    [{ disagreementLimit: Number.NaN }, 'disagreementLimit is NaN'],
    [{ startIds: [1, 2] }, 'start states have 6 values'],
  ])('refuses %o', async (overrides, problem) => {
    await expect(attempt(overrides)).rejects.toMatchObject({
      code: 'SETTING_INVALID',
      message: expect.stringContaining(problem),
    });
  });

  it('refuses start states that are not finite, by their place', async () => {
    const { starts } = startsOf(4);
    starts[7] = Number.NaN;
    await expect(attempt({ starts })).rejects.toMatchObject({
      code: 'NON_FINITE_VALUE',
      message: expect.stringContaining('row 2, element 1 of the starts'),
    });
  });

  it('names episode and step of a prediction that is not finite', async () => {
    const model = frozenModel({ nanAfter: 0.5, terminateAbove: 5 });
    await expect(branchedRollouts(await revive(requestOf(64, { model })))).rejects.toMatchObject({
      code: 'NON_FINITE_VALUE',
      message: expect.stringMatching(/predicted observation is not finite \(NaN\) at episode \d+, step \d+/),
    });
  });

  it('refuses a limit on a model that knows no disagreement', async () => {
    const model = frozenModel({ disagreementScale: undefined });
    await expect(branchedRollouts(await revive(requestOf(4, { model, disagreementLimit: 1 })))).rejects.toMatchObject({
      code: 'SETTING_INVALID',
    });
  });
});
