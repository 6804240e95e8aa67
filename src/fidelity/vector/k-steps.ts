// Many steps without looking: how an open-loop dream drifts away from what really followed, and whether what a policy did
// in the dream is worth as much for real.

import type { DriftPoint, Finding, Instrument } from '../instrument.js';
import { findingOf, type MetricInfo, metricsOfInfos, short, shown } from '../section.js';
import { bootstrapEstimate } from '../statistics/bootstrap.js';
import { type Estimate, NOTHING } from '../statistics/estimate.js';
import { byUnit, type Clustered, clusteredMean, clusteredRatio, clusteredShare } from './clustered.js';
import {
  type Drifts,
  driftByStep,
  type KStepRow,
  kStepsCharts,
  meanSteps,
  stateError,
  type Watched,
  WORST,
  watched,
} from './drift.js';
import { CHUNK_STARTS, chunkRange, chunkRng, type Ground, intervalRng, type Judged } from './ground.js';
import { type Beginning, beginningsOf, openLoop, type Track, unitsOfBeginnings } from './open-loop.js';
import { replaysOf } from './replays.js';
import { type Units, widths } from './truth.js';

export function kStepsInstrument(judged: Judged): Instrument<KStepRow> {
  const beginnings = beginningsOf(judged);
  return {
    id: 'k-steps',
    unit: 'dreams',
    chunks: Math.ceil(beginnings.length / CHUNK_STARTS),
    measure: async (chunk) => {
      const [first, end] = chunkRange(chunk, CHUNK_STARTS, beginnings.length);
      const own = beginnings.slice(first, end);
      const rng = chunkRng(judged.ground.plan, 'k-steps', chunk);
      const without = { propagation: 'mean', deterministic: true } as const;
      const tracks = await openLoop(judged, own, rng.split('drift'), without);
      const replays = await replaysOf(judged, own, rng.split('replay'));
      return own.map(({ row, steps }, i) => {
        const replay = replays[i];
        const replayed = replay && { ...replay, dreamt: short(replay.dreamt), real: short(replay.real) };
        return { errors: errorsOf(judged.ground, tracks[i], row, steps), replayed };
      });
    },
    conclude: (rows) => concludeKSteps(judged, beginnings, rows),
  };
}

function errorsOf(ground: Ground, track: Track, row: number, steps: number): number[] {
  const obsDim = ground.scales.state.length;
  return Array.from({ length: steps }, (_, t) =>
    t < track.lived ? stateError(ground, track.nextObs.subarray(t * obsDim, (t + 1) * obsDim), row + t) : WORST,
  ).map((error) => Number(error.toPrecision(6)));
}

// What many steps show: how far the dream drifts, when it is lost, what it is better than, and whether it keeps its word.

const METRICS = {
  drift: {
    label: 'Drift',
    better: 'lower',
    unit: 'number',
    meaning: `Mean error over all steps of open-loop dreams under the recorded actions, in standard deviations of each element; an error counts as ${WORST} at most.`,
  },
  'drift-final': {
    label: 'Drift at the horizon',
    better: 'lower',
    unit: 'number',
    meaning: 'The same, of the last step of those dreams that were watched up to the horizon.',
  },
  'divergence-steps': {
    label: 'Steps to divergence',
    better: 'higher',
    unit: 'steps',
    meaning:
      'Expected number of steps before the error first exceeds the tolerance, counted up to the horizon (Kaplan-Meier: dreams whose recorded episode ended earlier count as long as they were watched).',
  },
  'better-than-persistence': {
    label: 'Steps better than persistence',
    better: 'higher',
    unit: 'steps',
    meaning: 'Steps, from the first on, for which the mean error is smaller than that of predicting no change at all.',
  },
  'better-than-linear': {
    label: 'Steps better than a linear model',
    better: 'higher',
    unit: 'steps',
    meaning: 'Steps, from the first on, for which the mean error is smaller than that of a linear model.',
  },
  'consistency-ratio': {
    label: 'Consistency ratio',
    better: 'neither',
    unit: 'number',
    meaning:
      'Real return over dreamt return of the same actions, chosen by a policy in the dream: 1 keeps its word, less promises too much; only where no return is negative.',
  },
  'consistency-gap': {
    label: 'Consistency gap',
    better: 'neither',
    unit: 'return',
    meaning:
      'Real minus dreamt return of a sequence of actions that a policy chose in the dream: 0 keeps its word, less than 0 promises too much.',
  },
  'ending-kept': {
    label: 'Endings kept',
    better: 'higher',
    unit: 'share',
    meaning:
      'Share of action sequences chosen in the dream whose episode, done for real, ends by its task within the same steps if and only if it did in the dream.',
  },
} as const satisfies Record<string, MetricInfo>;

function concludeKSteps(judged: Judged, beginnings: readonly Beginning[], rows: readonly KStepRow[]): Finding {
  const { ground, subject } = judged;
  const { plan } = ground;
  const drifts: Drifts = {
    model: rows.map(({ errors }) => errors),
    persistence: beginnings.map((beginning) => persistenceErrors(ground, beginning)),
    linear: beginnings.map((beginning) => linearErrors(ground, beginning)),
  };
  const units = unitsOfBeginnings(judged, beginnings);
  const found = { ...driftEstimates(judged, drifts, units), ...replayEstimates(judged, rows, units) };
  const { drift, 'divergence-steps': divergence } = found;
  const byStep = driftByStep(judged, drifts, 'model', units);
  const finding = findingOf(
    {
      id: 'k-steps',
      title: 'Many steps',
      summary: `Over ${plan.horizon} steps without looking the dream is off by ${shown(drift.estimate.value)} standard deviations in the mean, and within tolerance for ${shown(divergence.estimate.value)} steps.`,
      charts: kStepsCharts(judged, drifts, byStep, units),
      tables: [],
      worst: [],
      notes: notesOf(judged, rows, subject.model === undefined),
    },
    metricsOfInfos(METRICS, found),
  );
  return { ...finding, drift: byStep.flatMap(driftPoint) };
}

/** What was watched of a single unit has no interval but its value. */
function driftPoint({ value, low, high }: Estimate, t: number): DriftPoint[] {
  return value === null ? [] : [{ step: t + 1, value, low: low ?? value, high: high ?? value }];
}

function driftEstimates({ ground }: Judged, drifts: Drifts, units: Units) {
  const { plan } = ground;
  const rng = (key: string) => intervalRng(plan, 'k-steps', key);
  const mean = (errors: readonly number[]) => errors.reduce((sum, error) => sum + error, 0) / errors.length;
  const last = drifts.model.map((errors) => (errors.length === plan.horizon ? errors[plan.horizon - 1] : null));
  return {
    drift: clusteredMean(drifts.model.map(mean), units, rng('drift')),
    'drift-final': clusteredMean(last, units, rng('drift-final')),
    'divergence-steps': divergenceOf(drifts.model, plan.tolerance, units, rng('divergence-steps')),
    'better-than-persistence': leadOver(drifts.model, drifts.persistence, units, rng('better-than-persistence')),
    'better-than-linear': leadOver(drifts.model, drifts.linear, units, rng('better-than-linear')),
  };
}

function divergenceOf(
  errors: Drifts['model'],
  tolerance: number,
  units: Units,
  rng: ReturnType<typeof intervalRng>,
): Clustered {
  const dreams = errors.map((one) => watched(one, tolerance));
  const estimate = bootstrapEstimate(byUnit(dreams, units), (drawn) => meanSteps(drawn.flat()), rng);
  const groups = Array.from({ length: units.count }, (): Watched[] => []);
  dreams.forEach((dream, i) => {
    groups[units.of[i]].push(dream);
  });
  // Where no dream was seen to diverge, how long they last is not known.
  const isOpen = dreams.every(({ hasDiverged }) => !hasDiverged);
  return { estimate: isOpen ? { ...estimate, high: null } : estimate, samples: groups.map(meanSteps) };
}

/** Kept errors are rounded: a lead smaller than that is none. */
const ROUNDING = 1e-5;

/** Steps from the first on that the mean of `own` is below that of `other`. */
function leadOver(
  own: Drifts['model'],
  other: Drifts['model'],
  units: Units,
  rng: ReturnType<typeof intervalRng>,
): Estimate {
  const sums = byUnit(
    own.map((errors, i) => errors.map((error, t) => error + ROUNDING - other[i][t])),
    units,
  ).map(summed);
  return bootstrapEstimate(
    sums,
    (drawn) => {
      const total = summed(drawn);
      const end = total.findIndex((difference) => difference >= 0);
      return end < 0 ? total.length : end;
    },
    rng,
  );
}

/** Sum of each place over lists of different lengths. */
function summed(lists: readonly (readonly number[])[]): number[] {
  const total: number[] = [];
  for (const list of lists) for (let t = 0; t < list.length; t++) total[t] = (total[t] ?? 0) + list[t];
  return total;
}

function replayEstimates({ ground }: Judged, rows: readonly KStepRow[], units: Units) {
  const rng = (key: string) => intervalRng(ground.plan, 'k-steps', key);
  const replays = rows.map(({ replayed }) => replayed);
  const real = replays.map((replay) => replay?.real ?? null);
  const dreamt = replays.map((replay) => replay?.dreamt ?? null);
  const kept = replays.map((replay) => replay && Number(replay.dreamtEnd === replay.realEnd));
  const gap = replays.map((replay) => replay && replay.real - replay.dreamt);
  return {
    'consistency-ratio': hasNegative(rows) ? NOTHING : clusteredRatio(real, dreamt, units, rng('consistency-ratio')),
    'consistency-gap': clusteredMean(gap, units, rng('consistency-gap')),
    'ending-kept': clusteredShare(kept, units, rng('ending-kept')),
  };
}

function hasNegative(rows: readonly KStepRow[]): boolean {
  return rows.some(({ replayed }) => replayed !== null && Math.min(replayed.real, replayed.dreamt) < 0);
}

const UNSEEDED =
  'The recorded transitions do not say how their episodes were begun: a model that starts itself could not be started alike.';

const NEVER_LOST =
  'No dream went beyond the tolerance: the steps to divergence are those that dreams were watched for, and how long they would last is not known.';

function notesOf({ ground }: Judged, rows: readonly KStepRow[], isServed: boolean): readonly string[] {
  const { replay, truth } = ground;
  const hasSnapshots = truth.starts.some(({ snapshot }) => snapshot !== undefined);
  return [
    isServed
      ? 'Dreams begin with episodes: the model starts itself, with the seeds of the recorded ones. How far it starts from them is part of its error.'
      : 'Dreams of the drift are without noise (the mean of the elites); those that a policy acts in are sampled, as training sees them.',
    ...(rows.length === 0 ? [UNSEEDED] : []),
    ...(rows.length > 0 && rows.every(({ errors }) => !watched(errors, ground.plan.tolerance).hasDiverged)
      ? [NEVER_LOST]
      : []),
    ...(replay === undefined ? ['No policy acted: consistency was not measured.'] : []),
    ...(replay !== undefined ? [`In the dreams that were done again for real, "${replay.name}" acted.`] : []),
    ...(replay !== undefined && !hasSnapshots
      ? ['The recorded transitions hold no states of the environment to go back to: those dreams begin at its resets.']
      : []),
    ...(hasNegative(rows) ? ['Some returns are negative, so that their ratio would mean nothing: see the gap.'] : []),
  ];
}

// Drift of what costs nothing, from the same beginnings: nothing ever changes, or all goes on linearly.

/** Errors after 1, 2, ... steps of staying where the dream began. */
function persistenceErrors(ground: Ground, { row, steps }: Beginning): number[] {
  const { obsDim } = widths(ground.truth);
  const start = ground.truth.rows.obs.subarray(row * obsDim, (row + 1) * obsDim);
  return Array.from({ length: steps }, (_, t) => stateError(ground, start, row + t));
}

/** Errors of the linear model, step by step from its own predictions. */
function linearErrors(ground: Ground, { row, steps }: Beginning): number[] {
  const { truth, linear, scales } = ground;
  const { obsDim, actionDim } = widths(truth);
  let obs = Float64Array.from(truth.rows.obs.subarray(row * obsDim, (row + 1) * obsDim));
  return Array.from({ length: steps }, (_, t) => {
    const at = (row + t) * actionDim;
    const next = new Float64Array(obsDim);
    linear.predict(row, obs, truth.rows.action.subarray(at, at + actionDim), next);
    obs = scales.isDiscrete ? next.map(Math.round) : next;
    return stateError(ground, obs, row + t);
  });
}
