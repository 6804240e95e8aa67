// How many simulated steps may be trusted, as one number: what it is made from, what follows for training, and its section.

import { reverieError } from '../core/errors.js';
import type { DriftPoint, Finding } from './measure.js';
import type { FidelityChart, FidelityReport, FidelityTable, Metric, SectionId, SubjectReport } from './report.js';
import { shownShare } from './section.js';
import { type Estimate, NOTHING } from './statistics/estimate.js';

/** Steps that may be trusted: `cautious` by the worse end of the interval, `hopeful` by the better one; null: without end. */
export interface TrustHorizon {
  readonly cautious: number;
  readonly hopeful: number | null;
  /** Nothing worse was seen as far as was measured: the true number may be larger. */
  readonly atLeast: boolean;
}

/** Nothing is trusted unmeasured. */
const NO_TRUST: TrustHorizon = { cautious: 0, hopeful: 0, atLeast: false };

/**
 * From the share of steps after which the state is wrong: the largest H with 1 - (1 - e)^H <= tolerance. Assumes that a step
 * is as likely wrong late as early; where wrong states beget wrong states, drift says more.
 *
 * @param wrong share with its interval
 * @param tolerance probability in (0, 1) that a simulation of H steps may be wrong somewhere
 */
export function horizonOfErrors({ value, low, high }: Estimate, tolerance: number): TrustHorizon {
  if (value === null) return NO_TRUST;
  const cautious = stepsWithin(high ?? value, tolerance);
  return {
    cautious: cautious ?? MOST_STEPS,
    hopeful: stepsWithin(low ?? value, tolerance),
    atLeast: cautious === null,
  };
}

/** Horizons above are without end: the ends of intervals of no error at all are 0 but for rounding. */
const MOST_STEPS = 1_000_000;

/** null: without end. */
function stepsWithin(error: number, tolerance: number): number | null {
  if (error >= 1) return 0;
  if (error <= 0) return null;
  // A horizon that is whole but for rounding is that whole number.
  const steps = Math.floor(Math.log1p(-tolerance) / Math.log1p(-error) + 1e-9);
  return steps > MOST_STEPS ? null : steps;
}

/** From drift, in order of steps: the largest measured step up to which the upper band stays within the tolerance all along. */
export function horizonOfDrift(drift: readonly DriftPoint[], tolerance: number): TrustHorizon {
  const until = (end: 'low' | 'high') => {
    const first = drift.findIndex((point) => !(point[end] <= tolerance));
    const last = first < 0 ? drift.at(-1) : drift[first - 1];
    return last?.step ?? 0;
  };
  const cautious = until('high');
  return { cautious, hopeful: until('low'), atLeast: cautious > 0 && cautious === drift.at(-1)?.step };
}

/**
 * Probability that a simulation of `steps` steps leaves the real one somewhere, where each step is wrong with probability
 * `error` given that none was before: 1 - (1 - e)^H.
 */
function probabilityOfLeaving(error: number, steps: number): number {
  return error >= 1 ? (steps > 0 ? 1 : 0) : -Math.expm1(steps * Math.log1p(-error));
}

/** Real rows that MBPO's own experiments keep in every batch. */
const LEAST_REAL = 0.05;

/**
 * Share of real rows a batch should have, given how many simulated steps are trusted: 1 / (1 + H), at least 0.05.
 *
 * A rule, not a theorem: it keeps each real state together with the H simulated steps that may be branched from it. For a step
 * error e and a tolerance t, H is about t / e, so the share is about e / (e + t): it grows with the model's error, and a
 * batch holds at most t / 2 of wrong rows (a branch of H steps is wrong with probability t at its end, about half of that on
 * average). H = 0 gives real rows alone. The floor is the 5 % that MBPO (1906.08253) keeps in its released settings.
 */
export function realRatioAt(horizon: number): number {
  return Math.max(LEAST_REAL, 1 / (1 + Math.max(0, horizon)));
}

/** What a report says may be trusted of one model, for jobs that simulate with it. */
export interface Trust {
  /** Name of the model in the report. */
  readonly subject: string;
  /** Simulated steps in a row; 0: none. */
  readonly steps: number;
  /** Share of real rows that goes with it. */
  readonly realRatio: number;
}

/**
 * @param path of the report, for messages
 * @throws INPUT_INVALID for a report of another scenario or another version, or one without a trust horizon
 */
export function trustedSteps(
  report: FidelityReport,
  { scenario, version, path }: { readonly scenario: string; readonly version: string; readonly path: string },
): Trust {
  const unfit = (problem: string) =>
    reverieError('INPUT_INVALID', {
      problem: `The fidelity report "${path}" does not say how far this dream can be trusted: ${problem}.`,
      hint: 'Judge exactly this model: reverie fidelity SCENARIO, with the --model that is then dreamt in; or give numbers in place of auto.',
    });
  if (report.scenario !== scenario) throw unfit(`it judges scenario "${report.scenario}", and this is "${scenario}"`);
  const subject = report.subjects.find((one) => one.version === version);
  if (subject === undefined) {
    const judged = report.subjects.map((one) => `${one.name} (${short(one.version)})`).join(', ');
    throw unfit(`it judges ${judged}, and not the model of this run (${short(version)})`);
  }
  const steps = horizonIn(subject);
  if (steps === null) throw unfit(`it found no trust horizon of ${subject.name}`);
  return { subject: subject.name, steps, realRatio: realRatioAt(steps) };
}

function horizonIn({ sections }: SubjectReport): number | null {
  const metrics = sections.find(({ id }) => id === 'horizon')?.metrics ?? [];
  return metrics.find(({ key }) => key === 'trusted-steps')?.estimate.value ?? null;
}

function short(version: string): string {
  return version.length > 40 ? `${version.slice(0, 40)}...` : version;
}

// How a kind of world comes to its horizon, from figures of other sections.

type Findings = ReadonlyMap<SectionId, Finding>;

interface Evidence {
  /** Share of single steps that are wrong. */
  readonly stepError: Estimate;
  /** Empty where the horizon is made from single steps. */
  readonly drift: readonly DriftPoint[];
  readonly isMeasured: boolean;
}

export interface HorizonRule {
  evidence(findings: Findings): Evidence;
  trusted(evidence: Evidence, tolerance: number): TrustHorizon;
  /** What holds up to the horizon, as a clause. */
  within(tolerance: number): string;
  /** The section, and its figure, that it is made from. */
  readonly madeFrom: string;
  readonly caveat: string;
  /** Shown beside the scenario's own. */
  readonly tolerances: readonly number[];
  chart(evidence: Evidence, tolerance: number): Omit<FidelityChart & { kind: 'lines' }, 'kind' | 'xTitle'>;
}

/** Of numbers: as far as drift, as `k-steps` measures it, stays within the tolerance in standard deviations of each element. */
export const driftRule: HorizonRule = {
  evidence: (findings) => {
    const drift = findings.get('k-steps')?.drift ?? [];
    return { drift, stepError: complement(figure(findings, 'one-step', 'state-within')), isMeasured: drift.length > 0 };
  },
  trusted: ({ drift }, tolerance) => horizonOfDrift(drift, tolerance),
  within: (tolerance) => `drift stays within ${tolerance} standard deviations`,
  madeFrom: 'many steps (drift)',
  caveat:
    'It is that of the policies and states the truth was recorded with; a policy that goes elsewhere has another.',
  tolerances: [0.1, 0.25, 0.5, 1],
  chart: ({ drift }, tolerance) => ({
    title: 'Drift and what is tolerated',
    caption: 'The trust horizon is where the upper edge of the band first crosses the line.',
    yTitle: 'drift (standard deviations)',
    series: [
      { name: 'drift', points: drift.map(({ step, value, low, high }) => ({ x: step, y: value, low, high })) },
      { name: 'tolerance', points: drift.map(({ step }) => ({ x: step, y: tolerance })) },
    ],
  }),
};

/** Steps that the chart of step errors shows. */
const SHOWN_STEPS = 50;

/** Of a typed state: as many steps as are all right with the probability asked for, by the share of single steps that are wrong. */
export const stepErrorRule: HorizonRule = {
  evidence: (findings) => {
    const stepError = complement(figure(findings, 'one-step', 'state-exact'));
    return { stepError, drift: [], isMeasured: stepError.value !== null };
  },
  trusted: ({ stepError }, tolerance) => horizonOfErrors(stepError, tolerance),
  within: (tolerance) => `a state is wrong somewhere with a probability of at most ${tolerance}`,
  madeFrom: 'one step (state-exact)',
  caveat:
    'It takes steps to be as likely wrong late as early, and those of the questions that were asked to be those of an episode; k-steps measures the rest.',
  tolerances: [0.05, 0.1, 0.2, 0.5],
  chart: ({ stepError: { value, low, high } }, tolerance) => {
    const steps = Array.from({ length: SHOWN_STEPS }, (_, i) => i + 1);
    const points = steps.map((x) => ({
      x,
      y: probabilityOfLeaving(value!, x),
      low: probabilityOfLeaving(low ?? value!, x),
      high: probabilityOfLeaving(high ?? value!, x),
    }));
    return {
      title: 'Probability that a simulation has left the real',
      caption: 'From the error of single steps; the trust horizon is where the upper edge first crosses the line.',
      yTitle: 'probability',
      series: [
        { name: 'a wrong state somewhere', points },
        { name: 'tolerance', points: steps.map((x) => ({ x, y: tolerance })) },
      ],
    };
  },
};

function figure(findings: Findings, section: SectionId, key: string): Estimate {
  const metrics = findings.get(section)?.section.metrics ?? [];
  return metrics.find((metric) => metric.key === key)?.estimate ?? NOTHING;
}

/** The share that is missing to 1. */
function complement({ value, low, high, n, method }: Estimate): Estimate {
  const rest = (share: number | null) => (share === null ? null : 1 - share);
  return { value: rest(value), low: rest(high), high: rest(low), n, method };
}

/** For `Subject.derive`: the horizon from what the other sections found; where these lack, the section says so. */
export function horizonFindings(findings: Findings, rule: HorizonRule, tolerance: number): readonly Finding[] {
  const evidence = rule.evidence(findings);
  const { isMeasured } = evidence;
  const horizon = isMeasured ? rule.trusted(evidence, tolerance) : NO_TRUST;
  const missing = `The horizon is made from the section on ${rule.madeFrom}, which found nothing or was left out.`;
  const open = horizon.atLeast
    ? ['Nothing worse was seen as far as was measured: the true horizon may be longer.']
    : [];
  return [
    {
      section: {
        id: 'horizon',
        title: 'Trust horizon',
        summary: isMeasured
          ? summaryOf(horizon, evidence, rule, tolerance)
          : 'Not measured: nothing is trusted unmeasured.',
        metrics: horizonMetrics(horizon, evidence),
        charts: isMeasured ? [{ kind: 'lines', xTitle: 'simulated steps', ...rule.chart(evidence, tolerance) }] : [],
        tables: isMeasured ? [toleranceTable(evidence, rule, tolerance)] : [],
        worst: [],
        notes: isMeasured ? [...open, rule.caveat] : [missing],
        ...(isMeasured ? {} : { missing }),
      },
      samples: {},
    },
  ];
}

const METRICS = {
  steps: {
    key: 'trusted-steps',
    label: 'Trust horizon',
    better: 'higher',
    unit: 'steps',
    meaning:
      'Simulated steps in a row that stay within the tolerance, by the worse end of what was measured; the interval reaches to the better end.',
  },
  ratio: {
    key: 'real-ratio',
    label: 'Real rows a batch should have',
    better: 'neither',
    unit: 'share',
    meaning: 'One real row for each branch of as many simulated ones as are trusted, 1 / (1 + H), and 5 % at least.',
  },
  error: {
    key: 'step-error',
    label: 'Wrong steps',
    better: 'lower',
    unit: 'share',
    meaning:
      'Share of single steps after which the simulated state is not the real one (of numbers: beyond the tolerance).',
  },
} as const satisfies Record<string, Omit<Metric, 'estimate'>>;

function horizonMetrics({ cautious, hopeful }: TrustHorizon, { stepError, drift, isMeasured }: Evidence): Metric[] {
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

function summaryOf(
  { cautious, atLeast }: TrustHorizon,
  { stepError, drift }: Evidence,
  rule: HorizonRule,
  tolerance: number,
): string {
  const within = rule.within(tolerance);
  if (cautious === 0) return `No simulated step can be trusted: it cannot be said even of one that ${within}.`;
  const steps = `${atLeast ? 'at least ' : ''}${cautious} step${cautious === 1 ? '' : 's'}`;
  const training = `Train on branches no longer than that, with ${shownShare(realRatioAt(cautious))} real rows.`;
  // No error at all is a matter of how many steps were judged.
  const { n } = stepError;
  const reach = `None of the ${n} judged steps was wrong: ${n} steps cannot show more than this, and more of them might.`;
  const isUnseen = drift.length === 0 && stepError.value === 0;
  return `Simulations of ${steps} can be trusted: up to there ${within}. ${training}${isUnseen ? ` ${reach}` : ''}`;
}

function toleranceTable(evidence: Evidence, rule: HorizonRule, tolerance: number): FidelityTable {
  const tolerances = [...new Set([...rule.tolerances, tolerance])].sort((a, b) => a - b);
  return {
    title: 'By what is tolerated',
    columns: ['tolerance', 'trusted steps', 'real rows'],
    rows: tolerances.map((tolerated) => {
      const { cautious, atLeast } = rule.trusted(evidence, tolerated);
      return [String(tolerated), `${atLeast ? '≥ ' : ''}${cautious}`, shownShare(realRatioAt(cautious))];
    }),
  };
}
