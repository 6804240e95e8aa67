// Many steps without looking: how an open-loop simulation drifts away from what really followed.

import type { Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import {
  type DriftPoint,
  type Finding,
  figuresOf,
  findingOf,
  type Instrument,
  metricTable,
  pointOf,
  type Sampled,
  shown,
} from '../section.js';
import { bootstrapEstimate, type Estimate } from '../statistics.js';
import {
  byUnit,
  CHUNK_STARTS,
  chunkRange,
  chunkRng,
  clusteredMean,
  difference,
  type Ground,
  intervalRng,
  type Judged,
  type Units,
} from './ground.js';
import { type Beginning, beginningsOf, openLoop, unitsOfBeginnings } from './open-loop.js';

/** One simulation. */
type KStepRow = {
  /** Root mean square over elements of the error after 1, 2, ... steps, in standard deviations of each element; at most WORST. */
  readonly errors: readonly number[];
};

/** A simulation that is off by this many standard deviations is lost; by how much says nothing, and would drown the others. */
const WORST = 10;

export function vectorKSteps(judged: Judged): Instrument<KStepRow> {
  const { ground } = judged;
  const obsDim = ground.scales.state.length;
  const beginnings = beginningsOf(judged);
  return {
    id: 'k-steps',
    chunks: Math.ceil(beginnings.length / CHUNK_STARTS),
    measure: async (chunk) => {
      const [first, end] = chunkRange(chunk, CHUNK_STARTS, beginnings.length);
      const own = beginnings.slice(first, end);
      const rng = chunkRng(ground.plan, 'k-steps', chunk).split('drift');
      const tracks = await openLoop(judged, own, rng, { propagation: 'mean', deterministic: true });
      return own.map(({ row, steps }, i) => {
        const { length, nextObs } = tracks[i];
        const errors = Array.from({ length: steps }, (_, t) =>
          t < length ? stateError(ground, nextObs.subarray(t * obsDim, (t + 1) * obsDim), row + t) : WORST,
        );
        return { errors: errors.map((error) => Number(error.toPrecision(6))) };
      });
    },
    conclude: (rows) => conclude(judged, beginnings, rows),
  };
}

/** Of `simulated` as what follows recorded row `row`. */
function stateError({ truth, scales }: Ground, simulated: ArrayLike<number>, row: number): number {
  const obsDim = scales.state.length;
  let squares = 0;
  for (let j = 0; j < obsDim; j++) {
    const real = truth.rows.nextObs[row * obsDim + j];
    squares += difference(simulated[j], real, scales.state[j], scales.isDiscrete) ** 2;
  }
  return Math.min(Math.sqrt(squares / obsDim), WORST);
}

const METRICS = metricTable(`
drift                   | lower   | number | Drift | Mean error over all steps of open-loop simulations under the recorded actions, in standard deviations of each element; an error counts as ${WORST} at most.
divergence-steps        | higher  | steps  | Steps to divergence | Mean number of steps before the error first exceeds the tolerance; all that were recorded, up to the horizon, where it never does.
better-than-persistence | higher  | steps  | Steps better than persistence | Steps, from the first on, for which the mean error is smaller than that of predicting no change at all.
`);

/** Errors of each simulation after 1, 2, ... steps. */
type Drifts = readonly (readonly number[])[];

function conclude(judged: Judged, beginnings: readonly Beginning[], rows: readonly KStepRow[]): Finding {
  const { ground } = judged;
  const { plan, truth } = ground;
  const obsDim = ground.scales.state.length;
  const model = rows.map(({ errors }) => errors);
  const still = beginnings.map(({ row, steps }) => {
    const start = truth.rows.obs.subarray(row * obsDim, (row + 1) * obsDim);
    return Array.from({ length: steps }, (_, t) => stateError(ground, start, row + t));
  });
  const units = unitsOfBeginnings(judged, beginnings);
  const rng = (key: string) => intervalRng(plan, 'k-steps', key);
  const found = {
    drift: clusteredMean(model.map(mean), units, rng('drift')),
    'divergence-steps': divergenceOf(model, plan.tolerance, units, rng('divergence-steps')),
    'better-than-persistence': leadOver(model, still, units, rng('better-than-persistence')),
  };
  const byStep = (of: Drifts, name: string) =>
    Array.from({ length: plan.horizon }, (_, t) => {
      const values = of.map((errors) => errors[t] ?? null);
      return clusteredMean(values, units, rng(`${name}-${t}`)).estimate;
    });
  const drift = byStep(model, 'model');
  const points = (estimates: readonly Estimate[]) => estimates.flatMap((estimate, t) => pointOf(t + 1, estimate));
  const finding = findingOf(
    {
      id: 'k-steps',
      title: 'Many steps',
      summary: `Over ${plan.horizon} steps without looking the simulation is off by ${shown(found.drift.estimate.value)} standard deviations in the mean, and within tolerance for ${shown(found['divergence-steps'].estimate.value)} steps.`,
      charts: [
        {
          kind: 'lines',
          title: 'Drift of open-loop simulations',
          caption:
            'Mean error after so many steps under the recorded actions. The trust horizon ends where the upper edge of the band first leaves the tolerance.',
          xTitle: 'Steps without looking',
          yTitle: 'Error (standard deviations)',
          series: [
            { name: 'model', points: points(drift) },
            { name: 'persistence', points: points(byStep(still, 'persistence')) },
            { name: 'tolerance', points: drift.map((_, t) => ({ x: t + 1, y: plan.tolerance })) },
          ],
        },
      ],
      notes: notesOf(ground, model),
    },
    figuresOf(METRICS, found),
  );
  return { ...finding, drift: drift.flatMap(driftPoint) };
}

/** What was watched of a single unit has no interval but its value. */
function driftPoint({ value, low, high }: Estimate, t: number): DriftPoint[] {
  return value === null ? [] : [{ step: t + 1, value, low: low ?? value, high: high ?? value }];
}

/** Kept errors are rounded: a lead smaller than that is none. */
const ROUNDING = 1e-5;

/** Steps from the first on that the mean of the model's errors is below that of the others. */
function leadOver(model: Drifts, others: Drifts, units: Units, rng: Rng): Estimate {
  const behind = model.map((errors, i) => errors.map((error, t) => error + ROUNDING - others[i][t]));
  const lead = (drawn: Drifts) => {
    const total = summed(drawn);
    const end = total.findIndex((behindBy) => behindBy >= 0);
    return end < 0 ? total.length : end;
  };
  return bootstrapEstimate(byUnit(behind, units).map(summed), lead, rng);
}

/** Sum of each place over lists of different lengths. */
function summed(lists: Drifts): number[] {
  const total: number[] = [];
  for (const list of lists) for (let t = 0; t < list.length; t++) total[t] = (total[t] ?? 0) + list[t];
  return total;
}

function notesOf({ plan }: Ground, model: Drifts): readonly string[] {
  const isNeverLost = model.every((errors) => divergedAt(errors, plan.tolerance) < 0);
  return [
    'Simulations are without noise (the mean of the elites).',
    ...(isNeverLost
      ? [
          'No simulation went beyond the tolerance: the steps to divergence are those that were watched, and how long they would last is not known.',
        ]
      : []),
  ];
}

/** Steps within tolerance before the first one beyond it; -1 where there is none. */
function divergedAt(errors: readonly number[], tolerance: number): number {
  return errors.findIndex((error) => error > tolerance);
}

function divergenceOf(model: Drifts, tolerance: number, units: Units, rng: Rng): Sampled {
  const steps = model.map((errors) => divergedAt(errors, tolerance));
  const watched = steps.map((step, i) => (step < 0 ? model[i].length : step));
  const found = clusteredMean(watched, units, rng);
  // Where no simulation was seen to diverge, how long they last is not known.
  const isOpen = steps.every((step) => step < 0);
  return isOpen ? { ...found, estimate: { ...found.estimate, high: null } } : found;
}
