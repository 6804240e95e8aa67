// The section on trust: how many dreamt steps may be trusted, what that means for training, and what theory promises of
// returns beside what was measured.

import type { DriftPoint, Finding } from '../instrument.js';
import type { FidelityChart, FidelityTable, Metric } from '../report/fidelity-report.js';
import { type Estimate, NOTHING } from '../statistics/estimate.js';
import type { Findings, HorizonPlan } from './return-bounds.js';
import {
  bestBranchLength,
  boundMetrics,
  estimateOf,
  type MeasuredBound,
  measuredBound,
  probabilityOfLeaving,
} from './return-bounds.js';
import { horizonOfDrift, horizonOfErrors, NO_TRUST, realRatioAt, type TrustHorizon } from './trust-horizon.js';

interface Found {
  readonly horizon: TrustHorizon;
  /** Of one step; its measure depends on the family. */
  readonly stepError: Estimate;
  readonly drift: readonly DriftPoint[];
  readonly bound: MeasuredBound | undefined;
}

/** For `Subject.derive`: the horizon from what the other sections found; where these lack, the section says so. */
export function horizonFindings(findings: Findings, plan: HorizonPlan): readonly Finding[] {
  const found = plan.family === 'tools' ? toolsHorizon(findings, plan) : vectorHorizon(findings, plan);
  const metrics = [...horizonMetrics(found, plan), ...boundMetrics(found.bound)];
  return [
    {
      section: {
        id: 'horizon',
        title: 'Trust horizon',
        summary: summaryOf(found, plan),
        metrics,
        charts: horizonCharts(found, plan),
        tables: tablesOf(found, plan),
        worst: [],
        notes: notesOf(found, plan),
      },
      samples: {},
    },
  ];
}

function toolsHorizon(findings: Findings, plan: HorizonPlan): Found {
  const stepError = complement(estimateOf(findings, 'one-step', 'state-exact'));
  const bound = measuredBound(findings, plan, { transition: stepError, reward: 0 });
  return { horizon: horizonOfErrors(stepError, plan.tolerance), stepError, drift: [], bound };
}

function vectorHorizon(findings: Findings, plan: HorizonPlan): Found {
  const drift = driftOf(findings);
  const stepError = complement(estimateOf(findings, 'one-step', 'state-within'));
  const exact = complement(estimateOf(findings, 'one-step', 'state-exact'));
  const reward = estimateOf(findings, 'one-step', 'reward-error').value;
  const bound = reward === null ? undefined : measuredBound(findings, plan, { transition: exact, reward });
  const horizon = drift.length === 0 ? NO_TRUST : horizonOfDrift(drift, plan.tolerance);
  return { horizon, stepError, drift, bound };
}

function isMeasured({ drift, stepError }: Found, { family }: HorizonPlan): boolean {
  return family === 'tools' ? stepError.value !== null : drift.length > 0;
}

function horizonMetrics(found: Found, plan: HorizonPlan): Metric[] {
  const { horizon, stepError, drift } = found;
  const { cautious, hopeful } = horizon;
  const isKnown = isMeasured(found, plan);
  const n = drift.length > 0 ? drift.length : stepError.n;
  const steps: Estimate = { value: cautious, low: cautious, high: hopeful, n, method: 'exact' };
  const ratio = realRatioAt(cautious);
  const real: Estimate = { value: ratio, low: realRatioAt(hopeful ?? Infinity), high: ratio, n, method: 'exact' };
  return [
    { ...METRICS.steps, estimate: isKnown ? steps : NOTHING },
    { ...METRICS.ratio, estimate: isKnown ? real : NOTHING },
    { ...METRICS.error, estimate: stepError },
  ];
}

const METRICS = {
  steps: {
    key: 'trusted-steps',
    label: 'Trust horizon',
    better: 'higher',
    unit: 'steps',
    meaning:
      'Dreamt steps in a row that stay within the tolerance, by the worse end of what was measured; the interval reaches to the better end.',
  },
  ratio: {
    key: 'real-ratio',
    label: 'Real rows a batch should have',
    better: 'neither',
    unit: 'share',
    meaning: 'One real row for each branch of as many dreamt ones as are trusted, 1 / (1 + H), and 5 % at least.',
  },
  error: {
    key: 'step-error',
    label: 'Wrong steps',
    better: 'lower',
    unit: 'share',
    meaning:
      'Share of single steps after which the dreamt state is not the real one (of numbers: beyond the tolerance).',
  },
} as const satisfies Record<string, Omit<Metric, 'estimate'>>;

function summaryOf(found: Found, plan: HorizonPlan): string {
  if (!isMeasured(found, plan)) return 'Not measured: nothing is trusted unmeasured.';
  const { cautious, atLeast } = found.horizon;
  const within =
    plan.family === 'tools'
      ? `a state is wrong somewhere with a probability of at most ${plan.tolerance}`
      : `drift stays within ${plan.tolerance} standard deviations`;
  if (cautious === 0) return `No dreamt step can be trusted: not even for one holds that ${within}.`;
  const steps = `${atLeast ? 'at least ' : ''}${cautious} step${cautious === 1 ? '' : 's'}`;
  return `Dreams of ${steps} can be trusted: up to there ${within}. Train on branches no longer than that, with ${percent(realRatioAt(cautious))} real rows.`;
}

const OTHER_TOLERANCES = { tools: [0.05, 0.1, 0.2, 0.5], vector: [0.1, 0.25, 0.5, 1] } as const;
const POLICY_SHIFTS = [0.01, 0.05, 0.1, 0.2, 0.5];

function tablesOf(found: Found, plan: HorizonPlan): FidelityTable[] {
  if (!isMeasured(found, plan)) return [];
  const { stepError, drift } = found;
  const at = (tolerance: number) =>
    plan.family === 'tools' ? horizonOfErrors(stepError, tolerance) : horizonOfDrift(drift, tolerance);
  const tolerances = [...new Set([...OTHER_TOLERANCES[plan.family], plan.tolerance])].sort((a, b) => a - b);
  const horizons: FidelityTable = {
    title: 'By what is tolerated',
    columns: ['tolerance', 'trusted steps', 'real rows'],
    rows: tolerances.map((tolerance) => {
      const { cautious, atLeast } = at(tolerance);
      return [String(tolerance), `${atLeast ? '≥ ' : ''}${cautious}`, percent(realRatioAt(cautious))];
    }),
  };
  return plan.family === 'vector' && stepError.value !== null
    ? [horizons, branchTable(stepError.high ?? stepError.value, plan)]
    : [horizons];
}

/** MBPO's own answer to how long branches should be, by the worse end of the model's error; it also depends on how far the policy has moved. */
function branchTable(model: number, { gamma }: HorizonPlan): FidelityTable {
  return {
    title: "Length that makes MBPO's penalty least (1906.08253, theorem 4.3), for its two errors as total variation",
    columns: ['policy has moved by', 'model error', 'length'],
    rows: POLICY_SHIFTS.map((policy) => {
      const length = bestBranchLength({ model, policy }, { gamma });
      const shown = Number.isFinite(length) ? String(length) : 'no limit';
      return [String(policy), Number(model.toPrecision(3)).toString(), length === 0 ? '0: real rows alone' : shown];
    }),
  };
}

function notesOf(found: Found, plan: HorizonPlan): string[] {
  const { horizon, bound } = found;
  if (!isMeasured(found, plan)) {
    const what = plan.family === 'tools' ? 'one step (state-exact)' : 'many steps (drift)';
    return [`The horizon is made from the section on ${what}, which found nothing or was left out.`];
  }
  return [
    ...(horizon.atLeast ? ['Nothing worse was seen as far as was measured: the true horizon may be longer.'] : []),
    plan.family === 'tools'
      ? 'It takes steps to be as likely wrong late as early, and those of the questions that were asked to be those of an episode; k-steps measures the rest.'
      : 'It is that of the policies and states the truth was recorded with; a policy that goes elsewhere has another.',
    ...(bound?.notes ?? ['Bounds on returns need the section on rank, and errors of reward: one of them is missing.']),
  ];
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}

// What one sees of a trust horizon: where the measured error crosses what is tolerated.

interface Shown {
  readonly stepError: Estimate;
  readonly drift: readonly DriftPoint[];
}

/** Steps that the chart of tools shows at most. */
const MOST_STEPS = 50;

/** One chart, or none where nothing was measured. */
function horizonCharts({ stepError, drift }: Shown, plan: HorizonPlan): FidelityChart[] {
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

/** The share that is missing to 1. */
function complement({ value, low, high, n, method }: Estimate): Estimate {
  const rest = (share: number | null) => (share === null ? null : 1 - share);
  return { value: rest(value), low: rest(high), high: rest(low), n, method };
}

/** In order of steps; empty where nothing was measured. */
function driftOf(findings: Findings): readonly DriftPoint[] {
  return findings.get('k-steps')?.drift ?? [];
}
