// Whether the model errs where it doubts: ranking by doubt, the risk of taking only what is least doubted, and the chance
// of being right that doubt can be turned into.

import type { FidelityChart, Point } from '../report/fidelity-report.js';
import { holding, pointOf } from '../section.js';
import { bootstrapEstimate } from '../statistics/bootstrap.js';
import { auroc, type Reliability, recalibrated, reliability, selectiveRisk } from '../statistics/confidence.js';
import type { Estimate } from '../statistics/estimate.js';
import { pitGaussian } from '../statistics/gaussian-scores.js';
import { byUnit } from './clustered.js';
import { type Ground, intervalRng } from './ground.js';

/** Each draw sorts all rows. */
const DRAWS = 200;

interface Judgement {
  readonly confidence: number;
  readonly isRight: boolean;
  /** Chance of being right, from doubt, by curves that were not fitted to this row. */
  readonly chance: number;
}

export interface Doubt {
  readonly found: Readonly<Record<'doubt-auroc' | 'doubt-aurc' | 'doubt-ece', Estimate>>;
  readonly charts: readonly FidelityChart[];
}

export function doubtEstimates({ units, plan }: Ground, rows: readonly CalibrationRow[]): Doubt {
  const rng = (key: string) => intervalRng(plan, 'calibration', key);
  const confidence = rows.map(({ doubt }) => 1 / (1 + doubt));
  const right = rows.map(({ isRight }) => isRight === 1);
  const chances = recalibrated(confidence, right, rng('folds'));
  const judgements = rows.map((_, r) => ({ confidence: confidence[r], isRight: right[r], chance: chances[r] }));
  const groups = byUnit(judgements, units);
  const over = (key: string, statistic: (drawn: readonly Judgement[]) => number | null) =>
    bootstrapEstimate(groups, (drawn) => statistic(drawn.flat()), rng(key), { draws: DRAWS });
  return {
    found: {
      'doubt-auroc': over('doubt-auroc', (drawn) =>
        auroc(
          drawn.map((j) => j.confidence),
          drawn.map((j) => j.isRight),
        ),
      ),
      'doubt-aurc': over('doubt-aurc', (drawn) => riskOf(drawn).aurc),
      'doubt-ece': holding(over('doubt-ece', (drawn) => reliabilityOf(drawn).ece)),
    },
    charts: [riskChart(judgements), reliabilityChart(reliabilityOf(judgements))],
  };
}

function riskOf(judgements: readonly Judgement[]) {
  return selectiveRisk(
    judgements.map(({ confidence }) => confidence),
    judgements.map(({ isRight }) => isRight),
  );
}

function reliabilityOf(judgements: readonly Judgement[]): Reliability {
  return reliability(
    judgements.map(({ chance }) => chance),
    judgements.map(({ isRight }) => isRight),
  );
}

function riskChart(judgements: readonly Judgement[]): FidelityChart {
  const points = riskOf(judgements).points.map(({ coverage, risk }): Point => ({ x: coverage, y: risk }));
  return {
    kind: 'lines',
    title: 'Selective risk',
    caption: 'Share of wrong transitions among those that are doubted least: it should rise from left to right.',
    xTitle: 'Share of transitions that are taken, least doubted first',
    yTitle: 'Share beyond tolerance',
    series: [{ name: 'model', points }],
  };
}

function reliabilityChart({ bins }: Reliability): FidelityChart {
  const points = bins.flatMap(({ confidence, accuracy, count }) => (count === 0 ? [] : pointOf(confidence, accuracy)));
  return {
    kind: 'points',
    title: 'Reliability of doubt',
    caption: 'Chance of being within tolerance that is read from doubt, against the share that is.',
    xTitle: 'Chance read from doubt',
    yTitle: 'Share within tolerance',
    diagonal: true,
    series: [{ name: 'model', points }],
  };
}

// Repairing stated doubt: a factor for each element's standard deviation, or a map of predicted chances to those observed
// (Kuleshov et al. 2018, 1807.00263). Fitted on the even units, judged on the odd ones.

export interface Recalibration {
  /** Factor of each element's standard deviation. */
  readonly scale: readonly number[];
  /** Rows it was not fitted to, by place; null for those it was. */
  readonly before: readonly (readonly number[] | null)[];
  /** Their chances with rescaled standard deviations, each element one Gaussian. */
  readonly rescaled: readonly (readonly number[] | null)[];
  /** Their chances through the map. */
  readonly remapped: readonly (readonly number[] | null)[];
  /** Nats an element that rescaling saves on them. */
  readonly gain: readonly (number | null)[];
}

export function recalibration({ units, scales }: Ground, rows: readonly CalibrationRow[]): Recalibration {
  const isHeld = (r: number) => units.of[r] % 2 === 1;
  const fitted = rows.filter((_, r) => !isHeld(r));
  const scale = scales.change.map((_, j) => rootMean(fitted.map(({ z }) => z[j])) || 1);
  const maps = scales.change.map((_, j) => Float64Array.from(fitted, ({ pit }) => pit[j]).sort());
  const held = <T>(of: (row: CalibrationRow) => T) => rows.map((row, r) => (isHeld(r) ? of(row) : null));
  return {
    scale,
    before: held(({ pit }) => pit),
    rescaled: held(({ z }) => z.map((value, j) => normalChance(value / scale[j]))),
    remapped: held(({ pit }) => pit.map((chance, j) => observedChance(maps[j], chance))),
    gain: held(({ z }) => gainOf(z, scale)),
  };
}

/** Share of sorted `pits` below a chance, those equal counted half. */
function observedChance(pits: Float64Array, chance: number): number {
  const below = firstAtLeast(pits, chance);
  let equal = 0;
  while (pits[below + equal] === chance) equal++;
  return pits.length === 0 ? chance : (below + equal / 2) / pits.length;
}

function firstAtLeast(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Of one Gaussian an element: what its likelihood gains by the factor, whatever its standard deviation is. */
function gainOf(z: readonly number[], scale: readonly number[]): number {
  const gains = z.map((value, j) => 0.5 * value ** 2 * (1 - 1 / scale[j] ** 2) - Math.log(scale[j]));
  return gains.reduce((sum, gain) => sum + gain, 0) / z.length;
}

function rootMean(values: readonly number[]): number {
  return values.length === 0 ? 0 : Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
}

// The chance that a standard normal is below a value.

function normalChance(value: number): number {
  return pitGaussian(value, 0, 1);
}

// What is kept of how sure a model was of one transition.

export type CalibrationRow = {
  /** Of each element: predicted chance of less than what really followed. */
  readonly pit: readonly number[];
  /** Of each element: error over the standard deviation that the model stated. */
  readonly z: readonly number[];
  /**
   * How far the elites disagree, or, of a model with one opinion, how much noise it states: root mean square over elements in
   * standard deviations of their change.
   */
  readonly doubt: number;
  /** 1 where the predicted mean is within tolerance of what really followed. */
  readonly isRight: number;
};
