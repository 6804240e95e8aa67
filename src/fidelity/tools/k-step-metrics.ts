// What carried-out episodes come to: how long a dream keeps to what happened, and whether what was achieved in it holds.

import { bootstrapEstimate } from '../statistics/bootstrap.js';
import { shareEstimate } from '../statistics/share.js';
import { type FoundMetric, flag, meanMetric, plainMetric, shareMetric, streamOf } from './found-metric.js';
import type { LivedRow } from './lived-episodes.js';
import type { OpenLoopRow, OpenLoopStep } from './open-loop.js';

export function kStepMetrics(loops: readonly OpenLoopRow[], lived: readonly LivedRow[]): FoundMetric[] {
  return [
    divergenceRate('divergence-rate', loops, ({ state }) => state),
    ...stateMetrics(loops),
    ...observationMetrics(loops),
    ...backendsOf(loops).map((backend) =>
      divergenceRate(`divergence-rate-${backend}`, loops, ({ state }) => state, backend),
    ),
    consistency(lived),
  ];
}

type Right = (step: OpenLoopStep) => boolean | null;

/** Steps taken where all before were right are trials, whichever episode they are of: episodes of all lengths count. */
function divergenceRate(key: string, loops: readonly OpenLoopRow[], right: Right, backend?: string): FoundMetric {
  const trials = loops
    .flatMap(({ steps }) => steps.slice(0, trialsOf(steps, right)))
    .filter((step) => right(step) !== null && (backend === undefined || step.backend === backend));
  const wrong = trials.filter((step) => right(step) === false).length;
  const of = key.startsWith('observation') ? 'observation' : 'state';
  const whose = backend === undefined ? '' : `, by ${backend}`;
  return plainMetric(
    {
      key,
      label: of === 'state' ? `Divergence${whose}` : 'Divergence of observations',
      better: 'lower',
      unit: 'share',
      meaning: `Probability that a step${whose && ` answered${whose}`} is the first with a wrong ${of}, if all before it were right.`,
    },
    shareEstimate(wrong, trials.length),
  );
}

/** Steps up to and with the first that is wrong. */
function trialsOf(steps: readonly OpenLoopStep[], right: Right): number {
  const first = steps.findIndex((step) => right(step) === false);
  return first < 0 ? steps.length : first + 1;
}

function stateMetrics(loops: readonly OpenLoopRow[]): FoundMetric[] {
  return [
    shareMetric(
      {
        key: 'end-state',
        label: 'Right at the end',
        better: 'higher',
        meaning: 'Share of real episodes that end in the real state when their calls are carried out in the dream.',
      },
      loops.map(({ steps, isWhole }) => (isWhole && steps.length > 0 ? flag(steps.at(-1)!.state) : null)),
    ),
    meanMetric(
      {
        key: 'state-right',
        label: 'Steps with a right state',
        better: 'higher',
        unit: 'share',
        meaning: "Share of an episode's steps after which the dreamt state is the real one; mean over episodes.",
      },
      loops.map(({ steps }) => shareOf(steps, ({ state }) => state)),
    ),
    meanMetric(
      {
        key: 'steps-to-divergence',
        label: 'Steps before the first wrong state',
        better: 'higher',
        unit: 'steps',
        meaning: 'Steps of an episode before its state is wrong for the first time; all of them where it never is.',
      },
      loops.map(({ steps }) => stepsBefore(steps, ({ state }) => state)),
    ),
  ];
}

function observationMetrics(loops: readonly OpenLoopRow[]): FoundMetric[] {
  return [
    divergenceRate('observation-divergence-rate', loops, ({ observation }) => observation),
    meanMetric(
      {
        key: 'observation-right',
        label: 'Steps with a right observation',
        better: 'higher',
        unit: 'share',
        meaning: "Share of an episode's calls that are answered in the real words; mean over episodes.",
      },
      loops.map(({ steps }) => shareOf(steps, ({ observation }) => observation)),
    ),
    meanMetric(
      {
        key: 'steps-to-wrong-observation',
        label: 'Steps before the first wrong observation',
        better: 'higher',
        unit: 'steps',
        meaning: 'Steps of an episode before one is answered in other words for the first time; all where none is.',
      },
      loops.map(({ steps }) => (steps.length === 0 ? null : before(steps, ({ observation }) => observation))),
    ),
    shareMetric(
      {
        key: 'observations-all-right',
        label: 'Episodes answered in the real words',
        better: 'higher',
        meaning: 'Share of real episodes all of whose calls are answered in the real words.',
      },
      loops.map((row) => flag(allRight(row))),
    ),
    meanMetric(
      {
        key: 'error-flag',
        label: 'Errors told as errors',
        better: 'higher',
        unit: 'share',
        meaning: "Share of an episode's calls that are told as an error just where they are one; mean over episodes.",
      },
      loops.map(({ steps }) => shareOf(steps, ({ error }) => error)),
    ),
  ];
}

/** Steps before the first that is wrong. */
function before(steps: readonly OpenLoopStep[], right: Right): number {
  const first = steps.findIndex((step) => right(step) === false);
  return first < 0 ? steps.length : first;
}

/** null where nothing was wrong as far as it went, and it did not go to the end. */
function allRight({ steps, isWhole }: OpenLoopRow): boolean | null {
  const asked = steps.map(({ observation }) => observation).filter((right) => right !== null);
  if (asked.includes(false)) return false;
  return isWhole && asked.length > 0 ? true : null;
}

function shareOf(steps: readonly OpenLoopStep[], right: Right): number | null {
  const known = steps.map(right).filter((one) => one !== null);
  return known.length === 0 ? null : known.filter(Boolean).length / known.length;
}

/** null where the state is unknown before anything was wrong. */
function stepsBefore(steps: readonly OpenLoopStep[], right: Right): number | null {
  const first = steps.findIndex((step) => right(step) !== true);
  if (first < 0) return steps.length === 0 ? null : steps.length;
  return right(steps[first]) === null ? null : first;
}

function backendsOf(loops: readonly OpenLoopRow[]): string[] {
  const names = loops.flatMap(({ steps }) => steps.map(({ backend }) => backend));
  // What the environment refuses by itself was asked of nobody.
  return [...new Set(names)].filter((name) => name !== 'schema').sort();
}

function consistency(lived: readonly LivedRow[]): FoundMetric {
  const pairs = lived.flatMap(({ dreamt, real }) => (dreamt === null || real === null ? [] : [{ dreamt, real }]));
  const sum = (of: readonly { dreamt: number; real: number }[], key: 'dreamt' | 'real') =>
    of.reduce((total, pair) => total + pair[key], 0);
  const ratio = (of: readonly { dreamt: number; real: number }[]) =>
    sum(of, 'dreamt') === 0 ? null : sum(of, 'real') / sum(of, 'dreamt');
  return plainMetric(
    {
      key: 'consistency-ratio',
      label: 'Consistency ratio',
      better: 'neither',
      unit: 'number',
      meaning:
        'Success for real over success in the dream of the same calls, chosen in the dream: below 1, it promised too much.',
    },
    bootstrapEstimate(pairs, ratio, streamOf('consistency-ratio')),
  );
}
