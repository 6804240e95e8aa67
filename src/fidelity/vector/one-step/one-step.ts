// One step from real states: what the model says follows each recorded transition, without noise, and how sure it was.

import type { Instrument } from '../../instrument.js';
import { crpsMixture, jointMixtureNll } from '../../statistics/gaussian-scores.js';
import { elementOf } from '../mixture.js';
import { CHUNK_ROWS, chunkRange, chunkRng, type Judged } from '../plan.js';
import { short } from '../section-parts.js';
import type { Forecast } from '../subject-model.js';
import { widths } from '../truth.js';
import { ONLY_LIVED_IN, unmeasured } from '../unmeasured.js';
import { concludeOneStep, ONE_STEP } from './finding.js';
import type { OneStepRow } from './row.js';

export function oneStepInstrument(judged: Judged): Instrument<OneStepRow> {
  const { truth } = judged.ground;
  if (judged.subject.model === undefined) {
    return unmeasured('one-step', ONE_STEP.title, ONE_STEP.metrics, ONLY_LIVED_IN);
  }
  return {
    id: 'one-step',
    unit: 'transitions',
    chunks: Math.ceil(truth.rows.rows / CHUNK_ROWS),
    measure: (chunk) => measure(judged, chunk),
    conclude: (rows) => concludeOneStep(judged, rows),
  };
}

async function measure({ ground, subject }: Judged, chunk: number): Promise<readonly OneStepRow[]> {
  const { truth, plan, scales } = ground;
  const { obsDim, actionDim } = widths(truth);
  const [first, end] = chunkRange(chunk, CHUNK_ROWS, truth.rows.rows);
  const obs = truth.rows.obs.subarray(first * obsDim, end * obsDim);
  const action = truth.rows.action.subarray(first * actionDim, end * actionDim);
  const rng = chunkRng(plan, 'one-step', chunk);
  const said = await subject.model!.step(obs, action, end - first, rng, { propagation: 'mean', deterministic: true });
  const forecast = await subject.forecast?.(obs, action, end - first);
  return Array.from({ length: end - first }, (_, r) => {
    const real = truth.rows.nextObs.subarray((first + r) * obsDim, (first + r + 1) * obsDim);
    return {
      next: Array.from(said.nextObs.subarray(r * obsDim, (r + 1) * obsDim), short),
      reward: short(said.reward[r]),
      terminated: said.terminated[r],
      ...scores(forecast, r, real, scales.change),
    };
  });
}

/** Keeps a mixture that is sure and wrong from being infinitely wrong. */
const WORST_SCORE = 1e6;

function scores(
  forecast: Forecast | undefined,
  row: number,
  real: Float32Array,
  scale: readonly number[],
): Pick<OneStepRow, 'nll' | 'crps'> {
  if (forecast === undefined) return { nll: null, crps: null };
  const mixtures = scale.map((unit, j) => elementOf(forecast, row, j, real.length, unit));
  const means = Array.from({ length: forecast.components }, (_, c) => mixtures.map((mixture) => mixture.means[c]));
  const stds = Array.from({ length: forecast.components }, (_, c) => mixtures.map((mixture) => mixture.stds[c]));
  const scaled = scale.map((unit, j) => real[j] / unit);
  const nll = jointMixtureNll(scaled, means, stds);
  const crps = mixtures.reduce((sum, mixture, j) => sum + crpsMixture(scaled[j], mixture.means, mixture.stds), 0);
  return { nll: short(Math.min(nll / real.length, WORST_SCORE)), crps: short(crps / real.length) };
}
