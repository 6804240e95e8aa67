// Whether a confidence is worth its number: of answers given with 80 %, are 80 % right?

import type { Rng } from '../../core/rng.js';
import { ranks } from './agreement.js';
import { allFinite, allShares, type Estimate, sameLength, shareEstimate, unfit } from './estimate.js';

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
 * @throws DATA_MISMATCH if lengths differ, a confidence is outside [0, 1], or there is no bin
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

// Whether a confidence tells right answers from wrong ones, whatever its number.

/**
 * Area under the ROC curve: the chance that a positive scores above a negative, ties counted half (Mann-Whitney's U). null
 * where all labels are the same.
 *
 * @throws DATA_MISMATCH if lengths differ, or for NaN or infinity
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

interface SelectivePoint {
  /** Share of answers that are taken: those with at least `threshold` of confidence. */
  readonly coverage: number;
  /** Share of wrong ones among them. */
  readonly risk: number;
  readonly threshold: number;
}

interface SelectiveRisk {
  /** From the most confident answers to all; at most 100 or so, evenly over coverage. */
  readonly points: readonly SelectivePoint[];
  /** Mean risk over coverages 1/n, 2/n, ..., 1 (area under the risk-coverage curve; Geifman 2019, 1805.08206); null without answers. */
  readonly aurc: number | null;
}

/**
 * Risk of taking only answers of enough confidence (El-Yaniv and Wiener 2010). Answers of equal confidence are taken together;
 * between, the area counts the risk that is expected of them in random order.
 *
 * @throws DATA_MISMATCH if lengths differ, or for NaN or infinity
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

// Recalibration: the non-decreasing curve from confidence to the share that was right.

interface Block {
  /** Lowest and highest confidence. */
  readonly from: number;
  readonly to: number;
  readonly hits: number;
  readonly count: number;
}

/**
 * Isotonic regression of correctness on confidence by pooling adjacent violators (Zadrozny and Elkan 2002): linear between the
 * confidences it was fitted to, constant beyond them.
 *
 * @throws DATA_MISMATCH if lengths differ, a confidence is outside [0, 1], or there are none
 */
export function isotonic(confidence: ArrayLike<number>, correct: readonly boolean[]): (confidence: number) => number {
  sameLength('isotonic', confidence, correct);
  allShares('isotonic', confidence);
  if (correct.length === 0) throw unfit('isotonic', 'there are none.');
  const blocks = pooled(confidence, correct);
  const xs = Float64Array.from(blocks.flatMap(({ from, to }) => [from, to]));
  const ys = Float64Array.from(blocks.flatMap(({ hits, count }) => [hits / count, hits / count]));
  return (value) => interpolated(xs, ys, value);
}

/**
 * Confidences as isotonic regression maps them, each by a curve fitted to the other folds' answers alone (cross-fitting), so
 * that what is then measured of them was not fitted to. Answers that hang together (steps of one episode) may still lend one
 * another a hint across folds.
 *
 * @throws DATA_MISMATCH as `isotonic`, or for fewer than two folds or answers
 */
export function recalibrated(
  confidence: ArrayLike<number>,
  correct: readonly boolean[],
  rng: Rng,
  folds = 5,
): number[] {
  sameLength('recalibration', confidence, correct);
  const n = correct.length;
  if (n < 2 || folds < 2) throw unfit('recalibration', `${n} answers in ${folds} folds cannot be held apart.`);
  const order = rng.permutation(n);
  const parts = Math.min(folds, n);
  const out = new Array<number>(n);
  for (let fold = 0; fold < parts; fold++) {
    const others = [...order].filter((_, i) => i % parts !== fold);
    const curve = isotonic(
      others.map((i) => confidence[i]),
      others.map((i) => correct[i]),
    );
    for (let i = fold; i < n; i += parts) out[order[i]] = curve(confidence[order[i]]);
  }
  return out;
}

function pooled(confidence: ArrayLike<number>, correct: readonly boolean[]): Block[] {
  const order = Uint32Array.from({ length: correct.length }, (_, i) => i).sort((i, j) => confidence[i] - confidence[j]);
  const blocks: Block[] = [];
  for (const i of order) {
    const hit = { from: confidence[i], to: confidence[i], hits: correct[i] ? 1 : 0, count: 1 };
    if (blocks.at(-1)?.from === hit.from) blocks.push(join(blocks.pop()!, hit));
    else blocks.push(hit);
  }
  return blocks.reduce(pushPooled, []);
}

/** Puts a block at the end, and merges backwards for as long as the curve would fall. */
function pushPooled(stack: Block[], block: Block): Block[] {
  let last = block;
  while (stack.length > 0 && stack.at(-1)!.hits * last.count >= last.hits * stack.at(-1)!.count) {
    last = join(stack.pop()!, last);
  }
  stack.push(last);
  return stack;
}

function join(a: Block, b: Block): Block {
  return { from: a.from, to: b.to, hits: a.hits + b.hits, count: a.count + b.count };
}

function interpolated(xs: Float64Array, ys: Float64Array, value: number): number {
  if (value <= xs[0]) return ys[0];
  if (value >= xs[xs.length - 1]) return ys[ys.length - 1];
  let low = 0;
  let high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= value) low = middle;
    else high = middle;
  }
  return ys[low] + ((value - xs[low]) / (xs[high] - xs[low])) * (ys[high] - ys[low]);
}
