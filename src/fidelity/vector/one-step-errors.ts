// Errors of every transition, of the model and of what it has to beat.

import type { FidelityChart, FidelityTable, Point } from '../report/fidelity-report.js';
import { pointOf, shown } from '../section.js';
import { clusteredMean } from './clustered.js';
import { type Ground, intervalRng } from './ground.js';
import { difference, widths } from './truth.js';

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

// One step as pictures: which elements are off, and whether it gets worse where much happens at once.

/** Transitions a point needs. */
const LEAST = 5;

export function oneStepCharts(ground: Ground, errors: OneStepErrors): readonly FidelityChart[] {
  return [byElement(ground, errors), byChanges(ground, errors)];
}

function byElement(ground: Ground, errors: OneStepErrors): FidelityChart {
  const { elements } = ground.truth;
  const model = elements.flatMap((name, j) => {
    const squares = errors.elements.map((row) => row[j] ** 2);
    const rng = intervalRng(ground.plan, 'one-step', `element-${j}`);
    return pointOf(j + 1, clusteredMean(squares, ground.units, rng, Math.sqrt).estimate, name);
  });
  const { persistence, linear } = baselines(ground);
  const points = (values: readonly number[]) => values.map((y, j): Point => ({ x: j + 1, y, label: elements[j] }));
  return {
    kind: 'points',
    title: 'Error by element',
    caption: 'Root mean squared error of each element of the next observation, beside what costs nothing.',
    xTitle: 'Element',
    yTitle: 'Error (standard deviations of its change)',
    series: [
      { name: 'model', points: model },
      { name: 'persistence', points: points(persistence) },
      { name: 'linear', points: points(linear) },
    ],
  };
}

function byChanges(ground: Ground, errors: OneStepErrors): FidelityChart {
  const { units, plan, truth } = ground;
  const counts = Array.from({ length: truth.elements.length + 1 }, (_, n) => n);
  const series = (values: readonly number[], name: string) => ({
    name,
    points: counts.flatMap((n) => {
      const chosen = values.map((value, r) => (errors.changed[r] === n ? value : null));
      if (chosen.filter((value) => value !== null).length < LEAST) return [];
      return pointOf(
        n,
        clusteredMean(chosen, units, intervalRng(plan, 'one-step', `${name}-${n}`), Math.sqrt).estimate,
      );
    }),
  });
  return {
    kind: 'lines',
    title: 'Error by the number of elements that change',
    caption:
      'Of transitions in which so many elements really change by more than half a standard deviation of their change.',
    xTitle: 'Elements that change at once',
    yTitle: 'Error (standard deviations of change)',
    series: [
      series(errors.square, 'model'),
      series(errors.persistence, 'persistence'),
      series(errors.linear, 'linear'),
    ],
  };
}

export function oneStepTables(ground: Ground, errors: OneStepErrors): readonly FidelityTable[] {
  const { truth, scales } = ground;
  const { persistence, linear } = baselines(ground);
  const rows = truth.elements.map((name, j) => {
    const own = errors.elements.map((row) => row[j]);
    const bias = own.reduce((sum, error) => sum + error, 0) / own.length;
    return [name, shown(scales.change[j]), shown(rootMean(own)), shown(bias), shown(persistence[j]), shown(linear[j])];
  });
  return [
    {
      title: 'Elements',
      columns: ['Element', 'Unit (std of change)', 'Error', 'Bias', 'Persistence', 'Linear'],
      rows,
    },
  ];
}

/** Errors by element. */
function baselines(ground: Ground): { readonly persistence: number[]; readonly linear: number[] } {
  const rows = Array.from({ length: ground.truth.rows.rows }, (_, r) => r);
  const changes = rows.map((r) => changeOf(ground, r));
  const lines = rows.map((r) => linearErrorOf(ground, r));
  const byColumn = (errors: readonly (readonly number[])[]) =>
    ground.truth.elements.map((_, j) => rootMean(errors.map((row) => row[j])));
  return { persistence: byColumn(changes), linear: byColumn(lines) };
}

function rootMean(errors: readonly number[]): number {
  return Math.sqrt(errors.reduce((sum, error) => sum + error * error, 0) / errors.length);
}

// What is kept of one transition.

/** What the model says of one transition. */
export type OneStepRow = {
  /** Next observation. */
  readonly next: readonly number[];
  readonly reward: number;
  readonly terminated: number;
  /** Of the whole vector, a share for each element, in standard deviations of its change; null without spread. */
  readonly nll: number | null;
  /** Mean over elements, in the same units. */
  readonly crps: number | null;
};
