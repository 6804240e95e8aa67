// The transitions that were got most wrong, in full.

import type { WorstTransition } from '../../report/fidelity-report.js';
import type { Ground } from '../plan.js';
import { short } from '../section-parts.js';
import { episodeAt, widths } from '../truth.js';
import type { OneStepErrors } from './errors.js';
import type { OneStepRow } from './row.js';

const SHOWN = 8;

/** By state error in standard deviations, plus the reward's in its own, plus 1 for an end that is wrong. */
export function worstTransitions(
  ground: Ground,
  rows: readonly OneStepRow[],
  errors: OneStepErrors,
): readonly WorstTransition[] {
  const badness = rows.map(
    (_, r) =>
      Math.sqrt(errors.square[r]) + Math.abs(errors.reward[r]) / ground.scales.reward + (errors.isEndRight[r] ? 0 : 1),
  );
  const order = badness.map((_, r) => r).sort((a, b) => badness[b] - badness[a] || a - b);
  return order
    .slice(0, SHOWN)
    .filter((r) => badness[r] > 0)
    .map((r) => inFull(ground, rows[r], r, badness[r], errors));
}

function inFull(
  { truth, scales, plan }: Ground,
  dreamt: OneStepRow,
  row: number,
  badness: number,
  errors: OneStepErrors,
): WorstTransition {
  const { obsDim, actionDim } = widths(truth);
  const { rows, elements, episodes } = truth;
  const named = (values: ArrayLike<number>) =>
    Object.fromEntries(elements.map((name, j) => [name, short(values[j])] as const));
  const next = rows.nextObs.subarray(row * obsDim, (row + 1) * obsDim);
  const episode = episodeAt(truth, row);
  const wrong = elements.map((_, j) => j).filter((j) => Math.abs(errors.elements[row][j]) > plan.tolerance);
  const outcome = [
    { path: 'reward', real: short(rows.reward[row]), dreamt: dreamt.reward, unit: scales.reward * plan.tolerance },
    { path: 'terminated', real: rows.terminated[row], dreamt: dreamt.terminated, unit: 0 },
  ];
  return {
    title: `Episode ${episodes.indexOf(episode)}, step ${row - episode.first}`,
    badness: short(badness),
    context: { observation: named(rows.obs.subarray(row * obsDim, (row + 1) * obsDim)) },
    action: Array.from(rows.action.subarray(row * actionDim, (row + 1) * actionDim), short),
    real: { observation: named(next), reward: short(rows.reward[row]), terminated: rows.terminated[row] === 1 },
    dreamt: { observation: named(dreamt.next), reward: dreamt.reward, terminated: dreamt.terminated === 1 },
    differences: [
      ...wrong
        .sort((a, b) => Math.abs(errors.elements[row][b]) - Math.abs(errors.elements[row][a]))
        .map((j) => ({ path: elements[j], real: short(next[j]), dreamt: dreamt.next[j] })),
      ...outcome
        .filter(({ real, dreamt: said, unit }) => Math.abs(real - said) > unit)
        .map(({ path, real, dreamt: said }) => ({ path, real, dreamt: said })),
    ],
  };
}
