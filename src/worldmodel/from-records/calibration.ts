// How often an answer is right that the model gives so much probability to: isotonic regression (Barlow et al. 1972; for probabilities
// of classifiers Zadrozny and Elkan 2002) over bins of steps that were kept from training.

import { z } from 'zod';

export const calibrationSchema = z.strictObject({
  /** Log-probabilities of whole answers, ascending: each the least of its bin. */
  from: z.array(z.number()),
  /** Share of right answers in the bin, never falling, by Laplace's rule of succession. */
  right: z.array(z.number().min(0).max(1)),
  /** Answers it was made from. */
  answers: z.int().min(0),
});

export type Calibration = z.infer<typeof calibrationSchema>;

export interface JudgedAnswer {
  /** Of the whole answer, in nats. */
  readonly logProb: number;
  readonly isRight: boolean;
}

const BINS = 20;
/** A bin of fewer says little. */
const LEAST = 10;

interface Bin {
  readonly from: number;
  readonly right: number;
  readonly count: number;
}

export function calibrate(answers: readonly JudgedAnswer[]): Calibration {
  const sorted = [...answers].sort((a, b) => a.logProb - b.logProb);
  const size = Math.max(LEAST, Math.ceil(sorted.length / BINS));
  const pooled: Bin[] = [];
  for (let start = 0; start < sorted.length; start += size) {
    const own = sorted.slice(start, start + size);
    let bin: Bin = { from: own[0].logProb, right: own.filter(({ isRight }) => isRight).length, count: own.length };
    // Pool adjacent violators: a more probable bin is not right less often.
    for (let last = pooled.at(-1); last !== undefined && shareOf(last) >= shareOf(bin); last = pooled.at(-1)) {
      pooled.pop();
      bin = { from: last.from, right: last.right + bin.right, count: last.count + bin.count };
    }
    pooled.push(bin);
  }
  return { from: pooled.map(({ from }) => from), right: pooled.map(shareOf), answers: answers.length };
}

function shareOf({ right, count }: Bin): number {
  return (right + 1) / (count + 2);
}

/** In [0, 1]; 0 where nothing was calibrated. An answer less probable than any that was judged is as good as the worst of them. */
export function confidenceOf({ from, right }: Calibration, logProb: number): number {
  const at = from.findLastIndex((least) => logProb >= least);
  return right[Math.max(0, at)] ?? 0;
}
