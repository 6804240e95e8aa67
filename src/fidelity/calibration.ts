// Does the model know what it does not know? Of numbers: how often its intervals hold what really followed, and whether it errs
// where its members disagree. Of tools: whether answers of more confidence are more often right.

import { mean } from '../core/statistics.js';
import type { Forecast } from '../worldmodel/dynamics.js';
import { isRight } from './one-step.js';
import {
  type Finding,
  figuresOf,
  findingOf,
  type Instrument,
  metricTable,
  shown,
  shownShare,
  streamOf,
  unmeasured,
} from './section.js';
import { auroc, bootstrapEstimate, calibrationError, pitMixture } from './statistics.js';
import { CHUNK } from './tools/answers.js';
import type { ToolsJudged } from './tools/judged.js';
import {
  CHUNK_ROWS,
  chunkOfRows,
  clusteredMean,
  clusteredShare,
  intervalRng,
  type Judged,
  meanSquare,
  type Units,
  widths,
} from './vector/ground.js';

const ABOUT = { id: 'calibration', title: 'Calibration' } as const;

// Of numbers.

/** Of one transition, over its elements. */
type VectorRow = {
  /** Share whose real value is inside the model's central 90 % interval. */
  readonly inside: number;
  /** Mean square of the error over the standard deviation that the model stated. */
  readonly square: number;
  /** Of the members, or the noise that a model of one opinion states: root mean square in standard deviations of their change. */
  readonly disagreement: number;
  /** Whether the predicted mean is within tolerance of what really followed. */
  readonly isRight: boolean;
};

const VECTOR_METRICS = metricTable(`
coverage-90       | neither | share  | Coverage of 90 % intervals | Share of elements of real next observations inside the model's central 90 % interval: 90 % is honest, less is too sure, more too timid.
std-factor        | neither | number | Error over stated deviation | Root mean square of errors in the standard deviations that the model states: 1 is honest, above 1 it is too sure by that factor.
doubt-auroc       | higher  | number | Disagreement warns of errors (AUROC) | Chance that members disagree more on a transition that the model gets wrong (beyond tolerance) than on one that it gets right: 0.5 is chance, 1 is perfect.
`);

export function vectorCalibration(judged: Judged): Instrument {
  const { ground, subject } = judged;
  const instrument: Instrument<VectorRow> = {
    id: 'calibration',
    chunks: Math.ceil(ground.truth.rows.rows / CHUNK_ROWS),
    measure: (chunk) => measureVector(judged, chunk),
    conclude: (rows) => concludeVector(judged, rows),
  };
  if (subject.forecast !== undefined) return instrument;
  return unmeasured(instrument, 'This model says one thing only: it has no spread to be calibrated.');
}

/** A model that is sure and wrong without measure: keeps squares finite. */
const WORST_Z = 1e6;

async function measureVector(judged: Judged, chunk: number): Promise<readonly VectorRow[]> {
  const { truth, scales, plan } = judged.ground;
  const { obsDim } = widths(truth);
  const { first, end, action, carry } = await chunkOfRows(judged, 'calibration', chunk);
  const forecast = await judged.subject.forecast!(carry, action);
  return Array.from({ length: end - first }, (_, r) => {
    const elements = scales.change.map((scale, j) => {
      const real = truth.rows.nextObs[(first + r) * obsDim + j] / scale;
      const { means, stds } = elementOf(forecast, r, j, obsDim, scale);
      const centre = mean(means);
      const deviations = means.map((value) => value - centre);
      const std = Math.sqrt(mean(stds.map((own, c) => own * own + deviations[c] ** 2)));
      const isInside = Math.abs(pitMixture(real, means, stds) - 0.5) <= 0.45;
      return { isInside, error: real - centre, std, deviations };
    });
    // As a world model's own: of the elite that is furthest from the others (MOReL, 2005.05951).
    const spreads =
      forecast.components === 1
        ? [mean(elements.map(({ std }) => std * std))]
        : Array.from({ length: forecast.components }, (_, c) => mean(elements.map((e) => e.deviations[c] ** 2)));
    const zs = elements.map(({ error, std }) => (error === 0 ? 0 : Math.min(WORST_Z, Math.abs(error) / std)));
    return {
      inside: mean(elements.map(({ isInside }) => Number(isInside))),
      square: meanSquare(zs),
      disagreement: Math.sqrt(Math.max(...spreads)),
      isRight: Math.sqrt(meanSquare(elements.map(({ error }) => error))) <= plan.tolerance,
    };
  });
}

/** The mixture that a forecast makes of one element of one row, in units of `scale`. */
function elementOf({ components, mean, std }: Forecast, row: number, element: number, obsDim: number, scale: number) {
  const rows = mean.length / (components * obsDim);
  const at = (c: number) => (c * rows + row) * obsDim + element;
  return {
    means: Array.from({ length: components }, (_, c) => mean[at(c)] / scale),
    stds: Array.from({ length: components }, (_, c) => std[at(c)] / scale),
  };
}

/** Rows by unit, those of units without rows left out. */
function byUnit<T>(rows: readonly T[], units: Units): T[][] {
  const groups = Array.from({ length: units.count }, (): T[] => []);
  rows.forEach((row, i) => {
    groups[units.of[i]].push(row);
  });
  return groups.filter(({ length }) => length > 0);
}

/** Each draw sorts all rows. */
const DRAWS = 200;

function concludeVector({ ground, subject }: Judged, rows: readonly VectorRow[]): Finding {
  const { units, plan } = ground;
  if (rows.length === 0) {
    const missing = 'No transition was judged.';
    return findingOf({ ...ABOUT, summary: 'Not measured.', notes: [missing], missing }, figuresOf(VECTOR_METRICS, {}));
  }
  const rng = (key: string) => intervalRng(plan, 'calibration', key);
  const column = (key: 'inside' | 'square') => rows.map((row) => row[key]);
  const warns = (drawn: readonly (readonly VectorRow[])[]) => {
    const all = drawn.flat();
    // Only the order counts.
    return auroc(
      all.map(({ disagreement }) => -disagreement),
      all.map(({ isRight: right }) => right),
    );
  };
  const found = {
    'coverage-90': clusteredShare(column('inside'), units, rng('coverage-90')),
    'std-factor': clusteredMean(column('square'), units, rng('std-factor'), Math.sqrt),
    'doubt-auroc': bootstrapEstimate(byUnit(rows, units), warns, rng('doubt-auroc'), DRAWS),
  };
  const [coverage, factor] = [found['coverage-90'].estimate.value, found['std-factor'].estimate.value];
  return findingOf(
    {
      ...ABOUT,
      summary: `Intervals of 90 % hold ${shownShare(coverage)} of what really followed; errors are ${shown(factor)} times as large as the stated deviations.`,
      notes: vectorNotes(rows, subject.model.opinions),
    },
    figuresOf(VECTOR_METRICS, found),
  );
}

function vectorNotes(rows: readonly VectorRow[], opinions = 1): readonly string[] {
  const wrong = rows.filter(({ isRight: right }) => !right).length;
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

// Of tools.

type ToolsRow = {
  /** Both null where no answer came. */
  readonly confidence: number | null;
  readonly right: boolean | null;
  readonly backend: string | null;
};

const TOOLS_METRICS = metricTable(`
ece   | lower  | share  | Calibration error | Expected calibration error: how far confidence is from the share that is right, on average over ten bins.
auroc | higher | number | AUROC | Probability that a right answer is given with more confidence than a wrong one; 0.5: no better than chance.
`);

export function toolsCalibration({ asked, ground }: ToolsJudged): Instrument<ToolsRow> {
  return {
    id: 'calibration',
    chunks: Math.ceil(asked.questions.length / CHUNK),
    measure: async (chunk, signal) => {
      const rows = await asked.chunk(chunk, 1, signal);
      return rows.map((row) => ({ confidence: row.confidence, right: isRight(row), backend: row.backend }));
    },
    conclude: (rows) => concludeTools(rows, ground.truth.notes),
  };
}

interface Claim {
  readonly confidence: number;
  readonly right: boolean;
}

/** With more answers than this, a bootstrap of fewer draws is as exact. */
const MANY = 2_000;
const ALIKE = 'All answers of each backend have the same confidence.';

function concludeTools(rows: readonly ToolsRow[], notes: readonly string[]): Finding {
  const { claims, leftOut } = claimsOf(rows);
  const over = (key: string, of: (confidence: Float64Array, right: boolean[]) => number | null) =>
    bootstrapEstimate(claims, (drawn) => of(...columns(drawn)), streamOf(key), claims.length > MANY ? 200 : 1000);
  const isSilent = claims.length === 0;
  const found = {
    ece: over('ece', calibrationError),
    auroc: over('auroc', auroc),
  };
  return findingOf(
    {
      ...ABOUT,
      summary: isSilent
        ? 'The model says nothing of its own certainty that could be judged.'
        : `Of ${claims.length} answers with a confidence of their own; it tells right from wrong with AUROC ${found.auroc.value?.toFixed(2) ?? 'unknown'}.`,
      notes: [
        ...notes,
        ...leftOut,
        'An answer is right if observation, error and, where there is one, state are.',
        ...(isSilent ? [`${ALIKE} Calibration is not to be measured.`] : []),
      ],
      ...(isSilent ? { missing: ALIKE } : {}),
    },
    figuresOf(TOOLS_METRICS, found),
  );
}

/** Backends that always say the same say nothing: exact ones are sure by definition, and would flatter the rest. */
function claimsOf(rows: readonly ToolsRow[]): { claims: Claim[]; leftOut: string[] } {
  const byBackend = new Map<string, Claim[]>();
  for (const { confidence, right, backend } of rows) {
    if (confidence === null || right === null || backend === null) continue;
    byBackend.set(backend, [...(byBackend.get(backend) ?? []), { confidence, right }]);
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

function columns(claims: readonly Claim[]): [confidence: Float64Array, right: boolean[]] {
  return [Float64Array.from(claims, ({ confidence }) => confidence), claims.map(({ right }) => right)];
}
