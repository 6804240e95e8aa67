// Drift as pictures: the error over the horizon beside what costs nothing, and the share of dreams still within tolerance.

import type { FidelityChart, Point } from '../../report/fidelity-report.js';
import { bootstrapEstimate } from '../../statistics/bootstrap.js';
import type { Estimate } from '../../statistics/estimate.js';
import { byUnit, clusteredMean } from '../clustered.js';
import { intervalRng, type Judged } from '../plan.js';
import { pointOf } from '../section-parts.js';
import type { Units } from '../truth.js';
import { survival, watched } from './survival.js';

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
