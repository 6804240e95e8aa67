// Precision, recall and their kin of a yes or no that is predicted.

import { type Estimate, NOTHING } from './estimate.js';
import { sameLength } from './numbers.js';
import { shareEstimate } from './share.js';

export interface PrecisionRecall {
  /** Of what was predicted, the share that is so; NOTHING where nothing was predicted. */
  readonly precision: Estimate;
  /** Of what is so, the share that was predicted. */
  readonly recall: Estimate;
  /** Harmonic mean of both; n counts what was predicted or is so. */
  readonly f1: Estimate;
  /** Of what is not so, the share that was predicted all the same. */
  readonly falsePositive: Estimate;
}

/** @throws FIDELITY_NUMBERS_INVALID if lengths differ */
export function precisionRecall(predicted: readonly boolean[], actual: readonly boolean[]): PrecisionRecall {
  sameLength('precision and recall', predicted, actual);
  let hits = 0;
  let said = 0;
  let is = 0;
  for (let i = 0; i < actual.length; i++) {
    hits += predicted[i] && actual[i] ? 1 : 0;
    said += predicted[i] ? 1 : 0;
    is += actual[i] ? 1 : 0;
  }
  return {
    precision: shareEstimate(hits, said),
    recall: shareEstimate(hits, is),
    f1: f1Of(shareEstimate(hits, said + is - hits)),
    falsePositive: shareEstimate(said - hits, actual.length - is),
  };
}

/**
 * F1 = 2 F* / (1 + F*) grows with F*, the share of hits among all that was predicted or is so, so F*'s interval carries over
 * (Hand, Christen and Kirielle 2021, F*: an interpretable transformation of the F-measure).
 */
function f1Of(share: Estimate): Estimate {
  if (share.value === null) return NOTHING;
  const f1 = (value: number | null) => (value === null ? null : (2 * value) / (1 + value));
  return { ...share, value: f1(share.value), low: f1(share.low), high: f1(share.high) };
}
