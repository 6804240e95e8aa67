// From what learners came to, by their share of dreamt data, to the section of the report.

import { Rng } from '../../core/rng.js';
import type { Finding, Instrument } from '../instrument.js';
import type { FidelityChart, FidelityTable, Metric } from '../report/fidelity-report.js';
import { pointOf, unavailable } from '../section.js';
import { meanEstimate, pairedDifference } from '../statistics/bootstrap.js';
import { type Estimate, NOTHING } from '../statistics/estimate.js';

export const LEARNING_TITLE = 'Learning value';

type Plan = Pick<LearningSource, 'ratios' | 'seeds'>;
type Unit = NonNullable<LearningOptions['unit']>;

/** One share of dreamt data: what its learners returned, and how that differs from real data alone. */
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
  { seed, unit = 'rows', notes = [] }: LearningOptions,
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
  const floor = meansOf(rows, null, plan);
  const untrained = meanEstimate(floor, rng.split('untrained'));
  const risen = pairedDifference(floor, real, rng.split('risen'));
  return {
    section: {
      id: 'learning',
      title: LEARNING_TITLE,
      summary: summaryOf(arms, unit),
      metrics: metricsOf(arms, untrained, unit),
      charts: chartsOf(arms, untrained, unit),
      tables: [tableOf(arms, untrained, unit)],
      worst: [],
      notes: [...notesOf(risen, plan, unit), ...notes],
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

/** The first share from which on learners were surely worse: whose interval lies below real data alone. */
function harmful(arms: readonly Arm[]): Arm | undefined {
  return arms.find(({ ratio, difference }) => ratio > 0 && difference.high !== null && difference.high < 0);
}

function best(arms: readonly Arm[]): Arm | undefined {
  const known = arms.filter(({ returned }) => returned.value !== null);
  return known.toSorted((a, b) => b.returned.value! - a.returned.value!)[0];
}

function metricsOf(arms: readonly Arm[], untrained: Estimate, unit: Unit): Metric[] {
  const texts = metricTexts(unit);
  const at = (ratio: number) => arms.find((arm) => arm.ratio === ratio);
  const shareOf = (arm: Arm | undefined): Estimate =>
    arm === undefined ? NOTHING : { value: arm.ratio, low: null, high: null, n: arms.length, method: 'exact' };
  return [
    { ...texts.gap, estimate: at(1)?.difference ?? NOTHING },
    { ...texts.harmful, estimate: shareOf(harmful(arms)) },
    { ...texts.best, estimate: shareOf(best(arms)) },
    { ...texts.real, estimate: at(0)?.returned ?? NOTHING },
    { ...texts.dreamt, estimate: at(1)?.returned ?? NOTHING },
    { ...texts.untrained, estimate: untrained },
  ];
}

/** What is left of sums that are 0. */
const NOUGHT = 1e-12;

/** What is equal whatever the share. */
const AMOUNTS = { rows: 'rows and updates', episodes: 'episodes' } as const;

const metricTexts = (unit: Unit) =>
  ({
    gap: {
      key: 'transfer-gap',
      label: 'Transfer gap',
      better: 'higher',
      unit: 'return',
      meaning: `Real return of learners trained on dreamt ${unit} alone minus that of the same learners trained on as many real ${unit}.`,
    },
    harmful: {
      key: 'harmful-ratio',
      label: `Share of dreamt ${unit} that does harm`,
      better: 'higher',
      unit: 'share',
      meaning: `Smallest share of dreamt ${unit} with which learners were worse than on real ${unit} alone, beyond chance; nothing where none was.`,
    },
    best: {
      key: 'best-ratio',
      label: `Best share of dreamt ${unit}`,
      better: 'neither',
      unit: 'share',
      meaning: `Share of dreamt ${unit} whose learners returned most, at equal numbers of ${AMOUNTS[unit]}.`,
    },
    real: {
      key: 'real-return',
      label: `Return learned from real ${unit}`,
      better: 'neither',
      unit: 'return',
      meaning: `Mean real return of learners that saw real ${unit} alone.`,
    },
    dreamt: {
      key: 'dreamt-return',
      label: `Return learned from dreamt ${unit}`,
      better: 'higher',
      unit: 'return',
      meaning: `Mean real return of learners that saw dreamt ${unit} alone.`,
    },
    untrained: {
      key: 'untrained-return',
      label: 'Return before learning',
      better: 'neither',
      unit: 'return',
      meaning: 'Mean real return of the same learners before they learned anything: what learning has to beat.',
    },
  }) as const satisfies Record<string, Omit<Metric, 'estimate'>>;

function summaryOf(arms: readonly Arm[], unit: Unit): string {
  const difference = arms.find(({ ratio }) => ratio === 1)?.difference;
  const gap = difference?.value ?? null;
  const found = harmful(arms);
  const harm =
    found === undefined
      ? `no share of dreamt ${unit} did harm beyond chance`
      : `from ${percent(found.ratio)} dreamt ${unit} on learners are worse than on real ones alone`;
  if (gap === null) return `At equal numbers of ${AMOUNTS[unit]} ${harm}.`;
  const isChance = difference?.low == null || difference.high === null || difference.low * difference.high <= 0;
  const worth = `worth ${shown(Math.abs(gap))} ${gap < 0 ? 'less' : 'more'} return than as many real ones`;
  return `Dreamt ${unit} alone are ${worth}${isChance ? ', which may be chance' : ''}; ${harm}.`;
}

/** @param risen what real data took learners to, minus where they began */
function notesOf(risen: Estimate, { seeds }: Plan, unit: Unit): string[] {
  const isIdle = risen.low !== null && risen.low <= 0;
  return [
    `${seeds} learners of each share; learners of one seed begin alike and are compared with one another.`,
    ...(isIdle
      ? [
          `Real ${unit} alone did not take learners clearly above where they began: that dreamt ${unit} do no harm then says nothing.`,
        ]
      : []),
  ];
}

function chartsOf(arms: readonly Arm[], untrained: Estimate, unit: Unit): FidelityChart[] {
  const points = arms.flatMap(({ ratio, returned }) => pointOf(ratio, returned));
  if (points.length === 0) return [];
  const floor = untrained.value;
  return [
    {
      kind: 'lines',
      title: `Return by share of dreamt ${unit}`,
      caption: `The same learner with as many ${AMOUNTS[unit]} each; left real ${unit} alone, right dreamt ones alone.`,
      xTitle: `share of dreamt ${unit}`,
      yTitle: 'real return',
      series: [
        { name: 'trained', points },
        ...(floor === null ? [] : [{ name: 'untrained', points: points.map(({ x }) => ({ x, y: floor })) }]),
      ],
    },
  ];
}

function tableOf(arms: readonly Arm[], untrained: Estimate, unit: Unit): FidelityTable {
  return {
    title: `Learners by share of dreamt ${unit}`,
    columns: [`dreamt ${unit}`, 'real return', `minus real ${unit} alone`],
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
  if (Math.abs(value) < NOUGHT) return '0';
  return String(Number(value.toPrecision(4)));
}

// What is dreamt data worth to a learner? The same learner on real data, on dreamt and on mixtures, judged for real.

export function learningInstrument(source: LearningSource, options: LearningOptions): Instrument<LearningRow> {
  const arms: readonly Ratio[] = [null, ...source.ratios];
  return {
    id: 'learning',
    unit: 'learners',
    chunks: arms.length * source.seeds,
    measure: async (chunk, signal) => {
      const ratio = arms[chunk % arms.length];
      const seed = Math.floor(chunk / arms.length);
      return [{ ratio, seed, returns: await source.learn(ratio, seed, signal) }];
    },
    conclude: (rows) => learningFinding(rows, source, options),
  };
}

/** The section of a model on whose data nothing could be learned, with the reason. */
export function unlearnable(reason: string): Instrument<never> {
  return unavailable({ id: 'learning', title: LEARNING_TITLE, unit: 'learners' }, reason);
}

// What the worth of dreamt data is measured on: the same learner, given as much data, of which a share is dreamt.

/** One learner that was trained: its share of dreamt data; null: one that was not trained at all, the floor. */
export type Ratio = number | null;

export interface LearningSource {
  /** Shares of dreamt data, each once; with 0, which all others are compared with. */
  readonly ratios: readonly number[];
  /** Learners of each share. */
  readonly seeds: number;
  /**
   * Returns of real episodes, the same ones for all learners, of the learner number `seed` trained with that share. Learners of
   * one seed begin alike. A function of its arguments alone.
   */
  learn(ratio: Ratio, seed: number, signal?: AbortSignal): Promise<readonly number[]>;
}

/** One trained learner. */
export type LearningRow = {
  readonly ratio: Ratio;
  readonly seed: number;
  readonly returns: readonly number[];
};

export interface LearningOptions {
  /** Of the bootstrap. */
  readonly seed: number;
  /** What a learner is given, in the plural; default `rows`. */
  readonly unit?: 'rows' | 'episodes';
  /** What a reader must know of the learner and its rows. */
  readonly notes?: readonly string[];
}
