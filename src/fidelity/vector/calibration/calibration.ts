// Does the model know what it does not know: how often its intervals hold what really followed, and whether it errs where
// it doubts.

import type { Instrument } from '../../instrument.js';
import { pitMixture } from '../../statistics/interval-coverage.js';
import { elementOf } from '../mixture.js';
import { CHUNK_ROWS, chunkRange, type Judged } from '../plan.js';
import { nothingFound } from '../section-parts.js';
import { widths } from '../truth.js';
import { ONLY_LIVED_IN, unmeasured } from '../unmeasured.js';
import { CALIBRATION, concludeCalibration } from './finding.js';
import type { CalibrationRow } from './row.js';

export function calibrationInstrument(judged: Judged): Instrument<CalibrationRow> {
  const { ground, subject } = judged;
  if (subject.forecast === undefined) {
    const why =
      subject.model === undefined
        ? ONLY_LIVED_IN
        : 'This model says one thing only: it has no spread to be calibrated.';
    return unmeasured('calibration', CALIBRATION.title, CALIBRATION.metrics, why);
  }
  return {
    id: 'calibration',
    unit: 'transitions',
    chunks: Math.ceil(ground.truth.rows.rows / CHUNK_ROWS),
    measure: (chunk) => measure(judged, chunk),
    conclude: (rows) =>
      rows.length === 0
        ? nothingFound(CALIBRATION, CALIBRATION.metrics, 'No transition was judged.')
        : concludeCalibration(judged, rows),
  };
}

async function measure({ ground, subject }: Judged, chunk: number): Promise<readonly CalibrationRow[]> {
  const { truth, scales, plan } = ground;
  const { obsDim, actionDim } = widths(truth);
  const [first, end] = chunkRange(chunk, CHUNK_ROWS, truth.rows.rows);
  const obs = truth.rows.obs.subarray(first * obsDim, end * obsDim);
  const action = truth.rows.action.subarray(first * actionDim, end * actionDim);
  const forecast = await subject.forecast!(obs, action, end - first);
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

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Six digits: no reader of a share or a curve sees more. */
function brief(value: number): number {
  return Number(value.toPrecision(6));
}
