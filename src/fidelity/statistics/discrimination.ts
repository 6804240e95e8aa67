// Whether a confidence tells right answers from wrong ones, whatever its number.

import { ranks } from './correlation.js';
import { allFinite, sameLength } from './numbers.js';

/**
 * Area under the ROC curve: the chance that a positive scores above a negative, ties counted half (Mann-Whitney's U). null
 * where all labels are the same.
 *
 * @throws FIDELITY_NUMBERS_INVALID if lengths differ, or for NaN or infinity
 */
export function auroc(score: ArrayLike<number>, label: readonly boolean[]): number | null {
  sameLength('auroc', score, label);
  allFinite('auroc', score);
  const rank = ranks(score);
  let positives = 0;
  let sum = 0;
  for (let i = 0; i < label.length; i++) {
    if (!label[i]) continue;
    positives++;
    sum += rank[i];
  }
  const negatives = label.length - positives;
  if (positives === 0 || negatives === 0) return null;
  return (sum - (positives * (positives + 1)) / 2) / (positives * negatives);
}

export interface SelectivePoint {
  /** Share of answers that are taken: those with at least `threshold` of confidence. */
  readonly coverage: number;
  /** Share of wrong ones among them. */
  readonly risk: number;
  readonly threshold: number;
}

export interface SelectiveRisk {
  /** From the most confident answers to all; at most 100 or so, evenly over coverage. */
  readonly points: readonly SelectivePoint[];
  /** Mean risk over coverages 1/n, 2/n, ..., 1 (area under the risk-coverage curve; Geifman 2019, 1805.08206); null without answers. */
  readonly aurc: number | null;
}

/**
 * Risk of taking only answers of enough confidence (El-Yaniv and Wiener 2010). Answers of equal confidence are taken together;
 * between, the area counts the risk that is expected of them in random order.
 *
 * @throws FIDELITY_NUMBERS_INVALID if lengths differ, or for NaN or infinity
 */
export function selectiveRisk(confidence: ArrayLike<number>, correct: readonly boolean[]): SelectiveRisk {
  sameLength('selective risk', confidence, correct);
  allFinite('selective risk', confidence);
  const n = correct.length;
  const order = Uint32Array.from({ length: n }, (_, i) => i).sort((i, j) => confidence[j] - confidence[i]);
  const points: SelectivePoint[] = [];
  let area = 0;
  let wrong = 0;
  for (let start = 0; start < n; ) {
    const end = endOfTies(confidence, order, start);
    let more = 0;
    for (let i = start; i < end; i++) more += correct[order[i]] ? 0 : 1;
    for (let i = start; i < end; i++) area += (wrong + (more * (i - start + 1)) / (end - start)) / (i + 1);
    wrong += more;
    points.push({ coverage: end / n, risk: wrong / end, threshold: confidence[order[start]] });
    start = end;
  }
  return { points: thinned(points), aurc: n === 0 ? null : area / n };
}

const POINTS = 100;

/** The last point of each hundredth of coverage. */
function thinned(points: readonly SelectivePoint[]): SelectivePoint[] {
  const slot = ({ coverage }: SelectivePoint) => Math.ceil(coverage * POINTS);
  return points.filter((point, i) => i === points.length - 1 || slot(points[i + 1]) !== slot(point));
}

function endOfTies(values: ArrayLike<number>, order: Uint32Array, start: number): number {
  let end = start + 1;
  while (end < order.length && values[order[end]] === values[order[start]]) end++;
  return end;
}
