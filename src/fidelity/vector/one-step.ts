// One step from real states: what the model says follows each recorded transition, without noise, and how sure it was.

import type { Forecast } from '../../worldmodel/dynamics.js';
import type { Finding, Instrument } from '../measure.js';
import type { FidelityChart, FidelityTable, Point, WorstTransition } from '../report.js';
import { findingOf, metricsOfInfos, metricTable, pointOf, short, shown, shownShare, unmeasured } from '../section.js';
import { crpsMixture, jointMixtureNll } from '../statistics/scores.js';
import {
  CHUNK_ROWS,
  chunkRange,
  chunkRng,
  clusteredMean,
  clusteredRatio,
  clusteredShare,
  difference,
  episodeAt,
  type Ground,
  intervalRng,
  type Judged,
  meanSquare,
  ONLY_LIVED_IN,
  type RowValues,
  widths,
} from './ground.js';
import { begunAtRows, elementOf } from './open-loop.js';

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

export function oneStepInstrument(judged: Judged): Instrument<OneStepRow> {
  const { truth } = judged.ground;
  const instrument: Instrument<OneStepRow> = {
    id: 'one-step',
    unit: 'transitions',
    chunks: Math.ceil(truth.rows.rows / CHUNK_ROWS),
    measure: (chunk) => measure(judged, chunk),
    conclude: (rows) => concludeOneStep(judged, rows),
  };
  return judged.subject.model === undefined ? unmeasured(instrument, ONLY_LIVED_IN) : instrument;
}

async function measure({ ground, subject }: Judged, chunk: number): Promise<readonly OneStepRow[]> {
  const { truth, plan, scales } = ground;
  const { obsDim, actionDim } = widths(truth);
  const model = subject.model!;
  const [first, end] = chunkRange(chunk, CHUNK_ROWS, truth.rows.rows);
  const action = truth.rows.action.subarray(first * actionDim, end * actionDim);
  const rng = chunkRng(plan, 'one-step', chunk);
  const carry = await begunAtRows(model, truth, [first, end], rng);
  const said = await model.imagine(carry, action, rng, { propagation: 'mean', deterministic: true });
  const forecast = await subject.forecast?.(carry, action);
  return Array.from({ length: end - first }, (_, r) => {
    const real = truth.rows.nextObs.subarray((first + r) * obsDim, (first + r + 1) * obsDim);
    return {
      next: Array.from(said.observation.subarray(r * obsDim, (r + 1) * obsDim), short),
      reward: short(said.reward[r]),
      terminated: said.terminated[r],
      ...scores(forecast, r, real, scales.change),
    };
  });
}

/** Keeps a mixture that is sure and wrong from being infinitely wrong. */
const WORST_SCORE = 1e6;

function scores(
  forecast: Forecast | undefined,
  row: number,
  real: Float32Array,
  scale: readonly number[],
): Pick<OneStepRow, 'nll' | 'crps'> {
  if (forecast === undefined) return { nll: null, crps: null };
  const mixtures = scale.map((unit, j) => elementOf(forecast, row, j, real.length, unit));
  const of = (part: 'means' | 'stds') =>
    Array.from({ length: forecast.components }, (_, c) => mixtures.map((mixture) => mixture[part][c]));
  const scaled = scale.map((unit, j) => real[j] / unit);
  const nll = jointMixtureNll(scaled, of('means'), of('stds'));
  const crps = mixtures.reduce((sum, mixture, j) => sum + crpsMixture(scaled[j], mixture.means, mixture.stds), 0);
  return { nll: short(Math.min(nll / real.length, WORST_SCORE)), crps: short(crps / real.length) };
}

const METRICS = metricTable(`
state-error               | lower  | number | State error | Root mean squared error of the next observation over elements and transitions, each element in standard deviations of its real change in one step.
skill-persistence         | higher | number | Skill over persistence | One minus the squared state error over that of predicting no change: 1 is perfect, 0 is worthless.
skill-linear              | higher | number | Skill over a linear model | One minus the squared state error over that of linear regression fitted on other transitions.
state-exact               | higher | share  | States exactly right | Share of transitions whose next observation is right in every element to float32 rounding.
state-within              | higher | share  | States within tolerance | Share of transitions whose error, as the root mean square over elements in standard deviations of their change, is within the tolerance.
reward-error              | lower  | number | Reward error | Mean absolute difference of the reward, in units of the reward.
reward-exact              | higher | share  | Rewards exactly right | Share of transitions whose reward is right to float32 rounding.
termination-agreement     | higher | share  | Ends agreed on | Share of transitions of which both worlds say the same of whether the episode ended.
nll                       | lower  | number | Negative log-likelihood | Mean negative log-likelihood of the real next observation under the mixture of the elites, in nats an element, elements in standard deviations of their change.
crps                      | lower  | number | CRPS | Mean continuous ranked probability score of the mixture of the elites over elements, in standard deviations of their change: an absolute error that also rewards honest uncertainty.
right-state-wrong-outcome | lower  | share  | Right state, wrong outcome | Share of transitions whose next observation is within tolerance while reward (by more than the tolerance times its standard deviation) or end is wrong.
wrong-state-right-outcome | lower  | share  | Right outcome, wrong state | Share of transitions whose reward and end look right while the next observation is beyond the tolerance.
`);

function concludeOneStep({ ground, subject }: Judged, rows: readonly OneStepRow[]): Finding {
  const errors = errorsOf(ground, rows);
  const found = estimates(ground, rows, errors);
  const value = (key: keyof typeof found) => found[key].estimate.value;
  const notes = [
    ...(subject.notes ?? []),
    'The model answers without noise (the mean of its elites): what a sampled simulation adds is seen in other sections.',
    ...(rows.some(({ nll }) => nll !== null)
      ? []
      : ['This model says one thing only: no spread, so no likelihood and no CRPS.']),
    ...(ground.scales.isDiscrete ? ['States are discrete: an error is 1 where the state is wrong, else 0.'] : []),
  ];
  return findingOf(
    {
      id: 'one-step',
      title: 'One step',
      summary: `One step is off by ${shown(value('state-error'))} standard deviations of a step's change; ${shownShare(value('state-within'))} of the states are within tolerance, ${shownShare(value('state-exact'))} exact.`,
      charts: [elementChart(ground, errors), changesChart(ground, errors)],
      tables: [elementTable(ground, errors)],
      worst: worstTransitions(ground, rows, errors),
      notes,
    },
    metricsOfInfos(METRICS, found),
  );
}

/** One value a transition. */
interface Errors {
  /** [rows][obsDim] signed, in standard deviations of each element's change. */
  readonly elements: readonly (readonly number[])[];
  /** Errors of predicting no change, and of the linear model. */
  readonly baselines: Readonly<Record<'persistence' | 'linear', readonly (readonly number[])[]>>;
  /** Simulated minus real. */
  readonly reward: readonly number[];
  readonly isExact: readonly boolean[];
  readonly isRewardExact: readonly boolean[];
  readonly isEndRight: readonly boolean[];
  /** Elements that really changed by more than half a standard deviation of their change. */
  readonly changed: readonly number[];
}

/** What float32 arithmetic in another order may differ by. */
const ROUNDING = 1e-5;
const CHANGED = 0.5;

function errorsOf(ground: Ground, rows: readonly OneStepRow[]): Errors {
  const { truth, scales } = ground;
  const { obsDim } = widths(truth);
  const { nextObs, reward, terminated } = truth.rows;
  const isClose = (a: number, b: number) => Math.abs(a - b) <= ROUNDING * Math.max(1, Math.abs(b));
  const all = Array.from({ length: truth.rows.rows }, (_, r) => r);
  const persistence = all.map((r) => changeOf(ground, r));
  return {
    elements: rows.map(({ next }, r) =>
      next.map((value, j) => difference(value, nextObs[r * obsDim + j], scales.change[j], scales.isDiscrete)),
    ),
    baselines: { persistence, linear: all.map((r) => linearErrorOf(ground, r)) },
    reward: rows.map((row, r) => row.reward - reward[r]),
    isExact: rows.map(({ next }, r) => next.every((value, j) => isClose(value, nextObs[r * obsDim + j]))),
    isRewardExact: rows.map((row, r) => isClose(row.reward, reward[r])),
    isEndRight: rows.map((row, r) => row.terminated === terminated[r]),
    changed: persistence.map((changes) => changes.filter((change) => Math.abs(change) > CHANGED).length),
  };
}

/** Real change of each element of a row, which is the error of predicting none. */
function changeOf({ truth, scales }: Ground, row: number): readonly number[] {
  const at = row * scales.change.length;
  const { obs, nextObs } = truth.rows;
  return scales.change.map((scale, j) => difference(obs[at + j], nextObs[at + j], scale, scales.isDiscrete));
}

/** The linear baseline's error of each element of a row. */
function linearErrorOf({ truth, scales, linear }: Ground, row: number): readonly number[] {
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

function estimates({ units, plan, scales }: Ground, rows: readonly OneStepRow[], errors: Errors) {
  const rng = (key: string) => intervalRng(plan, 'one-step', key);
  const mean = (key: string, values: RowValues, shape?: (mean: number) => number) =>
    clusteredMean(values, units, rng(key), shape);
  const share = (key: string, hits: readonly boolean[]) => clusteredShare(hits, units, rng(key));
  const square = errors.elements.map(meanSquare);
  const skill = (key: string, baseline: readonly (readonly number[])[]) =>
    clusteredRatio(square, baseline.map(meanSquare), units, rng(key), (ratio) => 1 - ratio);
  const isWithin = square.map((value) => Math.sqrt(value) <= plan.tolerance);
  const isOutcomeRight = errors.reward.map(
    (error, r) => Math.abs(error) <= plan.tolerance * scales.reward && errors.isEndRight[r],
  );
  const of = (key: 'nll' | 'crps') => rows.map((row) => row[key]);
  return {
    'state-error': mean('state-error', square, Math.sqrt),
    'skill-persistence': skill('skill-persistence', errors.baselines.persistence),
    'skill-linear': skill('skill-linear', errors.baselines.linear),
    'state-exact': share('state-exact', errors.isExact),
    'state-within': share('state-within', isWithin),
    'reward-error': mean('reward-error', errors.reward.map(Math.abs)),
    'reward-exact': share('reward-exact', errors.isRewardExact),
    'termination-agreement': share('termination-agreement', errors.isEndRight),
    nll: mean('nll', of('nll')),
    crps: mean('crps', of('crps')),
    'right-state-wrong-outcome': share(
      'right-state-wrong-outcome',
      isWithin.map((within, i) => within && !isOutcomeRight[i]),
    ),
    'wrong-state-right-outcome': share(
      'wrong-state-right-outcome',
      isWithin.map((within, i) => !within && isOutcomeRight[i]),
    ),
  };
}

function elementChart({ truth, plan, units }: Ground, { elements, baselines }: Errors): FidelityChart {
  const model = truth.elements.flatMap((name, j) => {
    const squares = elements.map((row) => row[j] ** 2);
    const rng = intervalRng(plan, 'one-step', `element-${j}`);
    return pointOf(j + 1, clusteredMean(squares, units, rng, Math.sqrt).estimate, name);
  });
  const points = (errors: readonly (readonly number[])[]) =>
    truth.elements.map((label, j): Point => ({ x: j + 1, y: rootMean(errors, j), label }));
  return {
    kind: 'points',
    title: 'Error by element',
    caption: 'Root mean squared error of each element of the next observation, beside what costs nothing.',
    xTitle: 'Element',
    yTitle: 'Error (standard deviations of its change)',
    series: [
      { name: 'model', points: model },
      { name: 'persistence', points: points(baselines.persistence) },
      { name: 'linear', points: points(baselines.linear) },
    ],
  };
}

/** Transitions a point needs. */
const LEAST = 5;

/** Whether it gets worse where much happens at once. */
function changesChart({ units, plan, truth }: Ground, { elements, baselines, changed }: Errors): FidelityChart {
  const counts = Array.from({ length: truth.elements.length + 1 }, (_, n) => n);
  const series = (name: string, errors: readonly (readonly number[])[]) => ({
    name,
    points: counts.flatMap((n) => {
      const chosen = errors.map((error, r) => (changed[r] === n ? meanSquare(error) : null));
      if (chosen.filter((value) => value !== null).length < LEAST) return [];
      const rng = intervalRng(plan, 'one-step', `${name}-${n}`);
      return pointOf(n, clusteredMean(chosen, units, rng, Math.sqrt).estimate);
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
      series('model', elements),
      series('persistence', baselines.persistence),
      series('linear', baselines.linear),
    ],
  };
}

function elementTable({ truth, scales }: Ground, { elements, baselines }: Errors): FidelityTable {
  return {
    title: 'Elements',
    columns: ['Element', 'Unit (std of change)', 'Error', 'Bias', 'Persistence', 'Linear'],
    rows: truth.elements.map((name, j) => {
      const bias = elements.reduce((sum, row) => sum + row[j], 0) / elements.length;
      const roots = [elements, baselines.persistence, baselines.linear].map((errors) => shown(rootMean(errors, j)));
      return [name, shown(scales.change[j]), roots[0], shown(bias), roots[1], roots[2]];
    }),
  };
}

function rootMean(errors: readonly (readonly number[])[], element: number): number {
  return Math.sqrt(meanSquare(errors.map((row) => row[element])));
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
  dreamt: OneStepRow,
  row: number,
  badness: number,
  errors: readonly number[],
): WorstTransition {
  const { obsDim, actionDim } = widths(truth);
  const { rows, elements, episodes } = truth;
  const named = (values: ArrayLike<number>) =>
    Object.fromEntries(elements.map((name, j) => [name, short(values[j])] as const));
  const next = rows.nextObs.subarray(row * obsDim, (row + 1) * obsDim);
  const episode = episodeAt(truth, row);
  const wrong = elements.map((_, j) => j).filter((j) => Math.abs(errors[j]) > plan.tolerance);
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
        .sort((a, b) => Math.abs(errors[b]) - Math.abs(errors[a]))
        .map((j) => ({ path: elements[j], real: short(next[j]), dreamt: dreamt.next[j] })),
      ...outcome
        .filter(({ real, dreamt: said, unit }) => Math.abs(real - said) > unit)
        .map(({ path, real, dreamt: said }) => ({ path, real, dreamt: said })),
    ],
  };
}
