// How sure a model is: what each elite of an ensemble foresees, or the spread of a model that can only be sampled.

import { Rng } from '../../core/rng.js';
import { rowSize } from '../../env/index.js';
import { EnsembleModel, OnnxDynamics, type VectorWorldModel } from '../../worldmodel/index.js';
import type { Forecast, Forecaster } from './ground.js';

/** Samples that a spread is estimated from: known to about 9 %. */
const SAMPLES = 64;
/** Where clipping leaves no spread at all, a likelihood still has to exist. */
const LEAST_STD = 1e-9;

/** undefined for a model that says one thing only, or whose states are no numbers. */
export function forecasterOf(model: VectorWorldModel): Forecaster | undefined {
  if (model.observationSpace.type === 'discrete') return undefined;
  if (model instanceof EnsembleModel) return (obs, action, rows) => ofElites(model, obs, action, rows);
  if (!(model instanceof OnnxDynamics) || model.manifest.outputs.logVar === undefined) return undefined;
  return (obs, action, rows) => ofSamples(model, obs, action, rows);
}

async function ofElites(
  model: EnsembleModel,
  obs: Float32Array,
  action: Float32Array,
  rows: number,
): Promise<Forecast> {
  const obsDim = rowSize(model.observationSpace);
  const answer = await model.stepElites(obs, action, rows);
  const components = model.description.elites.length;
  const outputDim = answer.mean.length / (components * rows);
  const mean = new Float32Array(components * rows * obsDim);
  const std = new Float32Array(mean.length);
  for (let c = 0; c < components; c++) {
    for (let r = 0; r < rows; r++) {
      const from = (c * rows + r) * outputDim;
      const to = (c * rows + r) * obsDim;
      for (let j = 0; j < obsDim; j++) {
        mean[to + j] = obs[r * obsDim + j] + answer.mean[from + j];
        std[to + j] = answer.std[from + j];
      }
    }
  }
  return { components, mean, std };
}

/** One Gaussian about what the model says without noise. The noise is that of one stream, whatever is asked. */
async function ofSamples(
  model: VectorWorldModel,
  obs: Float32Array,
  action: Float32Array,
  rows: number,
): Promise<Forecast> {
  const rng = Rng.fromSeed(0).split('forecast');
  const { nextObs: mean } = await model.step(obs, action, rows, rng, { deterministic: true });
  const squares = new Float64Array(mean.length);
  for (let sample = 0; sample < SAMPLES; sample++) {
    const { nextObs } = await model.step(obs, action, rows, rng);
    for (let i = 0; i < squares.length; i++) squares[i] += (nextObs[i] - mean[i]) ** 2;
  }
  return {
    components: 1,
    mean,
    std: Float32Array.from(squares, (sum) => Math.max(Math.sqrt(sum / SAMPLES), LEAST_STD)),
  };
}

// One element of a forecast.

/** The mixture for one element of one row, in units of `scale`. */
export function elementOf(
  { components, mean, std }: Forecast,
  row: number,
  element: number,
  obsDim: number,
  scale: number,
): { readonly means: number[]; readonly stds: number[] } {
  const rows = mean.length / (components * obsDim);
  const at = (c: number) => (c * rows + row) * obsDim + element;
  return {
    means: Array.from({ length: components }, (_, c) => mean[at(c)] / scale),
    stds: Array.from({ length: components }, (_, c) => std[at(c)] / scale),
  };
}
