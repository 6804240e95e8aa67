// Measures of diversity, on sets whose diversity is known.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { DiversityMeter } from '../../../src/synth/quality/diversity.js';
import { DistinctCounter, hash53 } from '../../../src/synth/quality/overlap-filters.js';
import { call, record } from '../episode-records.js';

const rng = Rng.fromSeed(5);
const randomWords = (count: number, of: number) => Array.from({ length: count }, () => `w${rng.int(of)}`).join(' ');

function measured(texts: readonly string[]) {
  const meter = new DiversityMeter(['get_parcel', 'move_parcel']);
  for (const [row, user] of texts.entries()) {
    meter.add(record({ row, turns: [{ user }, call('get_parcel', { n: 1 }), { say: 'Fine.' }] }));
  }
  return meter.report();
}

describe('diversity', () => {
  it('of one text again and again is as low as can be', () => {
    const same = measured(Array(50).fill('where is my small green parcel please'));
    expect(same.overlap).toEqual({ mean: 1, nearest: 1 });
    expect(same.distinct[0]).toBeLessThan(0.03);
    expect(same.tools).toEqual({ called: 1, of: 2, unused: ['move_parcel'] });
  });

  it('grows with variety, in every measure', () => {
    const few = Array.from({ length: 4 }, () => randomWords(60, 5000));
    const narrow = measured(Array.from({ length: 120 }, (_, i) => few[i % 4]));
    const wide = measured(Array.from({ length: 120 }, () => randomWords(60, 5000)));
    expect(wide.overlap.mean).toBeLessThan(narrow.overlap.mean);
    expect(narrow.overlap.nearest).toBe(1);
    expect(wide.distinct[2]).toBeGreaterThan(10 * narrow.distinct[2]);
  });

  it('of calls is the entropy of what is called in a row, and counts states and what changed', () => {
    const meter = new DiversityMeter(['a', 'b']);
    const turns = ['a', 'b', 'a', 'b', 'a'].map((name, i) => ({
      ...call(name, {}, 'ok', { operations: [{ op: 'add', path: `/parcels/P${i % 2}/shelf`, value: i }] }),
      state: `s${i % 3}`,
    }));
    meter.add(record({ turns }));
    const report = meter.report();
    expect(report.toolEntropy[0]).toBeCloseTo(-(0.6 * Math.log2(0.6) + 0.4 * Math.log2(0.4)), 9);
    expect(report.toolEntropy[1]).toBeCloseTo(1, 9);
    expect([report.states, report.entities]).toEqual([3, 2]);
  });

  it('depends on no order', () => {
    const texts = Array.from({ length: 450 }, () => randomWords(20, 300));
    const records = texts.map((user, row) => record({ row, turns: [{ user }, { say: 'Fine.' }] }));
    const [forth, back] = [records, [...records].reverse()].map((rows) => {
      const meter = new DiversityMeter([]);
      for (const row of rows) meter.add(row);
      return meter.report();
    });
    expect(back.overlap.nearest).toBeCloseTo(forth.overlap.nearest, 9);
    expect(back.distinct).toEqual(forth.distinct);
  });
});

describe('counting what is different', () => {
  it('is exact for few and near for many', () => {
    const counter = new DistinctCounter(1000);
    for (let i = 0; i < 3000; i++) counter.add(hash53(`thing ${i % 900}`));
    expect(counter.count).toBe(900);
    for (let i = 0; i < 50_000; i++) counter.add(hash53(`other ${i}`));
    expect(Math.abs(counter.count / 50_900 - 1)).toBeLessThan(0.1);
  });
});
