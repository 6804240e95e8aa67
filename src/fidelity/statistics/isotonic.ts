// Recalibration: the non-decreasing curve from confidence to the share that was right.

import type { Rng } from '../../core/rng.js';
import { allShares, sameLength, unfit } from './numbers.js';

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
 * @throws FIDELITY_NUMBERS_INVALID if lengths differ, a confidence is outside [0, 1], or there are none
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
 * @throws FIDELITY_NUMBERS_INVALID as `isotonic`, or for fewer than two folds or answers
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
