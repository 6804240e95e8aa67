// Does the model know what it does not know: how often its intervals hold what really followed, and whether it errs where
// it doubts.

import type { Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import type { Finding, Instrument } from '../instrument.js';
import type { FidelityChart, FidelityTable, Point } from '../report/fidelity-report.js';
import {
  findingOf,
  holding,
  type MetricInfo,
  metricsOfInfos,
  nothingFound,
  shown,
  shownShare,
  unmeasured,
} from '../section.js';
import { bootstrapEstimate } from '../statistics/bootstrap.js';
import { pitMixture } from '../statistics/gaussian-scores.js';
import { type Clustered, clusteredMean } from './clustered.js';
import { type CalibrationRow, doubtEstimates, type Recalibration, recalibration } from './doubt.js';
import { elementOf } from './forecast.js';
import { CHUNK_ROWS, chunkRange, chunkRng, type Ground, intervalRng, type Judged, ONLY_LIVED_IN } from './ground.js';
import { begunAtRows } from './open-loop.js';
import { type Units, widths } from './truth.js';

export function calibrationInstrument(judged: Judged): Instrument<CalibrationRow> {
  const { ground, subject } = judged;
  const instrument: Instrument<CalibrationRow> = {
    id: 'calibration',
    unit: 'transitions',
    chunks: Math.ceil(ground.truth.rows.rows / CHUNK_ROWS),
    measure: (chunk) => measure(judged, chunk),
    conclude: (rows) => (rows.length === 0 ? NO_ROWS : concludeCalibration(judged, rows)),
  };
  if (subject.forecast !== undefined) return instrument;
  const hasOneAnswer = 'This model says one thing only: it has no spread to be calibrated.';
  return unmeasured(instrument, subject.model === undefined ? ONLY_LIVED_IN : hasOneAnswer);
}

async function measure({ ground, subject }: Judged, chunk: number): Promise<readonly CalibrationRow[]> {
  const { truth, scales, plan } = ground;
  const { obsDim, actionDim } = widths(truth);
  const [first, end] = chunkRange(chunk, CHUNK_ROWS, truth.rows.rows);
  const action = truth.rows.action.subarray(first * actionDim, end * actionDim);
  const carry = await begunAtRows(subject.model!, truth, [first, end], chunkRng(plan, 'calibration', chunk));
  const forecast = await subject.forecast!(carry, action);
  return Array.from({ length: end - first }, (_, r) => {
    const elements = scales.change.map((scale, j) => {
      const real = truth.rows.nextObs[(first + r) * obsDim + j] / scale;
      return placed(real, elementOf(forecast, r, j, obsDim, scale));
    });
    const error = Math.sqrt(mean(elements.map((element) => element.error ** 2)));
    return {
      pit: elements.map(({ pit }) => brief(pit)),
      z: elements.map(({ error: off, std }) => brief(Math.max(-WORST_Z, Math.min(WORST_Z, off / std)))),
      doubt: brief(doubtOf(elements, forecast.components)),
      isRight: Number(error <= plan.tolerance),
    };
  });
}

/** A model that is sure and wrong without measure: keeps squares finite. */
const WORST_Z = 1e6;

interface Placed {
  readonly pit: number;
  readonly error: number;
  /** Of the mixture. */
  readonly std: number;
  /** Of each component's mean from the mixture's. */
  readonly deviations: readonly number[];
}

function placed(real: number, { means, stds }: { readonly means: number[]; readonly stds: number[] }): Placed {
  const centre = mean(means);
  const deviations = means.map((value) => value - centre);
  const variance = mean(stds.map((std, c) => std * std + deviations[c] ** 2));
  return { pit: pitMixture(real, means, stds), error: real - centre, std: Math.sqrt(variance), deviations };
}

/** As a world model's disagreement: of the elite that is furthest from the others (MOReL, 2005.05951). */
function doubtOf(elements: readonly Placed[], components: number): number {
  if (components === 1) return Math.sqrt(mean(elements.map(({ std }) => std * std)));
  const perElite = Array.from({ length: components }, (_, c) => mean(elements.map((e) => e.deviations[c] ** 2)));
  return Math.sqrt(Math.max(...perElite));
}

/** Six digits: no reader of a share or a curve sees more. */
function brief(value: number): number {
  return Number(value.toPrecision(6));
}

// What calibration shows: honest intervals or not, what it takes to repair them, and whether doubt warns of errors.

const coverageInfo = (level: number): MetricInfo => ({
  label: `Coverage of ${level} % intervals`,
  better: 'neither',
  unit: 'share',
  meaning: `Share of elements of real next observations inside the model's central ${level} % interval: ${level} % is honest, less is too sure, more too timid.`,
});

const METRICS: Readonly<Record<string, MetricInfo>> = {
  'coverage-50': coverageInfo(50),
  'coverage-80': coverageInfo(80),
  'coverage-90': coverageInfo(90),
  'coverage-95': coverageInfo(95),
  'calibration-error': {
    label: 'Calibration error',
    better: 'lower',
    unit: 'share',
    meaning:
      'Mean distance between the level of a central interval and the share of truths inside, over levels 5 % to 95 %.',
  },
  'calibration-error-rescaled': {
    label: 'Calibration error, rescaled',
    better: 'lower',
    unit: 'share',
    meaning:
      'The same once each standard deviation is multiplied by a factor for its element, fitted on half of the units and measured on the other half.',
  },
  'calibration-error-remapped': {
    label: 'Calibration error, remapped',
    better: 'lower',
    unit: 'share',
    meaning:
      'The same once predicted chances are mapped to observed ones, element by element, fitted on half of the units and measured on the other half.',
  },
  'std-factor': {
    label: 'Error over stated deviation',
    better: 'neither',
    unit: 'number',
    meaning:
      'Root mean square of errors in the standard deviations that the model states: 1 is honest, above 1 it is too sure by that factor.',
  },
  'rescaling-gain': {
    label: 'Likelihood gained by rescaling',
    better: 'neither',
    unit: 'number',
    meaning:
      'Nats an element that rescaled standard deviations save in negative log-likelihood, on the half not fitted to.',
  },
  'doubt-auroc': {
    label: 'Doubt warns of errors (AUROC)',
    better: 'higher',
    unit: 'number',
    meaning:
      'Chance that the model doubts a transition that it gets wrong (beyond tolerance) more than one that it gets right: 0.5 is chance, 1 is perfect.',
  },
  'doubt-aurc': {
    label: 'Selective risk',
    better: 'lower',
    unit: 'share',
    meaning:
      'Mean share of wrong transitions among the least doubted 1 %, 2 %, ... 100 % (area under the risk-coverage curve).',
  },
  'doubt-ece': {
    label: 'Error of recalibrated confidence',
    better: 'lower',
    unit: 'share',
    meaning:
      'Expected calibration error of the chance of being right that isotonic regression reads from doubt, each judged on folds it was not fitted to.',
  },
};

const ABOUT = { id: 'calibration', title: 'Calibration' } as const;

const NO_ROWS = nothingFound(
  ABOUT,
  metricsOfInfos(METRICS, {}).map(({ metric }) => metric),
  'No transition was judged.',
);

function concludeCalibration({ ground, subject }: Judged, rows: readonly CalibrationRow[]): Finding {
  const repaired = recalibration(ground, rows);
  const intervals = intervalEstimates(ground, rows, repaired);
  const doubt = doubtEstimates(ground, rows);
  const found = { ...intervals, ...doubt.found };
  const [coverage, factor] = [intervals['coverage-90'].estimate.value, intervals['std-factor'].estimate.value];
  return findingOf(
    {
      ...ABOUT,
      summary: `Intervals of 90 % hold ${shownShare(coverage)} of what really followed; errors are ${shown(factor)} times as large as the stated deviations.`,
      charts: [...calibrationCharts(ground, rows, repaired), ...doubt.charts],
      tables: [scaleTable(ground, repaired)],
      worst: [],
      notes: notesOf(rows, subject.model?.opinions),
    },
    metricsOfInfos(METRICS, found),
  );
}

function intervalEstimates({ units, plan }: Ground, rows: readonly CalibrationRow[], repaired: Recalibration) {
  const rng = (key: string) => intervalRng(plan, 'calibration', key);
  const pits = rows.map(({ pit }) => pit);
  const covered = (level: number) =>
    clusteredMean(
      pits.map((pit) => shareInside(pit, level / 100)),
      units,
      rng(`coverage-${level}`),
    );
  const squares = rows.map(({ z }) => z.reduce((sum, value) => sum + value * value, 0) / z.length);
  return {
    'coverage-50': covered(50),
    'coverage-80': covered(80),
    'coverage-90': covered(90),
    'coverage-95': covered(95),
    'calibration-error': intervalError(pits, units, rng('calibration-error')),
    'calibration-error-rescaled': intervalError(repaired.rescaled, units, rng('calibration-error-rescaled')),
    'calibration-error-remapped': intervalError(repaired.remapped, units, rng('calibration-error-remapped')),
    'std-factor': clusteredMean(squares, units, rng('std-factor'), Math.sqrt),
    'rescaling-gain': clusteredMean(repaired.gain, units, rng('rescaling-gain')),
  };
}

function notesOf(rows: readonly CalibrationRow[], opinions = 1): readonly string[] {
  const wrong = rows.filter(({ isRight }) => isRight === 0).length;
  return [
    'Intervals are of each element by itself: a model that has the elements right and their dependence wrong looks calibrated.',
    'Coverage over all transitions can be right while it is too low where it matters and too high elsewhere.',
    ...(opinions > 1
      ? []
      : [
          'This model has one opinion: its doubt is the noise that it states, whose size was estimated from 64 samples.',
        ]),
    ...(wrong === 0 || wrong === rows.length
      ? [
          `${wrong === 0 ? 'No' : 'Every'} transition is beyond tolerance: whether doubt warns of errors cannot be told.`,
        ]
      : []),
  ];
}

// Calibration as pictures: levels against shares before and after repair, and where truths fall in their predictions.

const BINS = 10;

function calibrationCharts(
  ground: Ground,
  rows: readonly CalibrationRow[],
  { before, rescaled, remapped }: Recalibration,
): readonly FidelityChart[] {
  const line = (name: string, chances: Chances) => ({
    name,
    points: coverageCurve(chances, ground.units).map((y, i): Point => ({ x: LEVELS[i], y })),
  });
  return [
    {
      kind: 'lines',
      title: 'Intervals',
      caption: 'Share of truths inside central intervals of each level, on the half that repairs were not fitted to.',
      xTitle: 'Level of the interval',
      yTitle: 'Share of truths inside',
      diagonal: true,
      series: [line('as stated', before), line('rescaled', rescaled), line('remapped', remapped)],
    },
    histogram(ground, rows),
  ];
}

/** Flat is honest; a valley is too sure, a hill too timid, a slope is bias. */
function histogram({ units, plan }: Ground, rows: readonly CalibrationRow[]): FidelityChart {
  const bars = Array.from({ length: BINS }, (_, b) => {
    const within = (chance: number) => Math.min(Math.floor(chance * BINS), BINS - 1) === b;
    const shares = rows.map(({ pit }) => pit.filter(within).length / pit.length);
    const { estimate } = clusteredMean(shares, units, intervalRng(plan, 'calibration', `pit-${b}`));
    return { label: `${(100 * b) / BINS}–${(100 * (b + 1)) / BINS} %`, estimate, unit: 'share' as const };
  });
  return {
    kind: 'bars',
    title: 'Where truths fall in their predictions',
    caption:
      'Share of truths in each tenth of their predicted distribution: level bars are honest, high ends too sure, a high middle too timid, a slope biased.',
    bars,
  };
}

function scaleTable({ truth }: Ground, { scale }: Recalibration): FidelityTable {
  return {
    title: 'What standard deviations should be multiplied by',
    columns: ['Element', 'Factor'],
    rows: truth.elements.map((name, j) => [name, shown(scale[j])]),
  };
}

// How far stated interval levels are from how often the intervals hold the truth.

/** Levels of central intervals: 0.05, 0.1, ..., 0.95. */
const LEVELS = Array.from({ length: 19 }, (_, i) => (i + 1) / 20);

/** Predicted chances of each row's elements; null for rows that do not count. */
type Chances = readonly (readonly number[] | null)[];

interface Counts {
  readonly inside: readonly number[];
  readonly of: number;
}

/** Share of a row's elements inside their central interval of a level. */
function shareInside(chances: readonly number[], level: number): number {
  return chances.filter((chance) => Math.abs(chance - 0.5) <= level / 2).length / chances.length;
}

/** Share inside at every level; empty where no row counts. */
function coverageCurve(chances: Chances, units: Units): readonly number[] {
  return chances.every((row) => row === null) ? [] : curveOf(countsOf(chances, units));
}

/** Mean over levels of the distance between a level and the share of truths inside (Kuleshov et al. 2018, section 3.5). */
function intervalError(chances: Chances, units: Units, rng: Rng): Clustered {
  const counts = countsOf(chances, units);
  const error = (drawn: readonly Counts[]) => {
    const curve = curveOf(drawn);
    return curve.reduce((sum, share, i) => sum + Math.abs(share - LEVELS[i]), 0) / LEVELS.length;
  };
  const filled = counts.filter(({ of }) => of > 0);
  const estimate = holding(bootstrapEstimate(filled, error, rng));
  return { estimate, samples: counts.map((unit) => (unit.of === 0 ? null : error([unit]))) };
}

function countsOf(chances: Chances, { count, of }: Units): readonly Counts[] {
  const counts = Array.from({ length: count }, () => ({ inside: LEVELS.map(() => 0), of: 0 }));
  chances.forEach((row, r) => {
    if (row === null) return;
    const unit = counts[of[r]];
    unit.of += row.length;
    for (const chance of row) {
      const least = Math.ceil(Math.abs(2 * chance - 1) * 20 - 1e-9);
      for (let i = Math.max(0, least - 1); i < LEVELS.length; i++) unit.inside[i]++;
    }
  });
  return counts;
}

function curveOf(counts: readonly Counts[]): number[] {
  const all = counts.reduce((sum, unit) => sum + unit.of, 0);
  return LEVELS.map((_, i) => counts.reduce((sum, { inside }) => sum + inside[i], 0) / all);
}
