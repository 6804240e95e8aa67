// One step as pictures: which elements are off, and whether it gets worse where much happens at once.

import type { FidelityChart, FidelityTable, Point } from '../../report/fidelity-report.js';
import { clusteredMean } from '../clustered.js';
import { type Ground, intervalRng } from '../plan.js';
import { pointOf, root, shown } from '../section-parts.js';
import { changeOf, linearErrorOf, type OneStepErrors } from './errors.js';

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
    return pointOf(j + 1, clusteredMean(squares, ground.units, rng, root).estimate, name);
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
      return pointOf(n, clusteredMean(chosen, units, intervalRng(plan, 'one-step', `${name}-${n}`), root).estimate);
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
