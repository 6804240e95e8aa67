// How many simulated steps may be trusted, as one number: what it is made from, what follows for training, and its section.

import type { SectionId } from './report.js';
import { type DriftPoint, estimateIn, type Finding, figuresOf, findingOf, metricTable, shownShare } from './section.js';
import { type Estimate, NOTHING } from './statistics.js';

/** Steps that may be trusted: `cautious` by the worse end of the interval, `hopeful` by the better one; null: without end. */
interface TrustHorizon {
  readonly cautious: number;
  readonly hopeful: number | null;
  /** Nothing worse was seen as far as was measured: the true number may be larger. */
  readonly atLeast: boolean;
}

/**
 * From the share of steps after which the state is wrong: the largest H with 1 - (1 - e)^H <= tolerance. Assumes that a step
 * is as likely wrong late as early; where wrong states beget wrong states, drift says more.
 *
 * @param wrong share with its interval
 * @param tolerance probability in (0, 1) that a simulation of H steps may be wrong somewhere
 */
export function horizonOfErrors({ value, low, high }: Estimate, tolerance: number): TrustHorizon {
  if (value === null) return { cautious: 0, hopeful: 0, atLeast: false };
  const cautious = stepsWithin(high ?? value, tolerance);
  const hopeful = stepsWithin(low ?? value, tolerance);
  return { cautious: cautious ?? MOST_STEPS, hopeful, atLeast: cautious === null };
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

/** Real rows that MBPO's own experiments keep in every batch (1906.08253). */
const LEAST_REAL = 0.05;

/**
 * Share of real rows a batch should have, given how many simulated steps are trusted: 1 / (1 + H), at least 0.05.
 *
 * A rule, not a theorem: it keeps each real state together with the H simulated steps that may be branched from it. For a step
 * error e and a tolerance t, H is about t / e, so the share is about e / (e + t): it grows with the model's error, and a
 * batch holds at most t / 2 of wrong rows.
 */
export function realRatioAt(horizon: number): number {
  return Math.max(LEAST_REAL, 1 / (1 + Math.max(0, horizon)));
}

// How a kind of world comes to its horizon, from figures of other sections.

type Findings = ReadonlyMap<SectionId, Finding>;

interface Evidence {
  readonly horizon: TrustHorizon;
  /** Share of single steps that are wrong. */
  readonly stepError: Estimate;
  /** Units that it is made from; 0: nothing was measured. */
  readonly n: number;
  /** What holds up to the horizon, as a clause. */
  readonly within: string;
  /** The section, and its figure, that it is made from. */
  readonly madeFrom: string;
  readonly caveat: string;
}

/** How a kind of world comes to its horizon, from what other sections found and what is tolerated. */
export type HorizonRule = (findings: Findings, tolerance: number) => Evidence;

/** Of numbers: as far as drift, as `k-steps` measures it, stays within the tolerance in standard deviations of each element. */
export const driftRule: HorizonRule = (findings, tolerance) => {
  const drift = findings.get('k-steps')?.drift ?? [];
  return {
    horizon: horizonOfDrift(drift, tolerance),
    stepError: complement(findings, 'state-within'),
    n: drift.length,
    within: `drift stays within ${tolerance} standard deviations`,
    madeFrom: 'many steps (drift)',
    caveat:
      'It is that of the policies and states the truth was recorded with; a policy that goes elsewhere has another.',
  };
};

/** Of a typed state: as many steps as are all right with the probability asked for, by the share of single steps that are wrong. */
export const stepErrorRule: HorizonRule = (findings, tolerance) => {
  const stepError = complement(findings, 'state-exact');
  return {
    horizon: horizonOfErrors(stepError, tolerance),
    stepError,
    n: stepError.n,
    within: `a state is wrong somewhere with a probability of at most ${tolerance}`,
    madeFrom: 'one step (state-exact)',
    caveat:
      'It takes steps to be as likely wrong late as early, and those of the questions that were asked to be those of an episode; k-steps measures the rest.',
  };
};

/** The share of single steps that is missing to 1. */
function complement(findings: Findings, key: string): Estimate {
  const section = findings.get('one-step')?.section;
  const { value, low, high, n, method } = section === undefined ? NOTHING : estimateIn(section, key);
  const rest = (share: number | null) => (share === null ? null : 1 - share);
  return { value: rest(value), low: rest(high), high: rest(low), n, method };
}

const METRICS = metricTable(`
trusted-steps | higher  | steps | Trust horizon | Simulated steps in a row that stay within the tolerance, by the worse end of what was measured; the interval reaches to the better end.
real-ratio    | neither | share | Real rows a batch should have | One real row for each branch of as many simulated ones as are trusted, 1 / (1 + H), and 5 % at least.
step-error    | lower   | share | Wrong steps | Share of single steps after which the simulated state is not the real one (of numbers: beyond the tolerance).
`);

/** For `Subject.derive`: the horizon from what the other sections found; where these lack, the section says so. */
export function horizonFindings(findings: Findings, rule: HorizonRule, tolerance: number): readonly Finding[] {
  const evidence = rule(findings, tolerance);
  const { n, stepError } = evidence;
  const { cautious, hopeful, atLeast } = evidence.horizon;
  const about = { id: 'horizon', title: 'Trust horizon' } as const;
  if (n === 0) {
    const missing = `The horizon is made from the section on ${evidence.madeFrom}, which found nothing or was left out.`;
    const summary = 'Not measured: nothing is trusted unmeasured.';
    const figures = figuresOf(METRICS, { 'step-error': stepError });
    return [findingOf({ ...about, summary, notes: [missing], missing }, figures)];
  }
  const ratio = realRatioAt(cautious);
  const figures = figuresOf(METRICS, {
    'trusted-steps': { value: cautious, low: cautious, high: hopeful, n, method: 'exact' },
    'real-ratio': { value: ratio, low: realRatioAt(hopeful ?? Infinity), high: ratio, n, method: 'exact' },
    'step-error': stepError,
  });
  const open = atLeast ? ['Nothing worse was seen as far as was measured: the true horizon may be longer.'] : [];
  return [findingOf({ ...about, summary: summaryOf(evidence), notes: [...open, evidence.caveat] }, figures)];
}

function summaryOf({ horizon: { cautious, atLeast }, within }: Evidence): string {
  if (cautious === 0) return `No simulated step can be trusted: it cannot be said even of one that ${within}.`;
  const steps = `${atLeast ? 'at least ' : ''}${cautious} step${cautious === 1 ? '' : 's'}`;
  return `Simulations of ${steps} can be trusted: up to there ${within}. Train on branches no longer than that, with ${shownShare(realRatioAt(cautious))} real rows.`;
}
