// How many dreamt steps may be trusted, as one number, and what follows for training on them.

import { reverieError } from '../../core/errors.js';
import type { DriftPoint } from '../instrument.js';
import type { FidelityReport, SubjectReport } from '../report/fidelity-report.js';
import type { Estimate } from '../statistics/estimate.js';

/** Steps that may be trusted: `cautious` by the worse end of the interval, `hopeful` by the better one; null: without end. */
export interface TrustHorizon {
  readonly cautious: number;
  readonly hopeful: number | null;
  /** Nothing worse was seen as far as was measured: the true number may be larger. */
  readonly atLeast: boolean;
}

/** Nothing is trusted unmeasured. */
export const NO_TRUST: TrustHorizon = { cautious: 0, hopeful: 0, atLeast: false };

/**
 * From the share of steps after which the state is wrong: the largest H with 1 - (1 - e)^H <= tolerance. Assumes that a step
 * is as likely wrong late as early; where wrong states beget wrong states, drift says more.
 *
 * @param wrong share with its interval
 * @param tolerance probability in (0, 1) that a dream of H steps may be wrong somewhere
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

/**
 * From drift: the largest measured step up to which the upper band stays within the tolerance all along.
 *
 * @param drift in order of steps
 */
export function horizonOfDrift(drift: readonly DriftPoint[], tolerance: number): TrustHorizon {
  const until = (end: 'low' | 'high') => {
    const first = drift.findIndex((point) => !(point[end] <= tolerance));
    const last = first < 0 ? drift.at(-1) : drift[first - 1];
    return last?.step ?? 0;
  };
  const cautious = until('high');
  return { cautious, hopeful: until('low'), atLeast: cautious > 0 && cautious === drift.at(-1)?.step };
}

/** Real rows that MBPO's own experiments keep in every batch. */
const LEAST_REAL = 0.05;

/**
 * Share of real rows a batch should have, given how many dreamt steps are trusted: 1 / (1 + H), at least 0.05.
 *
 * A rule, not a theorem: it keeps each real state together with the H dreamt steps that may be branched from it. For a step
 * error e and a tolerance t, H is about t / e, so the share is about e / (e + t): it grows with the model's error, and a
 * batch holds at most t / 2 of wrong rows (a branch of H steps is wrong with probability t at its end, about half of that on
 * average). H = 0 gives real rows alone. The floor is the 5 % that MBPO (1906.08253) keeps in its released settings.
 */
export function realRatioAt(horizon: number): number {
  return Math.max(LEAST_REAL, 1 / (1 + Math.max(0, horizon)));
}

// What a report says may be trusted of one model, for jobs that dream in it.

export interface Trust {
  /** Name of the model in the report. */
  readonly subject: string;
  /** Dreamt steps in a row; 0: none. */
  readonly steps: number;
  /** Share of real rows that goes with it. */
  readonly realRatio: number;
}

export interface TrustQuery {
  readonly scenario: string;
  /** Of the model that is to be dreamt in. */
  readonly version: string;
  /** The report's place, for messages. */
  readonly path: string;
}

/** @throws INPUT_INVALID for a report of another scenario or another version, or one without a trust horizon */
export function trustedSteps(report: FidelityReport, { scenario, version, path }: TrustQuery): Trust {
  if (report.scenario !== scenario) {
    throw unfit(path, `it judges scenario "${report.scenario}", and this is "${scenario}"`);
  }
  const subject = report.subjects.find((one) => one.version === version);
  if (subject === undefined) {
    const judged = report.subjects.map((one) => `${one.name} (${short(one.version)})`).join(', ');
    throw unfit(path, `it judges ${judged}, and not the model of this run (${short(version)})`);
  }
  const steps = horizonIn(subject);
  if (steps === null) throw unfit(path, `it found no trust horizon of ${subject.name}`);
  return { subject: subject.name, steps, realRatio: realRatioAt(steps) };
}

function horizonIn({ sections }: SubjectReport): number | null {
  const metrics = sections.find(({ id }) => id === 'horizon')?.metrics ?? [];
  return metrics.find(({ key }) => key === 'trusted-steps')?.estimate.value ?? null;
}

function short(version: string): string {
  return version.length > 40 ? `${version.slice(0, 40)}...` : version;
}

function unfit(path: string, problem: string): Error {
  return reverieError('INPUT_INVALID', {
    problem: `The fidelity report "${path}" does not say how far this dream can be trusted: ${problem}.`,
    hint: 'Judge exactly this model: reverie fidelity SCENARIO, with the --model that is then dreamt in; or give numbers in place of auto.',
  });
}
