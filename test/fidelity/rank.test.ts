// Ladders whose simulated returns are the real ones plus what was put in: order, regret, optimism and their intervals come back.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { type RankSource, rankInstrument } from '../../src/fidelity/rank.js';
import type { Finding } from '../../src/fidelity/section.js';

const POLICIES = Array.from({ length: 10 }, (_, i) => `policy ${i}`);
const EPISODES = 40;

/** Policy i truly returns 10 * i, plus noise that both worlds share; `simulated` says what the simulation makes of it. */
function source(simulated: (real: number, policy: number, episode: number) => number | null): RankSource {
  return {
    policies: POLICIES,
    episodes: EPISODES,
    returnsOf: async (world, policy, episodes) =>
      episodes.map((episode) => {
        const real = 10 * policy + 2 * Rng.fromSeed(episode).split(policy).normal();
        return world === 'real' ? real : simulated(real, policy, episode);
      }),
  };
}

async function found(simulated: Parameters<typeof source>[0]): Promise<Finding> {
  const instrument = rankInstrument(source(simulated), { seed: 1, chunkEpisodes: 16, notes: [] });
  const rows = [];
  for (let chunk = 0; chunk < instrument.chunks; chunk++) rows.push(...(await instrument.measure(chunk)));
  const finding = instrument.conclude(JSON.parse(JSON.stringify(rows)));
  expect(instrument.conclude(rows)).toEqual(finding);
  return finding;
}

function metric({ section }: Finding, key: string) {
  return section.metrics.find((one) => one.key === key)!.estimate;
}

describe('rank of policies', () => {
  it('is perfect where the simulation is the real plus a constant, and the constant is the optimism', async () => {
    const finding = await found((real) => real + 7);
    expect(metric(finding, 'spearman').value).toBeCloseTo(1, 12);
    expect(metric(finding, 'spearman').low).toBeCloseTo(1, 12);
    expect(metric(finding, 'mmrv').value).toBe(0);
    expect(metric(finding, 'regret-at-1').value).toBe(0);
    expect(metric(finding, 'optimism').value).toBeCloseTo(7, 9);
    expect(finding.samples.optimism).toHaveLength(10);
    expect(finding.section.tables[0].rows[0][0]).toBe('policy 9');
  });

  it('tells two swapped policies, and what choosing by the simulation costs', async () => {
    const swap: Record<number, number> = { 9: 6, 6: 9 };
    const finding = await found((real, policy) => real + 10 * ((swap[policy] ?? policy) - policy));
    // Ranks with 9 and 6 swapped: 1 - 6 * (3² + 3²) / (10 * 99).
    expect(metric(finding, 'spearman').value).toBeCloseTo(1 - (6 * 18) / 990, 9);
    const regret = metric(finding, 'regret-at-1');
    expect(regret.value).toBeGreaterThan(28);
    expect(regret.value).toBeLessThan(32);
    // Policies 6 and 9 each 30; 7 and 8 each the larger of what they lose to 6 or 9: 20.
    expect(metric(finding, 'mmrv').value).toBeCloseTo((30 + 30 + 20 + 20) / 10, 0);
    expect(metric(finding, 'mmrv-share').value).toBeCloseTo(10 / 90, 1);
  });

  it('has intervals that hold the truth of a noisy simulation, and widen with it', async () => {
    const noisy = (scale: number) => (real: number, policy: number, episode: number) =>
      real + scale * Rng.fromSeed(99).split(policy, episode).normal();
    const [little, much] = [await found(noisy(3)), await found(noisy(200))];
    const optimism = metric(much, 'optimism');
    expect(optimism.low).toBeLessThan(0);
    expect(optimism.high).toBeGreaterThan(0);
    const width = (finding: Finding) => metric(finding, 'spearman').high! - metric(finding, 'spearman').low!;
    expect(width(much)).toBeGreaterThan(width(little));
    expect(metric(little, 'spearman').low).toBeGreaterThan(0.8);
  });

  it('leaves out what one world could not judge, and says so', async () => {
    const finding = await found((real, policy, episode) => (policy === 4 || episode === 0 ? null : real));
    expect(metric(finding, 'spearman').value).toBeCloseTo(1, 12);
    expect(metric(finding, 'spearman').n).toBe(9);
    expect(finding.section.notes.join(' ')).toMatch(/49 of 400 episodes are left out.*policy 4/);
  });

  it('pairs models by policy, whichever policies each of them could not be judged on', async () => {
    const without = (lost: number) => found((real, policy) => (policy === lost ? null : real + policy));
    const [first, second] = [await without(4), await without(7)];
    const common = [0, 1, 2, 3, 5, 6, 8, 9];
    for (const key of ['optimism', 'return-gap']) {
      for (const { samples } of [first, second])
        for (const policy of common) expect(samples[key][policy], key).toBeCloseTo(policy, 9);
      expect([first.samples[key][4], second.samples[key][7]]).toEqual([null, null]);
    }
  });

  it('gives equal returns one place in both worlds', async () => {
    const worth = [5, 0, 0, 3, 0];
    const instrument = rankInstrument(
      {
        policies: worth.map((_, i) => `policy ${i}`),
        episodes: 4,
        returnsOf: async (_, policy, all) => all.map(() => worth[policy]),
      },
      { seed: 1, chunkEpisodes: 4, notes: [] },
    );
    const rows = await Promise.all(worth.map((_, chunk) => instrument.measure(chunk)));
    const [{ rows: rungs }] = instrument.conclude(rows.flat()).section.tables;
    expect(rungs.map((cells) => cells.slice(3))).toEqual(['1', '2', '3', '3', '3'].map((place) => [place, place]));
  });

  it('takes any number of episodes', async () => {
    for (const episodes of [1, 3]) {
      const instrument = rankInstrument(
        { ...source((real) => real), episodes },
        { seed: 1, chunkEpisodes: 32, notes: [] },
      );
      const rows = await Promise.all(POLICIES.map((_, chunk) => instrument.measure(chunk)));
      const finding = instrument.conclude(rows.flat());
      expect(metric(finding, 'spearman').value).toBeCloseTo(1, 12);
      expect(metric(finding, 'spearman-ceiling').value === null).toBe(episodes === 1);
    }
  });

  it('has no figure, rather than 0, where all policies are alike', async () => {
    const instrument = rankInstrument(
      { ...source(() => 1), returnsOf: async (_, __, all) => all.map(() => 1) },
      { seed: 1, chunkEpisodes: 32, notes: [] },
    );
    const rows = await Promise.all(POLICIES.map((_, chunk) => instrument.measure(chunk)));
    // 40 episodes are two chunks of 32 at most: half of the chunks are enough to conclude from.
    const finding = instrument.conclude(rows.flat());
    expect(metric(finding, 'spearman')).toMatchObject({ value: null, low: null, high: null });
    expect(metric(finding, 'regret-at-1').value).toBe(0);
  });
});
