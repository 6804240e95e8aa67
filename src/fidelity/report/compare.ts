// Further models held against the first, unit by unit, over what both were measured on.

import type { Rng } from '../../rng.js';
import { pairedDifference } from '../statistics/bootstrap.js';
import type { Comparison, Metric, SubjectReport } from './fidelity-report.js';
import { metricsOf } from './metric-lookup.js';
import { holm, signFlipP } from './significance.js';

/** Chance of any false finding in the whole report. */
const LEVEL = 0.05;

/**
 * Every metric that has a sample of both models, as many units of one as of the other. Differences have bootstrap intervals
 * of their own; whether one counts as found is decided for all of them together.
 *
 * @throws FIDELITY_NUMBERS_INVALID for samples with NaN or infinity
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
