// Whether a confidence is worth its number: of answers given with 80 %, are 80 % right?

import type { Estimate } from './estimate.js';
import { allShares, sameLength, unfit } from './numbers.js';
import { shareEstimate } from './share.js';

export interface ReliabilityBin {
  /** Mean confidence of the bin's answers. */
  readonly confidence: number;
  readonly accuracy: Estimate;
  readonly count: number;
}

export interface Reliability {
  /** From the lowest confidence up; those without answers are left out. */
  readonly bins: readonly ReliabilityBin[];
  /** Expected calibration error: mean over answers of |accuracy - confidence| of their bin (Naeini 2015; Guo 2017, 1706.04599). */
  readonly ece: number | null;
  /** The largest such gap of a bin. */
  readonly mce: number | null;
  /** Mean squared difference of confidence and correctness (Brier 1950). */
  readonly brier: number | null;
}

/**
 * Reliability over `bins` bins of equal width; a confidence on an edge falls into the upper bin, 1 into the last. ECE, MCE and
 * Brier score are null without answers.
 *
 * @throws FIDELITY_NUMBERS_INVALID if lengths differ, a confidence is outside [0, 1], or there is no bin
 */
export function reliability(confidence: ArrayLike<number>, correct: readonly boolean[], bins = 10): Reliability {
  sameLength('reliability', confidence, correct);
  allShares('reliability', confidence);
  if (!(Number.isInteger(bins) && bins >= 1)) throw unfit('reliability', `there are ${bins} bins.`);
  const counts = binCounts(confidence, correct, bins);
  const n = correct.length;
  if (n === 0) return { bins: [], ece: null, mce: null, brier: null };
  const filled = counts.filter(({ count }) => count > 0);
  const gaps = filled.map(({ sum, hits, count }) => Math.abs(hits - sum) / count);
  return {
    bins: filled.map(({ sum, hits, count }) => ({
      confidence: sum / count,
      accuracy: shareEstimate(hits, count),
      count,
    })),
    ece: gaps.reduce((total, gap, i) => total + (gap * filled[i].count) / n, 0),
    mce: Math.max(...gaps),
    brier: correct.reduce((total, hit, i) => total + (confidence[i] - (hit ? 1 : 0)) ** 2, 0) / n,
  };
}

interface BinCounts {
  sum: number;
  hits: number;
  count: number;
}

function binCounts(confidence: ArrayLike<number>, correct: readonly boolean[], bins: number): BinCounts[] {
  const counts = Array.from({ length: bins }, (): BinCounts => ({ sum: 0, hits: 0, count: 0 }));
  for (let i = 0; i < correct.length; i++) {
    const bin = counts[Math.min(bins - 1, Math.floor(confidence[i] * bins))];
    bin.sum += confidence[i];
    bin.hits += correct[i] ? 1 : 0;
    bin.count++;
  }
  return counts;
}
