// Errors of every transition, of the model and of what it has to beat.

import type { Ground } from '../plan.js';
import { difference } from '../scales.js';
import { widths } from '../truth.js';
import type { OneStepRow } from './row.js';

/** One value a transition. */
export interface OneStepErrors {
  /** [rows][obsDim] signed, in standard deviations of each element's change. */
  readonly elements: readonly (readonly number[])[];
  /** Mean over elements of the squared errors; and the same of the baselines. */
  readonly square: readonly number[];
  readonly persistence: readonly number[];
  readonly linear: readonly number[];
  /** Dreamt minus real. */
  readonly reward: readonly number[];
  readonly isExact: readonly boolean[];
  readonly isWithin: readonly boolean[];
  readonly isRewardExact: readonly boolean[];
  readonly isEndRight: readonly boolean[];
  readonly isOutcomeRight: readonly boolean[];
  /** Elements that really changed by more than half a standard deviation of their change. */
  readonly changed: readonly number[];
}

/** What float32 arithmetic in another order may differ by. */
const ROUNDING = 1e-5;
const CHANGED = 0.5;

export function oneStepErrors(ground: Ground, rows: readonly OneStepRow[]): OneStepErrors {
  const { truth, scales, plan } = ground;
  const { obsDim } = widths(truth);
  const { nextObs, reward, terminated } = truth.rows;
  const real = (r: number, j: number) => nextObs[r * obsDim + j];
  const elements = rows.map(({ next }, r) =>
    next.map((value, j) => difference(value, real(r, j), scales.change[j], scales.isDiscrete)),
  );
  const square = elements.map(meanSquare);
  const rewards = rows.map((row, r) => row.reward - reward[r]);
  const isEndRight = rows.map((row, r) => row.terminated === terminated[r]);
  const isWithin = square.map((value) => Math.sqrt(value) <= plan.tolerance);
  return {
    elements,
    square,
    persistence: persistenceOf(ground),
    linear: linearOf(ground),
    reward: rewards,
    isExact: rows.map(({ next }, r) => next.every((value, j) => isClose(value, real(r, j)))),
    isWithin,
    isRewardExact: rows.map((row, r) => isClose(row.reward, reward[r])),
    isEndRight,
    isOutcomeRight: rewards.map((error, r) => Math.abs(error) <= plan.tolerance * scales.reward && isEndRight[r]),
    changed: rows.map((_, r) => changeOf(ground, r).filter((change) => Math.abs(change) > CHANGED).length),
  };
}

/** Real change of each element of a row, which is the error of predicting none. */
export function changeOf({ truth, scales }: Ground, row: number): readonly number[] {
  const at = row * scales.change.length;
  const { obs, nextObs } = truth.rows;
  return scales.change.map((scale, j) => difference(obs[at + j], nextObs[at + j], scale, scales.isDiscrete));
}

/** The linear baseline's error of each element of a row. */
export function linearErrorOf({ truth, scales, linear }: Ground, row: number): readonly number[] {
  const { obsDim, actionDim } = widths(truth);
  const { obs, action, nextObs } = truth.rows;
  const next = new Float64Array(obsDim);
  const from = obs.subarray(row * obsDim, (row + 1) * obsDim);
  linear.predict(row, from, action.subarray(row * actionDim, (row + 1) * actionDim), next);
  return scales.change.map((scale, j) => {
    const value = scales.isDiscrete ? Math.round(next[j]) : next[j];
    return difference(value, nextObs[row * obsDim + j], scale, scales.isDiscrete);
  });
}

export function meanSquare(errors: readonly number[]): number {
  return errors.reduce((sum, error) => sum + error * error, 0) / errors.length;
}

function persistenceOf(ground: Ground): number[] {
  return Array.from({ length: ground.truth.rows.rows }, (_, r) => meanSquare(changeOf(ground, r)));
}

function linearOf(ground: Ground): number[] {
  return Array.from({ length: ground.truth.rows.rows }, (_, r) => meanSquare(linearErrorOf(ground, r)));
}

function isClose(a: number, b: number): boolean {
  return Math.abs(a - b) <= ROUNDING * Math.max(1, Math.abs(b));
}
