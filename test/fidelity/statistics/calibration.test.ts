// Calibration and discrimination of confidences: against scikit-learn 1.9.1, by hand, and on sources of known confidence.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { auroc, reliability, selectiveRisk } from '../../../src/fidelity/statistics/scores.js';

const SCORE = [0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.5, 0.4, 0.3, 0.3, 0.1];
const LABEL = [1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0].map((label) => label === 1);

/** Answers with confidence uniform in [0.5, 1], right with the chance that `chance` gives it. */
function source(n: number, seed: number, chance: (confidence: number) => number) {
  const rng = Rng.fromSeed(seed);
  const confidence = rng.split('confidence').fillUniform(new Float64Array(n), 0.5, 1);
  const luck = rng.split('luck');
  return { confidence, correct: Array.from(confidence, (c) => luck.uniform() < chance(c)) };
}

describe('reliability', () => {
  it('is what numpy makes of five bins', () => {
    // Bins floor(5 c), at most 4; |mean label - mean score| of each.
    const { bins, ece } = reliability(SCORE, LABEL, 5);
    expect(bins.map(({ count }) => count)).toEqual([1, 2, 2, 3, 4]);
    expect(bins.map(({ accuracy }) => accuracy.value)).toEqual([0, 0.5, 0, 2 / 3, 0.75]);
    expect(bins[3].confidence).toBeCloseTo(1.9 / 3, 14);
    expect(ece).toBeCloseTo(0.15, 14);
  });

  it('recovers a gap that was put in', () => {
    const { confidence, correct } = source(20000, 1, (c) => c - 0.2);
    const { ece, bins } = reliability(confidence, correct);
    expect(ece).toBeGreaterThan(0.18);
    expect(ece).toBeLessThan(0.22);
    for (const { accuracy, confidence: mean } of bins) {
      expect(accuracy.low! - 0.02).toBeLessThan(mean - 0.2);
      expect(accuracy.high! + 0.02).toBeGreaterThan(mean - 0.2);
    }
  });

  it('says nothing without answers, and refuses what is no confidence', () => {
    expect(reliability([], [])).toEqual({ bins: [], ece: null });
    expect(reliability([1, 0], [true, false])).toMatchObject({ ece: 0 });
    expect(() => reliability([1.1], [true])).toThrow('outside [0, 1]');
    expect(() => reliability([0.5], [])).toThrow('1 of one kind and 0 of the other');
  });
});

describe('AUROC', () => {
  it('is scikit-learn’s, ties counted half', () => {
    // sklearn.metrics.roc_auc_score(LABEL, SCORE)
    expect(auroc(SCORE, LABEL)).toBeCloseTo(0.7777777777777778, 14);
    expect(auroc([5, 5, 5, 5], [true, false, true, false])).toBe(0.5);
  });

  it('depends on the order alone, turns round with it, and needs both kinds', () => {
    const scaled = SCORE.map((score) => Math.exp(9 * score) - 4);
    const negative = SCORE.map((score) => -score);
    expect(auroc(scaled, LABEL)).toBe(auroc(SCORE, LABEL));
    expect(auroc(negative, LABEL)).toBeCloseTo(1 - auroc(SCORE, LABEL)!, 14);
    expect(auroc([1, 2], [true, true])).toBeNull();
    expect(auroc([], [])).toBeNull();
  });
});

describe('selective risk', () => {
  it('is by hand what it is', () => {
    const { points, aurc } = selectiveRisk([0.9, 0.7, 0.7, 0.2], [true, false, true, false]);
    expect(points).toEqual([
      { coverage: 0.25, risk: 0 },
      { coverage: 0.75, risk: 1 / 3 },
      { coverage: 1, risk: 0.5 },
    ]);
    // Of the tie, half a mistake is expected first: risks 0, 0.5 / 2, 1 / 3, 2 / 4.
    expect(aurc).toBeCloseTo((0 + 0.25 + 1 / 3 + 0.5) / 4, 14);
  });

  it('is the error rate everywhere if confidence says nothing, and lower if it does', () => {
    const flat = selectiveRisk(
      new Float64Array(1000).fill(0.7),
      Array.from({ length: 1000 }, (_, i) => i % 10 !== 0),
    );
    expect(flat.points).toEqual([{ coverage: 1, risk: 0.1 }]);
    expect(flat.aurc).toBeCloseTo(0.1, 12);
    const { confidence, correct } = source(5000, 2, (c) => c);
    const { points, aurc } = selectiveRisk(confidence, correct);
    expect(points.length).toBeLessThanOrEqual(101);
    expect(points.at(-1)).toMatchObject({ coverage: 1 });
    expect(aurc).toBeLessThan(points.at(-1)!.risk - 0.05);
    expect(selectiveRisk([], [])).toEqual({ points: [], aurc: null });
  });
});
