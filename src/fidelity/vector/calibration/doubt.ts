// Whether the model errs where it doubts: ranking by doubt, the risk of taking only what is least doubted, and the chance
// of being right that doubt can be turned into.

import type { FidelityChart, Point } from '../../report/fidelity-report.js';
import { bootstrapEstimate } from '../../statistics/bootstrap.js';
import { auroc, selectiveRisk } from '../../statistics/discrimination.js';
import type { Estimate } from '../../statistics/estimate.js';
import { recalibrated } from '../../statistics/isotonic.js';
import { type Reliability, reliability } from '../../statistics/reliability.js';
import { byUnit } from '../clustered.js';
import { type Ground, intervalRng } from '../plan.js';
import { holding, pointOf } from '../section-parts.js';
import type { CalibrationRow } from './row.js';

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
