// The worth of dreamt rows, from learners whose returns are put in: the gap, the share that does harm, and what is not known.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import type { Finding } from '../../../src/fidelity/instrument.js';
import { learningInstrument } from '../../../src/fidelity/learning/learning.js';

const RATIOS = [0, 0.25, 0.5, 0.75, 1];

/** Learners return `worth(ratio)`, more or less by seed, and by what else a learner does by chance. */
async function found(worth: (ratio: number) => number, chance = 0.2): Promise<Finding> {
  const instrument = learningInstrument(
    {
      ratios: RATIOS,
      seeds: 6,
      learn: async (ratio, seed) => {
        const shared = 3 * Rng.fromSeed(seed).split('learner').normal();
        const own = chance * Rng.fromSeed(seed).split('learner', String(ratio)).normal();
        const level = ratio === null ? -30 : worth(ratio);
        return [-1, 0, 1].map((spread) => level + shared + own + spread);
      },
    },
    { seed: 2 },
  );
  const rows = [];
  for (let chunk = 0; chunk < instrument.chunks; chunk++) rows.push(...(await instrument.measure(chunk)));
  expect(rows).toHaveLength(36);
  return instrument.conclude(JSON.parse(JSON.stringify(rows)));
}

function metric({ section }: Finding, key: string) {
  return section.metrics.find((one) => one.key === key)!.estimate;
}

describe('learning value', () => {
  it('finds the gap that was put in, within its interval, though learners differ more than that', async () => {
    const finding = await found((ratio) => 10 - 2 * ratio);
    const gap = metric(finding, 'transfer-gap');
    expect(gap.low).toBeLessThan(-2);
    expect(gap.high).toBeGreaterThan(-2);
    expect(gap.high! - gap.low!).toBeLessThan(1);
    expect(metric(finding, 'untrained-return').value).toBeLessThan(-25);
    expect(metric(finding, 'best-ratio').value).toBe(0);
  });

  it('finds the share from which on dreamt rows do harm', async () => {
    const finding = await found((ratio) => (ratio >= 0.75 ? 2 : 10));
    expect(metric(finding, 'harmful-ratio').value).toBe(0.75);
    expect(finding.section.summary).toMatch(/from 75 % dreamt rows on/);
    expect(finding.section.tables[0].rows).toHaveLength(6);
  });

  it('finds none where dreamt rows are as good as real ones, or better', async () => {
    const finding = await found((ratio) => 10 + 5 * ratio);
    expect(metric(finding, 'harmful-ratio')).toMatchObject({ value: null, n: 0 });
    expect(metric(finding, 'best-ratio').value).toBe(1);
    expect(metric(finding, 'transfer-gap').low).toBeGreaterThan(0);
  });

  // Blind spot: a learner that learns nothing is harmed by nothing. docs/fidelity-metrics.md tells it with this example.
  it('is fooled by a learner that learns nothing, and warns of it', async () => {
    const finding = await found(() => -30);
    expect(metric(finding, 'harmful-ratio').value).toBeNull();
    expect(finding.section.notes.join()).toMatch(/did not take learners clearly above where they began/);
  });
});
