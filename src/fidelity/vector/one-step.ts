// One step from real states: what the model says follows each recorded transition, without noise, and how sure it was.

import type { Forecast } from '../../worldmodel/dynamics.js';
import type { LinesChart, WorstTransition } from '../report.js';
import {
  type Finding,
  figuresOf,
  findingOf,
  type Instrument,
  metricTable,
  pointOf,
  short,
  shown,
  shownShare,
  type Value,
} from '../section.js';
import { crpsMixture } from '../statistics.js';
import {
  CHUNK_ROWS,
  clusteredMean,
  clusteredRatio,
  clusteredShare,
  difference,
  episodeAt,
  type Ground,
  intervalRng,
  type Judged,
  meanSquare,
  widths,
} from './ground.js';
import { chunkOfRows, elementOf } from './open-loop.js';

/** What the model says of one transition. */
type OneStepRow = {
  /** Next observation. */
  readonly next: readonly number[];
  readonly reward: number;
  readonly terminated: number;
  /** Mean over elements, in standard deviations of their change; null without spread. */
  readonly crps: number | null;
};

export function vectorOneStep(judged: Judged): Instrument<OneStepRow> {
  return {
    id: 'one-step',
    chunks: Math.ceil(judged.ground.truth.rows.rows / CHUNK_ROWS),
    measure: (chunk) => measure(judged, chunk),
    conclude: (rows) => conclude(judged, rows),
  };
}

async function measure(judged: Judged, chunk: number): Promise<readonly OneStepRow[]> {
  const { truth, scales } = judged.ground;
  const { subject } = judged;
  const { obsDim } = widths(truth);
  const { first, end, action, carry, rng } = await chunkOfRows(judged, 'one-step', chunk);
  const said = await subject.model.imagine(carry, action, rng, { propagation: 'mean', deterministic: true });
  const forecast = await subject.forecast?.(carry, action);
  return Array.from({ length: end - first }, (_, r) => {
    const real = truth.rows.nextObs.subarray((first + r) * obsDim, (first + r + 1) * obsDim);
    return {
      next: Array.from(said.observation.subarray(r * obsDim, (r + 1) * obsDim), short),
      reward: short(said.reward[r]),
      terminated: said.terminated[r],
      crps: forecast === undefined ? null : crpsOf(forecast, r, real, scales.change),
    };
  });
}

function crpsOf(forecast: Forecast, row: number, real: Float32Array, scale: readonly number[]): number {
  const crps = scale.reduce((sum, unit, j) => {
    const { means, stds } = elementOf(forecast, row, j, real.length, unit);
    return sum + crpsMixture(real[j] / unit, means, stds);
  }, 0);
  return short(crps / real.length);
}

const METRICS = metricTable(`
state-error               | lower  | number | State error | Root mean squared error of the next observation over elements and transitions, each element in standard deviations of its real change in one step.
skill-persistence         | higher | number | Skill over persistence | One minus the squared state error over that of predicting no change: 1 is perfect, 0 is worthless.
state-exact               | higher | share  | States exactly right | Share of transitions whose next observation is right in every element to float32 rounding.
state-within              | higher | share  | States within tolerance | Share of transitions whose error, as the root mean square over elements in standard deviations of their change, is within the tolerance.
reward-error              | lower  | number | Reward error | Mean absolute difference of the reward, in units of the reward.
termination-agreement     | higher | share  | Ends agreed on | Share of transitions of which both worlds say the same of whether the episode ended.
crps                      | lower  | number | CRPS | Mean continuous ranked probability score of the mixture of the elites over elements, in standard deviations of their change: an absolute error that also rewards honest uncertainty.
right-state-wrong-outcome | lower  | share  | Right state, wrong outcome | Share of transitions whose next observation is within tolerance while reward (by more than the tolerance times its standard deviation) or end is wrong.
`);

/** One value a transition. */
interface Errors {
  /** [rows][obsDim] signed, in standard deviations of each element's change; and those of predicting no change. */
  readonly elements: readonly (readonly number[])[];
  readonly persistence: readonly (readonly number[])[];
  /** Simulated minus real. */
  readonly reward: readonly number[];
  readonly isExact: readonly boolean[];
  readonly isEndRight: readonly boolean[];
}

function conclude(judged: Judged, rows: readonly OneStepRow[]): Finding {
  const { ground, subject } = judged;
  const errors = errorsOf(ground, rows);
  const found = estimates(ground, rows, errors);
  const value = (key: keyof typeof found) => found[key].estimate.value;
  return findingOf(
    {
      id: 'one-step',
      title: 'One step',
      summary: `One step is off by ${shown(value('state-error'))} standard deviations of a step's change; ${shownShare(value('state-within'))} of the states are within tolerance, ${shownShare(value('state-exact'))} exact.`,
      charts: [elementChart(ground, errors)],
      worst: worstTransitions(ground, rows, errors),
      notes: [
        ...subject.notes,
        'The model answers without noise (the mean of its elites): what a sampled simulation adds is seen in other sections.',
        ...(rows.some(({ crps }) => crps !== null) ? [] : ['This model says one thing only: no spread, so no CRPS.']),
        ...(ground.scales.isDiscrete ? ['States are discrete: an error is 1 where the state is wrong, else 0.'] : []),
      ],
    },
    figuresOf(METRICS, found),
  );
}

/** What float32 arithmetic in another order may differ by. */
const ROUNDING = 1e-5;

function errorsOf({ truth, scales }: Ground, rows: readonly OneStepRow[]): Errors {
  const { obsDim } = widths(truth);
  const { obs, nextObs, reward, terminated } = truth.rows;
  const isClose = (a: number, b: number) => Math.abs(a - b) <= ROUNDING * Math.max(1, Math.abs(b));
  const errorOf = (values: ArrayLike<number>, from: number, r: number) =>
    scales.change.map((scale, j) => difference(values[from + j], nextObs[r * obsDim + j], scale, scales.isDiscrete));
  return {
    elements: rows.map(({ next }, r) => errorOf(next, 0, r)),
    persistence: Array.from({ length: truth.rows.rows }, (_, r) => errorOf(obs, r * obsDim, r)),
    reward: rows.map((row, r) => row.reward - reward[r]),
    isExact: rows.map(({ next }, r) => next.every((value, j) => isClose(value, nextObs[r * obsDim + j]))),
    isEndRight: rows.map((row, r) => row.terminated === terminated[r]),
  };
}

function estimates({ units, plan, scales }: Ground, rows: readonly OneStepRow[], errors: Errors) {
  const rng = (key: string) => intervalRng(plan, 'one-step', key);
  const average = (key: string, values: readonly Value[], shape?: (mean: number) => number) =>
    clusteredMean(values, units, rng(key), shape);
  const share = (key: string, hits: readonly boolean[]) => clusteredShare(hits, units, rng(key));
  const square = errors.elements.map(meanSquare);
  const still = errors.persistence.map(meanSquare);
  const isWithin = square.map((value) => Math.sqrt(value) <= plan.tolerance);
  const isOutcomeRight = errors.reward.map(
    (error, r) => Math.abs(error) <= plan.tolerance * scales.reward && errors.isEndRight[r],
  );
  return {
    'state-error': average('state-error', square, Math.sqrt),
    'skill-persistence': clusteredRatio(square, still, units, rng('skill-persistence'), (ratio) => 1 - ratio),
    'state-exact': share('state-exact', errors.isExact),
    'state-within': share('state-within', isWithin),
    'reward-error': average('reward-error', errors.reward.map(Math.abs)),
    'termination-agreement': share('termination-agreement', errors.isEndRight),
    crps: average(
      'crps',
      rows.map(({ crps }) => crps),
    ),
    'right-state-wrong-outcome': share(
      'right-state-wrong-outcome',
      isWithin.map((within, i) => within && !isOutcomeRight[i]),
    ),
  };
}

function elementChart({ truth, plan, units }: Ground, { elements, persistence }: Errors): LinesChart {
  const series = (name: string, errors: Errors['elements'], stream: string) => ({
    name,
    points: truth.elements.flatMap((label, j) => {
      const squares = errors.map((row) => row[j] ** 2);
      const rng = intervalRng(plan, 'one-step', `${stream}-${j}`);
      return pointOf(j + 1, clusteredMean(squares, units, rng, Math.sqrt).estimate, label);
    }),
  });
  return {
    kind: 'points',
    title: 'Error by element',
    caption: 'Root mean squared error of each element of the next observation, beside that of predicting no change.',
    xTitle: 'Element',
    yTitle: 'Error (standard deviations of its change)',
    series: [series('model', elements, 'element'), series('persistence', persistence, 'persistence')],
  };
}

const SHOWN = 8;

/** By state error in standard deviations, plus the reward's in its own, plus 1 for an end that is wrong. */
function worstTransitions(
  ground: Ground,
  rows: readonly OneStepRow[],
  { elements, reward, isEndRight }: Errors,
): readonly WorstTransition[] {
  const badness = rows.map(
    (_, r) => Math.sqrt(meanSquare(elements[r])) + Math.abs(reward[r]) / ground.scales.reward + (isEndRight[r] ? 0 : 1),
  );
  const order = badness.map((_, r) => r).sort((a, b) => badness[b] - badness[a] || a - b);
  return order
    .slice(0, SHOWN)
    .filter((r) => badness[r] > 0)
    .map((r) => inFull(ground, rows[r], r, badness[r], elements[r]));
}

function inFull(
  { truth, scales, plan }: Ground,
  said: OneStepRow,
  row: number,
  badness: number,
  errors: readonly number[],
): WorstTransition {
  const { obsDim, actionDim } = widths(truth);
  const { rows, elements, episodes } = truth;
  const named = (values: ArrayLike<number>) =>
    Object.fromEntries(elements.map((name, j) => [name, short(values[j])] as const));
  const next = rows.nextObs.subarray(row * obsDim, (row + 1) * obsDim);
  const [reward, terminated] = [short(rows.reward[row]), rows.terminated[row]];
  const episode = episodeAt(truth, row);
  const wrong = elements.map((_, j) => j).filter((j) => Math.abs(errors[j]) > plan.tolerance);
  const isRewardWrong = Math.abs(reward - said.reward) > scales.reward * plan.tolerance;
  return {
    title: `Episode ${episodes.indexOf(episode)}, step ${row - episode.first}`,
    badness: short(badness),
    context: { observation: named(rows.obs.subarray(row * obsDim, (row + 1) * obsDim)) },
    action: Array.from(rows.action.subarray(row * actionDim, (row + 1) * actionDim), short),
    real: { observation: named(next), reward, terminated: terminated === 1 },
    simulated: { observation: named(said.next), reward: said.reward, terminated: said.terminated === 1 },
    differences: [
      ...wrong
        .sort((a, b) => Math.abs(errors[b]) - Math.abs(errors[a]))
        .map((j) => ({ path: elements[j], real: short(next[j]), simulated: said.next[j] })),
      ...(isRewardWrong ? [{ path: 'reward', real: reward, simulated: said.reward }] : []),
      ...(terminated === said.terminated ? [] : [{ path: 'terminated', real: terminated, simulated: said.terminated }]),
    ],
  };
}
