// What one sees of a trust horizon: where the measured error crosses what is tolerated.

import type { DriftPoint } from '../instrument.js';
import type { FidelityChart } from '../report/fidelity-report.js';
import type { Estimate } from '../statistics/index.js';
import type { HorizonPlan } from './horizon-evidence.js';
import { probabilityOfLeaving } from './return-bounds.js';

interface Shown {
  readonly stepError: Estimate;
  readonly drift: readonly DriftPoint[];
}

/** Steps that the chart of tools shows at most. */
const MOST_STEPS = 50;

/** One chart, or none where nothing was measured. */
export function horizonCharts({ stepError, drift }: Shown, plan: HorizonPlan): FidelityChart[] {
  if (plan.family === 'vector') return drift.length === 0 ? [] : [driftChart(drift, plan)];
  return stepError.value === null ? [] : [leavingChart(stepError, stepError.value, plan)];
}

function driftChart(drift: readonly DriftPoint[], { tolerance }: HorizonPlan): FidelityChart {
  const points = drift.map(({ step, value, low, high }) => ({ x: step, y: value, low, high }));
  return {
    kind: 'lines',
    title: 'Drift and what is tolerated',
    caption: 'The trust horizon is where the upper edge of the band first crosses the line.',
    xTitle: 'dreamt steps',
    yTitle: 'drift (standard deviations)',
    series: [
      { name: 'drift', points },
      level(
        drift.map(({ step }) => step),
        tolerance,
      ),
    ],
  };
}

function leavingChart({ low, high }: Estimate, value: number, { tolerance, maxSteps }: HorizonPlan): FidelityChart {
  const steps = Array.from({ length: Math.min(maxSteps, MOST_STEPS) }, (_, i) => i + 1);
  const points = steps.map((x) => ({
    x,
    y: probabilityOfLeaving(value, x),
    low: probabilityOfLeaving(low ?? value, x),
    high: probabilityOfLeaving(high ?? value, x),
  }));
  return {
    kind: 'lines',
    title: 'Probability that a dream has left the real',
    caption: 'From the error of single steps; the trust horizon is where the upper edge first crosses the line.',
    xTitle: 'dreamt steps',
    yTitle: 'probability',
    series: [{ name: 'a wrong state somewhere', points }, level(steps, tolerance)],
  };
}

function level(steps: readonly number[], y: number) {
  return { name: 'tolerance', points: steps.map((x) => ({ x, y })) };
}
