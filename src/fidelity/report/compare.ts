// Further models held against the first, unit by unit, over what both were measured on.

import type { Rng } from '../../core/rng.js';
import { pairedDifference } from '../statistics/bootstrap.js';
import { normalCdf } from '../statistics/gaussian-scores.js';
import type { Comparison, Metric, SubjectReport } from './fidelity-report.js';
import { metricsOf } from './shown-report.js';

/** Chance of any false finding in the whole report. */
const LEVEL = 0.05;

/**
 * Every metric that has a sample of both models, as many units of one as of the other. Differences have bootstrap intervals
 * of their own; whether one counts as found is decided for all of them together.
 *
 * @throws DATA_MISMATCH for samples with NaN or infinity
 */
export function compareSubjects(subjects: readonly SubjectReport[], rng: Rng): Comparison[] {
  const [first, ...others] = subjects;
  if (first === undefined) return [];
  const pairs = others.flatMap((second, place) =>
    sharedMetrics(first, second).map(([name, { better }]) => {
      const [a, b] = [first.samples[name], second.samples[name]];
      const own = rng.split(place, name);
      return {
        comparison: { metric: name, first: first.name, second: second.name, better },
        difference: pairedDifference(a, b, own.split('interval')),
        p: signFlipP(differencesOf(a, b), own.split('signs')),
      };
    }),
  );
  const adjusted = holm(pairs.map(({ p }) => p));
  return pairs.map(({ comparison, difference }, i) => ({
    ...comparison,
    difference,
    adjustedP: adjusted[i],
    isSignificant: adjusted[i] !== null && adjusted[i] < LEVEL,
  }));
}

function sharedMetrics(first: SubjectReport, second: SubjectReport): [string, Metric][] {
  const known = metricsOf(second);
  return [...metricsOf(first)].filter(([name]) => {
    const [a, b] = [first.samples[name], second.samples[name]];
    return known.has(name) && a !== undefined && b !== undefined && a.length === b.length;
  });
}

function differencesOf(a: readonly (number | null)[], b: readonly (number | null)[]): number[] {
  return a.flatMap((value, i) => {
    const other = b[i];
    return value === null || other === null ? [] : [other - value];
  });
}

// Whether differences of paired values are more than chance, one by one and as one of many.

const DRAWS = 9_999;
/** Above this many differences the sum under random signs is normal, and drawing it is only slower. */
const DRAWN_UNITS = 500;

/**
 * Two-sided p of a paired randomisation test: were the models alike, each difference could as well have had the other sign
 * (Fisher 1935; Dror et al. 2018, ACL, section 3.2). Above 500 differences the normal limit of the same test.
 *
 * @returns null where nothing was paired
 */
export function signFlipP(differences: readonly number[], rng: Rng): number | null {
  if (differences.length === 0) return null;
  const moving = differences.filter((value) => value !== 0);
  const sum = Math.abs(moving.reduce((total, value) => total + value, 0));
  if (moving.length === 0) return 1;
  if (moving.length > DRAWN_UNITS) {
    const spread = Math.sqrt(moving.reduce((total, value) => total + value * value, 0));
    return 2 * normalCdf(-sum / spread);
  }
  // Sums of the same numbers in another order differ in their last bits.
  const reached = sum * (1 - 1e-12);
  let extreme = 0;
  for (let draw = 0; draw < DRAWS; draw++) {
    if (Math.abs(flippedSum(moving, rng)) >= reached) extreme++;
  }
  return (extreme + 1) / (DRAWS + 1);
}

function flippedSum(values: readonly number[], rng: Rng): number {
  let sum = 0;
  let bits = 0;
  for (let i = 0; i < values.length; i++) {
    if (i % 32 === 0) bits = rng.uint32();
    sum += bits & 1 ? values[i] : -values[i];
    bits >>>= 1;
  }
  return sum;
}

/** p values corrected for their number, so that at level a the chance of any false finding is at most a (Holm 1979). */
export function holm(ps: readonly (number | null)[]): (number | null)[] {
  const order = ps.flatMap((p, i) => (p === null ? [] : [{ p, i }])).sort((a, b) => a.p - b.p);
  const adjusted = ps.map((): number | null => null);
  let largest = 0;
  for (const [rank, { p, i }] of order.entries()) {
    largest = Math.max(largest, Math.min(1, p * (order.length - rank)));
    adjusted[i] = largest;
  }
  return adjusted;
}
