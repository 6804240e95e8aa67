// Whether what a model says of its own certainty can be used: confidence against correctness of state and observation.

import type { Finding, Instrument } from '../instrument.js';
import type { FidelityTable, LinesChart } from '../report/fidelity-report.js';
import { type FoundMetric, findingOf, meanMetric, plainMetric, streamOf } from '../section.js';
import { bootstrapEstimate } from '../statistics/bootstrap.js';
import { auroc, recalibrated, reliability, selectiveRisk } from '../statistics/confidence.js';
import type { AskedQuestions } from './answers.js';
import { isRight } from './one-step-metrics.js';

export type CalibrationRow = {
  readonly question: number;
  /** Both null where no answer came. */
  readonly confidence: number | null;
  readonly right: boolean | null;
  readonly backend: string | null;
};

export interface CalibrationOptions {
  readonly asked: AskedQuestions;
  readonly notes?: readonly string[];
}

export function calibrationInstrument({ asked, notes = [] }: CalibrationOptions): Instrument<CalibrationRow> {
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
    conclude: (rows) => concluded(asked.questions.length, rows, notes),
  };
}

interface Claim {
  readonly question: number;
  readonly confidence: number;
  readonly right: boolean;
}

/** With more answers than this, a bootstrap of fewer draws is as exact. */
const MANY = 2_000;

function concluded(questions: number, rows: readonly CalibrationRow[], notes: readonly string[]): Finding {
  const { claims, leftOut } = claimsOf(rows);
  const isSilent = claims.length === 0;
  const found = isSilent ? [] : calibrationMetrics(questions, claims);
  const said = found.find(({ metric }) => metric.key === 'auroc')?.metric.estimate.value ?? null;
  return findingOf(
    {
      id: 'calibration',
      title: 'Calibration',
      summary: isSilent
        ? 'The model says nothing of its own certainty that could be judged.'
        : `Of ${claims.length} answers with a confidence of their own; it tells right from wrong with AUROC ${said?.toFixed(2) ?? 'unknown'}.`,
      charts: isSilent ? [] : [reliabilityChart(claims), riskChart(claims)],
      tables: isSilent ? [] : [binTable(claims)],
      worst: [],
      notes: [
        ...notes,
        ...leftOut,
        'An answer is right if observation, error and, where there is one, state are.',
        ...(isSilent
          ? ['All answers of each backend have the same confidence: calibration is not to be measured.']
          : []),
      ],
      ...(isSilent ? { missing: 'All answers of each backend have the same confidence.' } : {}),
    },
    isSilent ? emptyMetrics() : found,
  );
}

/** Backends that always say the same say nothing: exact ones are sure by definition, and would flatter the rest. */
function claimsOf(rows: readonly CalibrationRow[]): { claims: Claim[]; leftOut: string[] } {
  const byBackend = new Map<string, Claim[]>();
  for (const { question, confidence, right, backend } of rows) {
    if (confidence === null || right === null || backend === null) continue;
    byBackend.set(backend, [...(byBackend.get(backend) ?? []), { question, confidence, right }]);
  }
  const groups = [...byBackend].sort(([a], [b]) => (a < b ? -1 : 1));
  const isConstant = (claims: readonly Claim[]) => new Set(claims.map(({ confidence }) => confidence)).size < 2;
  const constant = groups.filter(([, claims]) => isConstant(claims));
  return {
    claims: groups.filter(([, claims]) => !isConstant(claims)).flatMap(([, claims]) => claims),
    leftOut: constant.map(
      ([name, claims]) => `Left out: ${claims.length} answers of ${name}, which always says ${claims[0].confidence}.`,
    ),
  };
}

type Statistic = (claims: readonly Claim[]) => number | null;

const ece: Statistic = (claims) => reliability(confidences(claims), correctness(claims)).ece;
const area: Statistic = (claims) => auroc(confidences(claims), correctness(claims));
const risk: Statistic = (claims) => selectiveRisk(confidences(claims), correctness(claims)).aurc;

const TOLD = {
  ece: {
    key: 'ece',
    label: 'Calibration error',
    better: 'lower',
    unit: 'share',
    meaning:
      'Expected calibration error: how far confidence is from the share that is right, on average over ten bins.',
  },
  auroc: {
    key: 'auroc',
    label: 'AUROC',
    better: 'higher',
    unit: 'number',
    meaning:
      'Probability that a right answer is given with more confidence than a wrong one; 0.5: no better than chance.',
  },
  risk: {
    key: 'selective-risk',
    label: 'Selective risk',
    better: 'lower',
    unit: 'share',
    meaning: 'Share of wrong answers among the most confident ones, averaged over how many of them are kept.',
  },
  brier: {
    key: 'brier',
    label: 'Brier score',
    better: 'lower',
    unit: 'number',
    meaning: 'Mean squared difference between confidence and being right (1) or wrong (0).',
  },
  recalibrated: {
    key: 'ece-recalibrated',
    label: 'Calibration error, recalibrated',
    better: 'lower',
    unit: 'share',
    meaning: 'Calibration error after isotonic recalibration, fitted on other answers than those it is measured on.',
  },
  brierRecalibrated: {
    key: 'brier-recalibrated',
    label: 'Brier score, recalibrated',
    better: 'lower',
    unit: 'number',
    meaning: 'Brier score after the same recalibration.',
  },
} as const;

function calibrationMetrics(questions: number, claims: readonly Claim[]): FoundMetric[] {
  const after = recalibration(claims);
  return [
    estimated(TOLD.ece, claims, ece),
    estimated(TOLD.auroc, claims, area),
    estimated(TOLD.risk, claims, risk),
    meanMetric(TOLD.brier, brierValues(questions, claims)),
    estimated(TOLD.recalibrated, after, ece),
    meanMetric(TOLD.brierRecalibrated, brierValues(questions, after)),
  ];
}

function emptyMetrics(): FoundMetric[] {
  return Object.values(TOLD).map((told) => meanMetric(told, []));
}

function estimated(
  told: (typeof TOLD)[keyof typeof TOLD],
  claims: readonly Claim[],
  statistic: Statistic,
): FoundMetric {
  const draws = claims.length > MANY ? 200 : 1000;
  return plainMetric(told, bootstrapEstimate(claims, statistic, streamOf(told.key), { draws }));
}

/** Too few answers cannot be split into those that are fitted to and those that are measured. */
function recalibration(claims: readonly Claim[]): Claim[] {
  if (claims.length < 2) return [];
  const mapped = recalibrated(confidences(claims), correctness(claims), streamOf('recalibration'));
  return claims.map((claim, i) => ({ ...claim, confidence: mapped[i] }));
}

function brierValues(questions: number, claims: readonly Claim[]): (number | null)[] {
  const values = new Array<number | null>(questions).fill(null);
  for (const { question, confidence, right } of claims) values[question] = (confidence - Number(right)) ** 2;
  return values;
}

function reliabilityChart(claims: readonly Claim[]): LinesChart {
  const points = (of: readonly Claim[]) =>
    reliability(confidences(of), correctness(of)).bins.map(({ confidence, accuracy, count }) => ({
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
    series: [
      { name: 'as said', points: points(claims) },
      { name: 'recalibrated', points: points(recalibration(claims)) },
    ],
  };
}

function riskChart(claims: readonly Claim[]): LinesChart {
  const { points } = selectiveRisk(confidences(claims), correctness(claims));
  return {
    kind: 'lines',
    title: 'Risk of what is kept',
    caption: 'Share of wrong answers among the most confident ones, by how many of them are kept.',
    xTitle: 'share kept',
    yTitle: 'share wrong',
    series: [{ name: 'risk', points: points.map(({ coverage, risk: y }) => ({ x: coverage, y })) }],
  };
}

function binTable(claims: readonly Claim[]): FidelityTable {
  const { bins } = reliability(confidences(claims), correctness(claims));
  return {
    title: 'Confidence and being right',
    columns: ['mean confidence', 'share right', 'answers'],
    rows: bins.map(({ confidence, accuracy, count }) => [
      confidence.toFixed(3),
      accuracy.value!.toFixed(3),
      String(count),
    ]),
  };
}

function confidences(claims: readonly Claim[]): Float64Array {
  return Float64Array.from(claims, ({ confidence }) => confidence);
}

function correctness(claims: readonly Claim[]): boolean[] {
  return claims.map(({ right }) => right);
}
