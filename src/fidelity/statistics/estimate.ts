// A measured number and how sure it is: shares of counted units, and what every statistic asks of its numbers.

import { reverieError } from '../../core/errors.js';
import { wilson } from '../../core/statistics.js';

export interface Estimate {
  /** null where nothing was counted. */
  readonly value: number | null;
  /**
   * Interval of 95 % unless said otherwise; both null where there is none. `high` alone is null where nothing ended what was
   * counted as long as it was watched: how large it truly is cannot be told.
   */
  readonly low: number | null;
  readonly high: number | null;
  /** Units it was made from: transitions, questions, episodes, policies. */
  readonly n: number;
  readonly method: 'wilson' | 'bootstrap' | 'exact' | 'none';
}

export const NOTHING: Estimate = { value: null, low: null, high: null, n: 0, method: 'none' };

/** @throws DATA_MISMATCH if lengths differ */
export function sameLength(statistic: string, first: ArrayLike<unknown>, second: ArrayLike<unknown>): void {
  if (first.length === second.length) return;
  throw unfit(statistic, `there are ${first.length} of one kind and ${second.length} of the other.`);
}

/** @throws DATA_MISMATCH if any is NaN or infinite */
export function allFinite(statistic: string, values: ArrayLike<number>): void {
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) throw unfit(statistic, `number ${i} is ${values[i]}.`);
  }
}

/** @throws DATA_MISMATCH if any is outside [0, 1] */
export function allShares(statistic: string, values: ArrayLike<number>): void {
  for (let i = 0; i < values.length; i++) {
    if (!(values[i] >= 0 && values[i] <= 1)) throw unfit(statistic, `number ${i} is ${values[i]}, outside [0, 1].`);
  }
}

export function unfit(statistic: string, problem: string): Error {
  return reverieError('DATA_MISMATCH', {
    problem: `Numbers for "${statistic}" are not acceptable: ${problem}`,
    hint: 'Each statistic takes finite numbers, as many of one kind as of the other; docs/fidelity-metrics.md says what it takes.',
  });
}

/**
 * `hits` of `of` units as a share with Wilson's score interval (Wilson 1927); NOTHING where `of` is 0. Halves count as halves.
 *
 * @throws DATA_MISMATCH unless 0 <= hits <= of
 */
export function shareEstimate(hits: number, of: number, confidence = 0.95): Estimate {
  if (!(hits >= 0 && hits <= of && of < Number.POSITIVE_INFINITY)) throw unfit('share', `${hits} of ${of}.`);
  if (of === 0) return NOTHING;
  const { value, low, high } = wilson(hits, of, confidence);
  return { value, low, high, n: of, method: 'wilson' };
}

interface PrecisionRecall {
  /** Of what was predicted, the share that is so; NOTHING where nothing was predicted. */
  readonly precision: Estimate;
  /** Of what is so, the share that was predicted. */
  readonly recall: Estimate;
  /** Harmonic mean of both; n counts what was predicted or is so. */
  readonly f1: Estimate;
  /** Of what is not so, the share that was predicted all the same. */
  readonly falsePositive: Estimate;
}

/**
 * Of a yes or no that is predicted. F1 = 2 F* / (1 + F*) grows with F*, the share of hits among all that was predicted or is so,
 * so F*'s interval carries over (Hand, Christen and Kirielle 2021, F*: an interpretable transformation of the F-measure).
 *
 * @throws DATA_MISMATCH if lengths differ
 */
export function precisionRecall(predicted: readonly boolean[], actual: readonly boolean[]): PrecisionRecall {
  sameLength('precision and recall', predicted, actual);
  const hits = actual.filter((is, i) => is && predicted[i]).length;
  const [said, is] = [predicted, actual].map((values) => values.filter(Boolean).length);
  const share = shareEstimate(hits, said + is - hits);
  const f1 = (value: number | null) => (value === null ? null : (2 * value) / (1 + value));
  return {
    precision: shareEstimate(hits, said),
    recall: shareEstimate(hits, is),
    f1: { ...share, value: f1(share.value), low: f1(share.low), high: f1(share.high) },
    falsePositive: shareEstimate(said - hits, actual.length - is),
  };
}
