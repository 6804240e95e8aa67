// One step from real states: what the model says follows each recorded transition, without noise, and how sure it was.

import type { Forecast } from '../../worldmodel/dynamics.js';
import type { Finding, Instrument } from '../instrument.js';
import type { WorstTransition } from '../report/fidelity-report.js';
import {
  type Found,
  findingOf,
  type MetricInfo,
  metricsOfInfos,
  short,
  shown,
  shownShare,
  unmeasured,
} from '../section.js';
import { crpsMixture, jointMixtureNll } from '../statistics/gaussian-scores.js';
import { clusteredMean, clusteredRatio, clusteredShare, type RowValues } from './clustered.js';
import { elementOf } from './forecast.js';
import { CHUNK_ROWS, chunkRange, chunkRng, type Ground, intervalRng, type Judged, ONLY_LIVED_IN } from './ground.js';
import { type OneStepErrors, type OneStepRow, oneStepCharts, oneStepErrors, oneStepTables } from './one-step-errors.js';
import { begunAtRows } from './open-loop.js';
import { episodeAt, widths } from './truth.js';

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
  const means = Array.from({ length: forecast.components }, (_, c) => mixtures.map((mixture) => mixture.means[c]));
  const stds = Array.from({ length: forecast.components }, (_, c) => mixtures.map((mixture) => mixture.stds[c]));
  const scaled = scale.map((unit, j) => real[j] / unit);
  const nll = jointMixtureNll(scaled, means, stds);
  const crps = mixtures.reduce((sum, mixture, j) => sum + crpsMixture(scaled[j], mixture.means, mixture.stds), 0);
  return { nll: short(Math.min(nll / real.length, WORST_SCORE)), crps: short(crps / real.length) };
}

// What one step shows: how far off, in what, and whether state and outcome go wrong together.

const METRICS = {
  'state-error': {
    label: 'State error',
    better: 'lower',
    unit: 'number',
    meaning:
      'Root mean squared error of the next observation over elements and transitions, each element in standard deviations of its real change in one step.',
  },
  'skill-persistence': {
    label: 'Skill over persistence',
    better: 'higher',
    unit: 'number',
    meaning: 'One minus the squared state error over that of predicting no change: 1 is perfect, 0 is worthless.',
  },
  'skill-linear': {
    label: 'Skill over a linear model',
    better: 'higher',
    unit: 'number',
    meaning: 'One minus the squared state error over that of linear regression fitted on other transitions.',
  },
  'state-exact': {
    label: 'States exactly right',
    better: 'higher',
    unit: 'share',
    meaning: 'Share of transitions whose next observation is right in every element to float32 rounding.',
  },
  'state-within': {
    label: 'States within tolerance',
    better: 'higher',
    unit: 'share',
    meaning:
      'Share of transitions whose error, as the root mean square over elements in standard deviations of their change, is within the tolerance.',
  },
  'reward-error': {
    label: 'Reward error',
    better: 'lower',
    unit: 'number',
    meaning: 'Mean absolute difference of the reward, in units of the reward.',
  },
  'reward-exact': {
    label: 'Rewards exactly right',
    better: 'higher',
    unit: 'share',
    meaning: 'Share of transitions whose reward is right to float32 rounding.',
  },
  'termination-agreement': {
    label: 'Ends agreed on',
    better: 'higher',
    unit: 'share',
    meaning: 'Share of transitions of which both worlds say the same of whether the episode ended.',
  },
  nll: {
    label: 'Negative log-likelihood',
    better: 'lower',
    unit: 'number',
    meaning:
      'Mean negative log-likelihood of the real next observation under the mixture of the elites, in nats an element, elements in standard deviations of their change.',
  },
  crps: {
    label: 'CRPS',
    better: 'lower',
    unit: 'number',
    meaning:
      'Mean continuous ranked probability score of the mixture of the elites over elements, in standard deviations of their change: an absolute error that also rewards honest doubt.',
  },
  'right-state-wrong-outcome': {
    label: 'Right state, wrong outcome',
    better: 'lower',
    unit: 'share',
    meaning:
      'Share of transitions whose next observation is within tolerance while reward (by more than the tolerance times its standard deviation) or end is wrong.',
  },
  'wrong-state-right-outcome': {
    label: 'Right outcome, wrong state',
    better: 'lower',
    unit: 'share',
    meaning: 'Share of transitions whose reward and end look right while the next observation is beyond the tolerance.',
  },
} as const satisfies Record<string, MetricInfo>;

function concludeOneStep({ ground, subject }: Judged, rows: readonly OneStepRow[]): Finding {
  const errors = oneStepErrors(ground, rows);
  const found = estimates(ground, rows, errors);
  const notes = [
    ...(subject.notes ?? []),
    'The model answers without noise (the mean of its elites): what a sampled dream adds is seen in other sections.',
    ...(rows.some(({ nll }) => nll !== null)
      ? []
      : ['This model says one thing only: no spread, so no likelihood and no CRPS.']),
    ...(ground.scales.isDiscrete ? ['States are discrete: an error is 1 where the state is wrong, else 0.'] : []),
  ];
  return findingOf(
    {
      id: 'one-step',
      title: 'One step',
      summary: summaryOf(found),
      charts: oneStepCharts(ground, errors),
      tables: oneStepTables(ground, errors),
      worst: worstTransitions(ground, rows, errors),
      notes,
    },
    metricsOfInfos(METRICS, found),
  );
}

function estimates(ground: Ground, rows: readonly OneStepRow[], errors: OneStepErrors) {
  const { units, plan } = ground;
  const rng = (key: string) => intervalRng(plan, 'one-step', key);
  const mean = (key: string, values: RowValues, shape?: (mean: number) => number) =>
    clusteredMean(values, units, rng(key), shape);
  const share = (key: string, hits: readonly boolean[]) =>
    clusteredShare(
      hits.map((hit) => (hit ? 1 : 0)),
      units,
      rng(key),
    );
  const skill = (key: string, baseline: RowValues) =>
    clusteredRatio(errors.square, baseline, units, rng(key), (ratio) => 1 - ratio);
  const { isWithin, isOutcomeRight } = errors;
  return {
    'state-error': mean('state-error', errors.square, Math.sqrt),
    'skill-persistence': skill('skill-persistence', errors.persistence),
    'skill-linear': skill('skill-linear', errors.linear),
    'state-exact': share('state-exact', errors.isExact),
    'state-within': share('state-within', isWithin),
    'reward-error': mean('reward-error', errors.reward.map(Math.abs)),
    'reward-exact': share('reward-exact', errors.isRewardExact),
    'termination-agreement': share('termination-agreement', errors.isEndRight),
    nll: mean(
      'nll',
      rows.map(({ nll }) => nll),
    ),
    crps: mean(
      'crps',
      rows.map(({ crps }) => crps),
    ),
    'right-state-wrong-outcome': share(
      'right-state-wrong-outcome',
      isWithin.map((within, i) => within && !isOutcomeRight[i]),
    ),
    'wrong-state-right-outcome': share(
      'wrong-state-right-outcome',
      isWithin.map((within, i) => !within && isOutcomeRight[i]),
    ),
  } satisfies Found;
}

function summaryOf(found: ReturnType<typeof estimates>): string {
  const value = (key: keyof typeof found) => found[key].estimate.value;
  return `One step is off by ${shown(value('state-error'))} standard deviations of a step's change; ${shownShare(value('state-within'))} of the states are within tolerance, ${shownShare(value('state-exact'))} exact.`;
}

// The transitions that were got most wrong, in full.

const SHOWN = 8;

/** By state error in standard deviations, plus the reward's in its own, plus 1 for an end that is wrong. */
function worstTransitions(
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
