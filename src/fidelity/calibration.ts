// Does the model know what it does not know? Of numbers: how often its intervals hold what really followed, and whether it errs
// where its members disagree. Of tools: whether answers of more confidence are more often right.

import type { Rng } from '../core/rng.js';
import { mean } from '../core/statistics.js';
import type { Finding, Instrument } from './measure.js';
import type { FidelityChart, LinesChart, Point } from './report.js';
import {
  estimateIn,
  type Found,
  findingOf,
  holding,
  meanOf,
  metricsOfInfos,
  metricTable,
  nothingFound,
  shown,
  shownShare,
  streamOf,
  unmeasured,
} from './section.js';
import { bootstrapEstimate } from './statistics/bootstrap.js';
import { auroc, pitMixture, reliability, selectiveRisk } from './statistics/scores.js';
import type { ToolsJudged } from './tools/judged.js';
import { isRight } from './tools/one-step.js';
import {
  byUnit,
  CHUNK_ROWS,
  type Clustered,
  chunkRange,
  chunkRng,
  clusteredMean,
  type Ground,
  intervalRng,
  type Judged,
  meanSquare,
  ONLY_LIVED_IN,
  type Units,
  widths,
} from './vector/ground.js';
import { begunAtRows, elementOf } from './vector/open-loop.js';

/** Risk of what is kept, and how often what is said with some confidence is right: the pictures of both kinds. */
function riskChart(confidence: ArrayLike<number>, right: readonly boolean[]): LinesChart {
  const { points } = selectiveRisk(confidence, right);
  return {
    kind: 'lines',
    title: 'Risk of what is kept',
    caption:
      'Share that is wrong among what the model is surest of, by how much of it is kept: it should rise to the right.',
    xTitle: 'share kept',
    yTitle: 'share wrong',
    series: [{ name: 'risk', points: points.map(({ coverage, risk: y }) => ({ x: coverage, y })) }],
  };
}

// Of numbers.

export type VectorCalibrationRow = {
  /** Of each element: predicted chance of less than what really followed. */
  readonly pit: readonly number[];
  /** Of each element: error over the standard deviation that the model stated. */
  readonly z: readonly number[];
  /**
   * How far the members disagree, or, of a model with one opinion, how much noise it states: root mean square over elements in
   * standard deviations of their change.
   */
  readonly doubt: number;
  /** 1 where the predicted mean is within tolerance of what really followed. */
  readonly isRight: number;
};

const VECTOR_METRICS = metricTable(`
coverage-50       | neither | share  | Coverage of 50 % intervals | Share of elements of real next observations inside the model's central 50 % interval: 50 % is honest, less is too sure, more too timid.
coverage-80       | neither | share  | Coverage of 80 % intervals | The same of its central 80 % interval.
coverage-90       | neither | share  | Coverage of 90 % intervals | The same of its central 90 % interval.
coverage-95       | neither | share  | Coverage of 95 % intervals | The same of its central 95 % interval.
calibration-error | lower   | share  | Calibration error | Mean distance between the level of a central interval and the share of truths inside, over levels 5 % to 95 %.
std-factor        | neither | number | Error over stated deviation | Root mean square of errors in the standard deviations that the model states: 1 is honest, above 1 it is too sure by that factor.
doubt-auroc       | higher  | number | Disagreement warns of errors (AUROC) | Chance that members disagree more on a transition that the model gets wrong (beyond tolerance) than on one that it gets right: 0.5 is chance, 1 is perfect.
doubt-aurc        | lower   | share  | Selective risk | Mean share of wrong transitions among those of least disagreement: 1 %, 2 %, ... 100 % (area under the risk-coverage curve).
`);

const ABOUT = { id: 'calibration', title: 'Calibration' } as const;

export function vectorCalibration(judged: Judged): Instrument<VectorCalibrationRow> {
  const { ground, subject } = judged;
  const nothing = () =>
    nothingFound(
      ABOUT,
      metricsOfInfos(VECTOR_METRICS, {}).map(({ metric }) => metric),
      'No transition was judged.',
    );
  const instrument: Instrument<VectorCalibrationRow> = {
    id: 'calibration',
    unit: 'transitions',
    chunks: Math.ceil(ground.truth.rows.rows / CHUNK_ROWS),
    measure: (chunk) => measureVector(judged, chunk),
    conclude: (rows) => (rows.length === 0 ? nothing() : concludeVector(judged, rows)),
  };
  if (subject.forecast !== undefined) return instrument;
  const hasOneAnswer = 'This model says one thing only: it has no spread to be calibrated.';
  return unmeasured(instrument, subject.model === undefined ? ONLY_LIVED_IN : hasOneAnswer);
}

async function measureVector({ ground, subject }: Judged, chunk: number): Promise<readonly VectorCalibrationRow[]> {
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
      doubt: brief(disagreementOf(elements, forecast.components)),
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
function disagreementOf(elements: readonly Placed[], components: number): number {
  if (components === 1) return Math.sqrt(mean(elements.map(({ std }) => std * std)));
  const perElite = Array.from({ length: components }, (_, c) => mean(elements.map((e) => e.deviations[c] ** 2)));
  return Math.sqrt(Math.max(...perElite));
}

/** Six digits: no reader of a share or a curve sees more. */
function brief(value: number): number {
  return Number(value.toPrecision(6));
}

/** Each draw sorts all rows. */
const DRAWS = 200;

function concludeVector({ ground, subject }: Judged, rows: readonly VectorCalibrationRow[]): Finding {
  const { units, plan, truth } = ground;
  const rng = (key: string) => intervalRng(plan, 'calibration', key);
  const covered = (level: number) => {
    const inside = (pit: readonly number[]) => pit.filter((chance) => Math.abs(chance - 0.5) <= level / 200).length;
    return clusteredMean(
      rows.map(({ pit }) => inside(pit) / pit.length),
      units,
      rng(`coverage-${level}`),
    );
  };
  const judgements = rows.map(({ doubt, isRight }) => ({ confidence: 1 / (1 + doubt), isRight: isRight === 1 }));
  const groups = byUnit(judgements, units);
  const over = (key: string, of: (confidence: number[], right: boolean[]) => number | null) => {
    const statistic = (drawn: readonly (typeof judgements)[]) => {
      const all = drawn.flat();
      return of(
        all.map(({ confidence }) => confidence),
        all.map(({ isRight }) => isRight),
      );
    };
    return bootstrapEstimate(groups as (typeof judgements)[], statistic, rng(key), { draws: DRAWS });
  };
  const found = {
    'coverage-50': covered(50),
    'coverage-80': covered(80),
    'coverage-90': covered(90),
    'coverage-95': covered(95),
    'calibration-error': intervalError(rows, units, rng('calibration-error')),
    'std-factor': clusteredMean(
      rows.map(({ z }) => meanSquare(z)),
      units,
      rng('std-factor'),
      Math.sqrt,
    ),
    'doubt-auroc': over('doubt-auroc', auroc),
    'doubt-aurc': over('doubt-aurc', (confidence, right) => selectiveRisk(confidence, right).aurc),
  };
  const [coverage, factor] = [found['coverage-90'].estimate.value, found['std-factor'].estimate.value];
  const confidence = judgements.map((one) => one.confidence);
  return findingOf(
    {
      ...ABOUT,
      summary: `Intervals of 90 % hold ${shownShare(coverage)} of what really followed; errors are ${shown(factor)} times as large as the stated deviations.`,
      charts: [
        intervalsChart(rows, units),
        histogram(ground, rows),
        riskChart(
          confidence,
          judgements.map(({ isRight }) => isRight),
        ),
      ],
      tables: [
        {
          title: 'Error over stated deviation, by element',
          columns: ['Element', 'Factor'],
          rows: truth.elements.map((name, j) => [name, shown(Math.sqrt(meanSquare(rows.map(({ z }) => z[j]))))]),
        },
      ],
      worst: [],
      notes: vectorNotes(rows, subject.model?.opinions),
    },
    metricsOfInfos(VECTOR_METRICS, found),
  );
}

function vectorNotes(rows: readonly VectorCalibrationRow[], opinions = 1): readonly string[] {
  const wrong = rows.filter(({ isRight }) => isRight === 0).length;
  const oneOpinion =
    'This model has one opinion: what stands for disagreement is the noise that it states, estimated from 64 samples.';
  const oneSided = `${wrong === 0 ? 'No' : 'Every'} transition is beyond tolerance: whether disagreement warns of errors cannot be told.`;
  return [
    'Intervals are of each element by itself: a model that has the elements right and their dependence wrong looks calibrated.',
    'Coverage over all transitions can be right while it is too low where it matters and too high elsewhere.',
    ...(opinions > 1 ? [] : [oneOpinion]),
    ...(wrong === 0 || wrong === rows.length ? [oneSided] : []),
  ];
}

/** Levels of central intervals: 0.05, 0.1, ..., 0.95. */
const LEVELS = Array.from({ length: 19 }, (_, i) => (i + 1) / 20);

interface Counts {
  /** Elements inside the central interval of each level. */
  readonly inside: number[];
  of: number;
}

function countsOf(rows: readonly VectorCalibrationRow[], { count, of }: Units): readonly Counts[] {
  const counts = Array.from({ length: count }, (): Counts => ({ inside: LEVELS.map(() => 0), of: 0 }));
  rows.forEach(({ pit }, r) => {
    const unit = counts[of[r]];
    unit.of += pit.length;
    for (const chance of pit) {
      const least = Math.ceil(Math.abs(2 * chance - 1) * 20 - 1e-9);
      for (let i = Math.max(0, least - 1); i < LEVELS.length; i++) unit.inside[i]++;
    }
  });
  return counts;
}

/** Share inside at every level. */
function curveOf(counts: readonly Counts[]): number[] {
  const all = counts.reduce((sum, unit) => sum + unit.of, 0);
  return LEVELS.map((_, i) => counts.reduce((sum, { inside }) => sum + inside[i], 0) / all);
}

/** Mean over levels of the distance between a level and the share of truths inside (Kuleshov et al. 2018, section 3.5). */
function intervalError(rows: readonly VectorCalibrationRow[], units: Units, rng: Rng): Clustered {
  const counts = countsOf(rows, units);
  const error = (drawn: readonly Counts[]) =>
    curveOf(drawn).reduce((sum, share, i) => sum + Math.abs(share - LEVELS[i]), 0) / LEVELS.length;
  const filled = counts.filter(({ of }) => of > 0);
  const estimate = holding(bootstrapEstimate(filled, error, rng));
  return { estimate, samples: counts.map((unit) => (unit.of === 0 ? null : error([unit]))) };
}

function intervalsChart(rows: readonly VectorCalibrationRow[], units: Units): FidelityChart {
  const points = curveOf(countsOf(rows, units)).map((y, i): Point => ({ x: LEVELS[i], y }));
  return {
    kind: 'lines',
    title: 'Intervals',
    caption: 'Share of truths inside central intervals of each level.',
    xTitle: 'level of the interval',
    yTitle: 'share of truths inside',
    diagonal: true,
    series: [{ name: 'model', points }],
  };
}

const BINS = 10;

/** Flat is honest; a valley is too sure, a hill too timid, a slope is bias. */
function histogram({ units, plan }: Ground, rows: readonly VectorCalibrationRow[]): FidelityChart {
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

// Of tools.

export type ToolsCalibrationRow = {
  readonly question: number;
  /** Both null where no answer came. */
  readonly confidence: number | null;
  readonly right: boolean | null;
  readonly backend: string | null;
};

const TOOLS_METRICS = metricTable(`
ece            | lower  | share  | Calibration error | Expected calibration error: how far confidence is from the share that is right, on average over ten bins.
auroc          | higher | number | AUROC | Probability that a right answer is given with more confidence than a wrong one; 0.5: no better than chance.
selective-risk | lower  | share  | Selective risk | Share of wrong answers among the most confident ones, averaged over how many of them are kept.
brier          | lower  | number | Brier score | Mean squared difference between confidence and being right (1) or wrong (0).
`);

export function toolsCalibration({ asked, notes }: ToolsJudged): Instrument<ToolsCalibrationRow> {
  return {
    id: 'calibration',
    chunks: asked.chunks,
    unit: 'questions',
    measure: async (chunk, signal) => {
      const rows = await asked.chunk(chunk, signal);
      return rows.map((row) => ({
        question: row.question,
        confidence: row.confidence,
        right: isRight(row),
        backend: row.backend,
      }));
    },
    conclude: (rows) => concludeTools(asked.questions.length, rows, notes.said),
  };
}

interface Claim {
  readonly question: number;
  readonly confidence: number;
  readonly right: boolean;
}

/** With more answers than this, a bootstrap of fewer draws is as exact. */
const MANY = 2_000;

function concludeTools(questions: number, rows: readonly ToolsCalibrationRow[], notes: readonly string[]): Finding {
  const { claims, leftOut } = claimsOf(rows);
  const draws = claims.length > MANY ? 200 : 1000;
  const over = (key: string, of: (confidence: Float64Array, right: boolean[]) => number | null) =>
    bootstrapEstimate(claims, (drawn) => of(confidences(drawn), correctness(drawn)), streamOf(key), { draws });
  const squares = new Array<number | null>(questions).fill(null);
  for (const { question, confidence, right } of claims) squares[question] = (confidence - Number(right)) ** 2;
  const isSilent = claims.length === 0;
  const found: Found = isSilent
    ? Object.fromEntries(Object.keys(TOOLS_METRICS).map((key) => [key, meanOf(key, [])]))
    : {
        ece: over('ece', (confidence, right) => reliability(confidence, right).ece),
        auroc: over('auroc', auroc),
        'selective-risk': over('selective-risk', (confidence, right) => selectiveRisk(confidence, right).aurc),
        brier: meanOf('brier', squares),
      };
  const metrics = metricsOfInfos(TOOLS_METRICS, found);
  const said = estimateIn(metrics, 'auroc').value;
  return findingOf(
    {
      ...ABOUT,
      summary: isSilent
        ? 'The model says nothing of its own certainty that could be judged.'
        : `Of ${claims.length} answers with a confidence of their own; it tells right from wrong with AUROC ${said?.toFixed(2) ?? 'unknown'}.`,
      charts: isSilent ? [] : [reliabilityChart(claims), riskChart(confidences(claims), correctness(claims))],
      tables: [],
      worst: [],
      notes: [
        ...notes,
        ...leftOut,
        'An answer is right if observation, error and, where there is one, state are.',
        ...(isSilent ? [`${ALIKE} Calibration is not to be measured.`] : []),
      ],
      ...(isSilent ? { missing: ALIKE } : {}),
    },
    metrics,
  );
}

const ALIKE = 'All answers of each backend have the same confidence.';

/** Backends that always say the same say nothing: exact ones are sure by definition, and would flatter the rest. */
function claimsOf(rows: readonly ToolsCalibrationRow[]): { claims: Claim[]; leftOut: string[] } {
  const byBackend = new Map<string, Claim[]>();
  for (const { question, confidence, right, backend } of rows) {
    if (confidence === null || right === null || backend === null) continue;
    byBackend.set(backend, [...(byBackend.get(backend) ?? []), { question, confidence, right }]);
  }
  const groups = [...byBackend].sort(([a], [b]) => (a < b ? -1 : 1));
  const isConstant = (claims: readonly Claim[]) => new Set(claims.map(({ confidence }) => confidence)).size < 2;
  return {
    claims: groups.filter(([, claims]) => !isConstant(claims)).flatMap(([, claims]) => claims),
    leftOut: groups
      .filter(([, claims]) => isConstant(claims))
      .map(
        ([name, claims]) => `Left out: ${claims.length} answers of ${name}, which always says ${claims[0].confidence}.`,
      ),
  };
}

function reliabilityChart(claims: readonly Claim[]): LinesChart {
  const points = reliability(confidences(claims), correctness(claims)).bins.map(({ confidence, accuracy, count }) => ({
    x: confidence,
    y: accuracy.value!,
    low: accuracy.low!,
    high: accuracy.high!,
    label: `${count} answers`,
  }));
  return {
    kind: 'points',
    diagonal: true,
    title: 'Confidence and being right',
    caption: 'Share of right answers by confidence; on the diagonal a confidence means what it says.',
    xTitle: 'confidence',
    yTitle: 'share right',
    series: [{ name: 'as said', points }],
  };
}

function confidences(claims: readonly Claim[]): Float64Array {
  return Float64Array.from(claims, ({ confidence }) => confidence);
}

function correctness(claims: readonly Claim[]): boolean[] {
  return claims.map(({ right }) => right);
}
