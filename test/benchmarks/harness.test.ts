import { describe, expect, it } from 'vitest';
import { bootstrap, mean, measurePaired, ratioInterval } from '../../benchmarks/measure.js';
import { BENCHMARKS } from '../../benchmarks/registry.js';

describe('measuring', () => {
  it('lets the sides take turns, the first one alternating, after one uncounted round', async () => {
    const turns: string[] = [];
    const turn = (side: string, rate: number) => () => {
      turns.push(side);
      return rate;
    };
    const rates = await measurePaired({ rounds: 3, ours: turn('o', 6), baseline: turn('b', 2) });
    expect(turns.join('')).toBe('ob' + 'ob' + 'bo' + 'ob');
    expect(rates).toEqual({ ours: [6, 6, 6], baseline: [2, 2, 2] });
    expect(ratioInterval(rates)).toEqual({ value: 3, low: 3, high: 3 });
  });

  it('has intervals that contain the value, repeat exactly and cover the truth as often as they say', () => {
    const values = [1, 2, 3, 4, 10];
    const interval = bootstrap(values, mean);
    expect(interval.value).toBe(4);
    expect(interval.low).toBeLessThan(4);
    expect(interval.high).toBeGreaterThan(4);
    expect(bootstrap(values, mean)).toEqual(interval);
    const wide = bootstrap([0, 100], mean, 4000);
    expect([wide.low, wide.high]).toEqual([0, 100]);
  });
});

it('the list of benchmarks names what each measures, and each can be loaded', async () => {
  for (const [id, { title, unit, baseline, load }] of Object.entries(BENCHMARKS)) {
    expect([id, title, unit, baseline].every((text) => text.length > 0)).toBe(true);
    expect(typeof (await load()).run).toBe('function');
  }
});
