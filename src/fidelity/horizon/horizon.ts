// The section on trust: how many dreamt steps may be trusted, what that means for training, and what theory promises of
// returns beside what was measured.

import type { Finding } from '../instrument.js';
import type { FidelityTable, Metric } from '../report/fidelity-report.js';
import { shownShare } from '../section.js';
import { type Estimate, NOTHING } from '../statistics/estimate.js';
import {
  bestBranchLength,
  boundMetrics,
  type Findings,
  type HorizonEvidence,
  type HorizonPlan,
  type HorizonRule,
  type MeasuredBound,
  measuredBound,
} from './return-bounds.js';
import { NO_TRUST, realRatioAt, type TrustHorizon } from './trust-horizon.js';

interface Found {
  readonly horizon: TrustHorizon;
  readonly evidence: HorizonEvidence;
  readonly isMeasured: boolean;
  readonly bound: MeasuredBound | undefined;
}

/** For `Subject.derive`: the horizon from what the other sections found; where these lack, the section says so. */
export function horizonFindings(findings: Findings, plan: HorizonPlan): readonly Finding[] {
  const { rule, tolerance } = plan;
  const evidence = rule.evidence(findings);
  const isMeasured = rule.isMeasured(evidence);
  const horizon = isMeasured ? rule.trusted(evidence, tolerance) : NO_TRUST;
  const found = { horizon, evidence, isMeasured, bound: measuredBound(findings, plan, evidence) };
  return [
    {
      section: {
        id: 'horizon',
        title: 'Trust horizon',
        summary: summaryOf(found, plan),
        metrics: [...horizonMetrics(found), ...boundMetrics(found.bound)],
        charts: isMeasured ? [rule.chart(evidence, plan)] : [],
        tables: tablesOf(found, plan),
        worst: [],
        notes: notesOf(found, plan),
        ...(isMeasured ? {} : { missing: unmade(rule) }),
      },
      samples: {},
    },
  ];
}

function horizonMetrics({ horizon, evidence: { stepError, drift }, isMeasured }: Found): Metric[] {
  const { cautious, hopeful } = horizon;
  const n = drift.length > 0 ? drift.length : stepError.n;
  const steps: Estimate = { value: cautious, low: cautious, high: hopeful, n, method: 'exact' };
  const ratio = realRatioAt(cautious);
  const real: Estimate = { value: ratio, low: realRatioAt(hopeful ?? Infinity), high: ratio, n, method: 'exact' };
  return [
    { ...METRICS.steps, estimate: isMeasured ? steps : NOTHING },
    { ...METRICS.ratio, estimate: isMeasured ? real : NOTHING },
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

function summaryOf({ horizon, evidence, isMeasured }: Found, { rule, tolerance }: HorizonPlan): string {
  if (!isMeasured) return 'Not measured: nothing is trusted unmeasured.';
  const { cautious, atLeast } = horizon;
  const within = rule.within(tolerance);
  if (cautious === 0) return `No dreamt step can be trusted: it cannot be said even of one that ${within}.`;
  const steps = `${atLeast ? 'at least ' : ''}${cautious} step${cautious === 1 ? '' : 's'}`;
  const training = `Train on branches no longer than that, with ${shownShare(realRatioAt(cautious))} real rows.`;
  return `Dreams of ${steps} can be trusted: up to there ${within}. ${training}${rule.reach(evidence)}`;
}

const POLICY_SHIFTS = [0.01, 0.05, 0.1, 0.2, 0.5];

function tablesOf({ evidence, isMeasured }: Found, plan: HorizonPlan): FidelityTable[] {
  if (!isMeasured) return [];
  const { rule, tolerance } = plan;
  const { stepError } = evidence;
  const tolerances = [...new Set([...rule.tolerances, tolerance])].sort((a, b) => a - b);
  const horizons: FidelityTable = {
    title: 'By what is tolerated',
    columns: ['tolerance', 'trusted steps', 'real rows'],
    rows: tolerances.map((tolerated) => {
      const { cautious, atLeast } = rule.trusted(evidence, tolerated);
      return [String(tolerated), `${atLeast ? '≥ ' : ''}${cautious}`, shownShare(realRatioAt(cautious))];
    }),
  };
  return rule.hasBranches && stepError.value !== null
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

function unmade({ madeFrom }: HorizonRule): string {
  return `The horizon is made from the section on ${madeFrom}, which found nothing or was left out.`;
}

function notesOf({ horizon, bound, isMeasured }: Found, { rule }: HorizonPlan): string[] {
  if (!isMeasured) {
    return [unmade(rule)];
  }
  return [
    ...(horizon.atLeast ? ['Nothing worse was seen as far as was measured: the true horizon may be longer.'] : []),
    rule.caveat,
    ...(bound?.notes ?? ['Bounds on returns need the section on rank, and errors of reward: one of them is missing.']),
  ];
}

/** The line that a horizon's chart is read against. */
export function toleranceLine(steps: readonly number[], tolerance: number) {
  return { name: 'tolerance', points: steps.map((x) => ({ x, y: tolerance })) };
}

/** The share that is missing to 1. */
export function complement({ value, low, high, n, method }: Estimate): Estimate {
  const rest = (share: number | null) => (share === null ? null : 1 - share);
  return { value: rest(value), low: rest(high), high: rest(low), n, method };
}
