// Drift as pictures: the error over the horizon beside what costs nothing, and the share of dreams still within tolerance.

import type { FidelityChart, Point } from '../report/fidelity-report.js';
import { pointOf } from '../section.js';
import { bootstrapEstimate } from '../statistics/bootstrap.js';
import type { Estimate } from '../statistics/estimate.js';
import { byUnit, clusteredMean } from './clustered.js';
import { type Ground, intervalRng, type Judged } from './ground.js';
import { difference, type Units } from './truth.js';

/** Errors of each dream after 1, 2, ... steps, and of the baselines from the same beginnings. */
export interface Drifts {
  readonly model: readonly (readonly number[])[];
  readonly persistence: readonly (readonly number[])[];
  readonly linear: readonly (readonly number[])[];
}

/** Resamples of each point's band. */
const DRAWS = 300;

/** @param drift of the model, as `driftByStep` says it */
export function kStepsCharts(
  judged: Judged,
  drifts: Drifts,
  drift: readonly Estimate[],
  units: Units,
): readonly FidelityChart[] {
  const points = (byStep: readonly Estimate[]) => byStep.flatMap((estimate, t) => pointOf(t + 1, estimate));
  const baselines = (['persistence', 'linear'] as const).map((name) => ({
    name,
    points: points(driftByStep(judged, drifts, name, units)),
  }));
  const series = [{ name: 'model', points: points(drift) }, ...baselines];
  return [
    {
      kind: 'lines',
      title: 'Drift of open-loop dreams',
      caption:
        'Mean error after so many steps under the recorded actions, of dreams whose recorded episode goes on so long.',
      xTitle: 'Steps without looking',
      yTitle: 'Error (standard deviations)',
      series,
    },
    {
      kind: 'lines',
      title: 'Dreams within tolerance',
      caption: 'Share of dreams that have not been beyond the tolerance so far (Kaplan-Meier).',
      xTitle: 'Steps without looking',
      yTitle: 'Share of dreams',
      series: [{ name: 'model', points: survivalPoints(judged, drifts.model, units) }],
    },
  ];
}

/** Mean error after 1, 2, ... steps, up to the horizon. */
export function driftByStep({ ground }: Judged, drifts: Drifts, of: keyof Drifts, units: Units): Estimate[] {
  return Array.from({ length: ground.plan.horizon }, (_, t) => {
    const values = drifts[of].map((errors) => errors[t] ?? null);
    const rng = intervalRng(ground.plan, 'k-steps', `${of}-${t}`);
    return clusteredMean(values, units, rng).estimate;
  });
}

function survivalPoints({ ground }: Judged, errors: Drifts['model'], units: Units): Point[] {
  const { horizon, tolerance } = ground.plan;
  const dreams = byUnit(
    errors.map((one) => watched(one, tolerance)),
    units,
  );
  return Array.from({ length: horizon }, (_, t) => t).flatMap((t) => {
    const rng = intervalRng(ground.plan, 'k-steps', `survival-${t}`);
    const share = bootstrapEstimate(dreams, (drawn) => survival(drawn.flat())[t] ?? null, rng, { draws: DRAWS });
    return pointOf(t + 1, share);
  });
}

// Time to divergence where some dreams are not seen to diverge: their recorded episode was over, or the horizon reached
// (Kaplan and Meier 1958).

export interface Watched {
  /** Steps within tolerance before the first one beyond it, or before nobody could look any more. */
  readonly steps: number;
  readonly hasDiverged: boolean;
}

export function watched(errors: readonly number[], tolerance: number): Watched {
  const first = errors.findIndex((error) => error > tolerance);
  return first < 0 ? { steps: errors.length, hasDiverged: false } : { steps: first, hasDiverged: true };
}

/** Share of dreams that are within tolerance through step 1, 2, ... as far as any dream was watched. */
export function survival(dreams: readonly Watched[]): number[] {
  const longest = dreams.reduce((most, { steps, hasDiverged }) => Math.max(most, steps + Number(hasDiverged)), 0);
  const diverged = new Float64Array(longest + 2);
  const unseen = new Float64Array(longest + 2);
  for (const { steps, hasDiverged } of dreams) {
    if (hasDiverged) diverged[steps + 1]++;
    else unseen[steps + 1]++;
  }
  const curve: number[] = [];
  let atRisk = dreams.length;
  let share = 1;
  for (let t = 1; t <= longest; t++) {
    atRisk -= unseen[t];
    share *= 1 - diverged[t] / atRisk;
    atRisk -= diverged[t];
    curve.push(share);
  }
  return curve;
}

/** Expected steps before divergence, counted up to the longest that was watched; null without dreams. */
export function meanSteps(dreams: readonly Watched[]): number | null {
  return dreams.length === 0 ? null : survival(dreams).reduce((sum, share) => sum + share, 0);
}

// What is kept of a dream: how far off it was after each step.

/** One dream. */
export type KStepRow = {
  /** Root mean square over elements of the error after 1, 2, ... steps, in standard deviations of each element; at most WORST. */
  readonly errors: readonly number[];
  /** What a policy earned in a dream from here, and for real by the same actions; null without a policy. */
  readonly replayed: {
    readonly dreamt: number;
    readonly real: number;
    readonly dreamtEnd: boolean;
    readonly realEnd: boolean;
  } | null;
};

/** A dream that is off by this many standard deviations is lost; by how much says nothing, and would drown the others. */
export const WORST = 10;

/** Of `dreamt` as what follows recorded row `row`. */
export function stateError({ truth, scales }: Ground, dreamt: ArrayLike<number>, row: number): number {
  const obsDim = scales.state.length;
  let squares = 0;
  for (let j = 0; j < obsDim; j++) {
    const real = truth.rows.nextObs[row * obsDim + j];
    squares += difference(dreamt[j], real, scales.state[j], scales.isDiscrete) ** 2;
  }
  return Math.min(Math.sqrt(squares / obsDim), WORST);
}
