// Precision and recall.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { NOTHING, precisionRecall, shareEstimate } from '../../../src/fidelity/statistics/estimate.js';

const bools = (digits: string) => [...digits].map((digit) => digit === '1');

describe('precision and recall', () => {
  it('are scikit-learn’s', () => {
    // precision_recall_fscore_support([0,1,0,1,1,0,1,0,0,1], [0,1,1,1,0,0,1,0,1,1], average='binary')
    const { precision, recall, f1, falsePositive } = precisionRecall(bools('0111001011'), bools('0101101001'));
    expect(precision.value).toBeCloseTo(2 / 3, 14);
    expect(recall.value).toBeCloseTo(0.8, 14);
    expect(f1.value).toBeCloseTo(0.7272727272727273, 14);
    expect(falsePositive).toEqual(shareEstimate(2, 5));
    expect([precision.n, recall.n, f1.n]).toEqual([6, 5, 7]);
  });

  it('has an interval of F1 that holds the truth about 95 times in 100', () => {
    // Chance of both 0.2, of only predicted 0.1, of only actual 0.1: F1 = 2 / 3.
    let held = 0;
    for (let seed = 0; seed < 500; seed++) {
      const rng = Rng.fromSeed(seed);
      const kinds = Array.from({ length: 200 }, () => rng.uniform());
      const { f1 } = precisionRecall(
        kinds.map((kind) => kind < 0.3),
        kinds.map((kind) => kind < 0.2 || kind > 0.9),
      );
      if (f1.low! <= 2 / 3 && f1.high! >= 2 / 3) held++;
    }
    expect(held / 500).toBeGreaterThan(0.92);
    expect(held / 500).toBeLessThan(0.98);
  });

  it('says nothing of what was never predicted or never is', () => {
    const { precision, recall, f1, falsePositive } = precisionRecall(bools('000'), bools('000'));
    expect([precision, recall, f1]).toEqual([NOTHING, NOTHING, NOTHING]);
    expect(falsePositive.value).toBe(0);
    expect(precisionRecall(bools('000'), bools('010')).f1.value).toBe(0);
    expect(() => precisionRecall([true], [])).toThrow('1 of one kind and 0 of the other');
  });
});
