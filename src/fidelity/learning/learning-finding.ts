// From what learners came to, by their share of dreamt rows, to the section of the report.

import { Rng } from '../../rng.js';
import type { Finding } from '../instrument.js';
import type { FidelityChart, FidelityTable, Metric, Point } from '../report/fidelity-report.js';
import { type Estimate, meanEstimate, NOTHING, pairedDifference } from '../statistics/index.js';
import type { LearningOptions, LearningRow, LearningSource, Ratio } from './learning-source.js';

export const LEARNING_TITLE = 'Learning value';

type Plan = Pick<LearningSource, 'ratios' | 'seeds'>;

/** One share of dreamt rows: what its learners returned, and how that differs from real rows alone. */
interface Arm {
  readonly ratio: number;
  /** Mean return of each learner, by seed. */
  readonly means: readonly (number | null)[];
  readonly returned: Estimate;
  readonly difference: Estimate;
}

export function learningFinding(
  rows: readonly LearningRow[],
  plan: Plan,
  { seed, notes = [] }: LearningOptions,
): Finding {
  const rng = Rng.fromSeed(seed).split('learning');
  const real = meansOf(rows, 0, plan);
  const arms = [...plan.ratios]
    .sort((a, b) => a - b)
    .map((ratio): Arm => {
      const means = meansOf(rows, ratio, plan);
      const stream = rng.split('ratio', String(ratio));
      const returned = meanEstimate(means, stream.split('return'));
      return { ratio, means, returned, difference: pairedDifference(real, means, stream.split('difference')) };
    });
  const untrained = meanEstimate(meansOf(rows, null, plan), rng.split('untrained'));
  return {
    section: {
      id: 'learning',
      title: LEARNING_TITLE,
      summary: summaryOf(arms),
      metrics: metricsOf(arms, untrained),
      charts: chartsOf(arms, untrained),
      tables: [tableOf(arms, untrained)],
      worst: [],
      notes: [...notesOf(arms, untrained, plan), ...notes],
    },
    samples: { 'dreamt-return': [...(arms.find(({ ratio }) => ratio === 1)?.means ?? [])] },
  };
}

/** By seed; null for learners that are missing. */
function meansOf(rows: readonly LearningRow[], ratio: Ratio, { seeds }: Plan): (number | null)[] {
  return Array.from({ length: seeds }, (_, seed) => {
    const returns = rows.find((row) => row.ratio === ratio && row.seed === seed)?.returns ?? [];
    return returns.length === 0 ? null : returns.reduce((sum, value) => sum + value, 0) / returns.length;
  });
}

/** The first share from which on learners were surely worse: whose interval lies below real rows alone. */
function harmful(arms: readonly Arm[]): Arm | undefined {
  return arms.find(({ ratio, difference }) => ratio > 0 && difference.high !== null && difference.high < 0);
}

function best(arms: readonly Arm[]): Arm | undefined {
  const known = arms.filter(({ returned }) => returned.value !== null);
  return known.toSorted((a, b) => b.returned.value! - a.returned.value!)[0];
}

function metricsOf(arms: readonly Arm[], untrained: Estimate): Metric[] {
  const at = (ratio: number) => arms.find((arm) => arm.ratio === ratio);
  const shareOf = (arm: Arm | undefined): Estimate =>
    arm === undefined ? NOTHING : { value: arm.ratio, low: null, high: null, n: arms.length, method: 'exact' };
  return [
    { ...METRICS.gap, estimate: at(1)?.difference ?? NOTHING },
    { ...METRICS.harmful, estimate: shareOf(harmful(arms)) },
    { ...METRICS.best, estimate: shareOf(best(arms)) },
    { ...METRICS.real, estimate: at(0)?.returned ?? NOTHING },
    { ...METRICS.dreamt, estimate: at(1)?.returned ?? NOTHING },
    { ...METRICS.untrained, estimate: untrained },
  ];
}

const METRICS = {
  gap: {
    key: 'transfer-gap',
    label: 'Transfer gap',
    better: 'higher',
    unit: 'return',
    meaning:
      'Real return of learners trained on dreamt rows alone minus that of the same learners trained on as many real rows.',
  },
  harmful: {
    key: 'harmful-ratio',
    label: 'Share of dreamt rows that does harm',
    better: 'higher',
    unit: 'share',
    meaning:
      'Smallest share of dreamt rows with which learners were worse than on real rows alone, beyond chance; nothing where none was.',
  },
  best: {
    key: 'best-ratio',
    label: 'Best share of dreamt rows',
    better: 'neither',
    unit: 'share',
    meaning: 'Share of dreamt rows whose learners returned most, at equal numbers of rows and updates.',
  },
  real: {
    key: 'real-return',
    label: 'Return learned from real rows',
    better: 'neither',
    unit: 'return',
    meaning: 'Mean real return of learners that saw real rows alone.',
  },
  dreamt: {
    key: 'dreamt-return',
    label: 'Return learned from dreamt rows',
    better: 'higher',
    unit: 'return',
    meaning: 'Mean real return of learners that saw dreamt rows alone.',
  },
  untrained: {
    key: 'untrained-return',
    label: 'Return before learning',
    better: 'neither',
    unit: 'return',
    meaning: 'Mean real return of the same learners before their first update: what learning has to beat.',
  },
} as const satisfies Record<string, Omit<Metric, 'estimate'>>;

function summaryOf(arms: readonly Arm[]): string {
  const difference = arms.find(({ ratio }) => ratio === 1)?.difference;
  const gap = difference?.value ?? null;
  const found = harmful(arms);
  const harm =
    found === undefined
      ? 'no share of dreamt rows did harm beyond chance'
      : `from ${percent(found.ratio)} dreamt rows on learners are worse than on real ones alone`;
  if (gap === null) return `At equal numbers of rows and updates ${harm}.`;
  const isChance = difference?.low == null || difference.high === null || difference.low * difference.high <= 0;
  const worth = `worth ${shown(Math.abs(gap))} ${gap < 0 ? 'less' : 'more'} return than as many real ones`;
  return `Dreamt rows alone are ${worth}${isChance ? ', which may be chance' : ''}; ${harm}.`;
}

function notesOf(arms: readonly Arm[], untrained: Estimate, { seeds }: Plan): string[] {
  const real = arms.find(({ ratio }) => ratio === 0)?.returned;
  const isIdle = real?.low != null && untrained.high !== null && real.low <= untrained.high;
  return [
    `${seeds} learners of each share; learners of one seed begin alike and are compared with one another.`,
    ...(isIdle
      ? [
          'Real rows alone did not take learners clearly above where they began: that dreamt rows do no harm then says nothing.',
        ]
      : []),
  ];
}

function chartsOf(arms: readonly Arm[], untrained: Estimate): FidelityChart[] {
  const points = arms.flatMap(({ ratio, returned }) => pointOf(ratio, returned));
  if (points.length === 0) return [];
  const floor = untrained.value;
  return [
    {
      kind: 'lines',
      title: 'Return by share of dreamt rows',
      caption: 'The same learner with as many rows and updates each; left real rows alone, right dreamt ones alone.',
      xTitle: 'share of dreamt rows',
      yTitle: 'real return',
      series: [
        { name: 'trained', points },
        ...(floor === null ? [] : [{ name: 'untrained', points: points.map(({ x }) => ({ x, y: floor })) }]),
      ],
    },
  ];
}

function pointOf(x: number, { value, low, high }: Estimate): Point[] {
  if (value === null) return [];
  return [low === null || high === null ? { x, y: value } : { x, y: value, low, high }];
}

function tableOf(arms: readonly Arm[], untrained: Estimate): FidelityTable {
  return {
    title: 'Learners by share of dreamt rows',
    columns: ['dreamt rows', 'real return', 'minus real rows alone'],
    rows: [
      ['untrained', shownEstimate(untrained), '–'],
      ...arms.map(({ ratio, returned, difference }) => [
        percent(ratio),
        shownEstimate(returned),
        ratio === 0 ? '–' : shownEstimate(difference),
      ]),
    ],
  };
}

function shownEstimate({ value, low, high }: Estimate): string {
  if (value === null) return '–';
  return low === null || high === null ? shown(value) : `${shown(value)} [${shown(low)}, ${shown(high)}]`;
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}

function shown(value: number): string {
  return String(Number(value.toPrecision(4)));
}
