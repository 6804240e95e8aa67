// The cheapest learned model there is, which every other should beat: the change of each element and the reward as linear
// functions of observation and action. Fitted on one half of the units, used on the other.

import { unitsOf, type VectorTruth, widths } from './truth.js';

export interface LinearBaseline {
  /** What follows (obs, action) by the half that `row` does not belong to; writes next observation [obsDim], answers reward. */
  predict(row: number, obs: ArrayLike<number>, action: ArrayLike<number>, next: Float64Array): number;
}

/** Relative to each input's own square: enough to keep collinear inputs apart, whatever their units. */
const RIDGE = 1e-6;

/** Two ridge regressions, each for the units of the other's rows: even units learn from odd ones and the reverse. */
export function crossFitted(truth: VectorTruth): LinearBaseline {
  const { of } = unitsOf(truth);
  const encode = encoder(truth);
  const { obsDim } = widths(truth);
  const weights = [1, 0].map((half) => weightsFrom(truth, encode, (row) => of[row] % 2 === half));
  const input = new Float64Array(encode.width);
  return {
    predict(row, obs, action, next) {
      encode.write(obs, action, input);
      const w = weights[of[row] % 2];
      for (let j = 0; j < obsDim; j++) next[j] = obs[j] + dot(w, j, input);
      return dot(w, obsDim, input);
    },
  };
}

interface Encoder {
  readonly width: number;
  write(obs: ArrayLike<number>, action: ArrayLike<number>, into: Float64Array): void;
}

function encoder({ observationSpace, actionSpace }: VectorTruth): Encoder {
  const { obsDim, actionDim } = widths({ observationSpace, actionSpace });
  const actionWidth = actionSpace.type === 'discrete' ? actionSpace.n : actionDim;
  return {
    width: obsDim + actionWidth + 1,
    write(obs, action, into) {
      for (let j = 0; j < obsDim; j++) into[j] = obs[j];
      for (let j = 0; j < actionWidth; j++) {
        into[obsDim + j] = actionSpace.type === 'discrete' ? Number(action[0] - actionSpace.start === j) : action[j];
      }
      into[obsDim + actionWidth] = 1;
    },
  };
}

/** Weights [width, width] of inputs for each of the changes and the reward, row-major by output. */
function weightsFrom(truth: VectorTruth, encode: Encoder, isTaken: (row: number) => boolean): Float64Array {
  const { obsDim, actionDim } = widths(truth);
  const { width } = encode;
  const outputs = obsDim + 1;
  const gram = new Float64Array(width * width);
  const moments = new Float64Array(outputs * width);
  const input = new Float64Array(width);
  const { rows, obs, action, nextObs, reward } = truth.rows;
  for (let r = 0; r < rows; r++) {
    if (!isTaken(r)) continue;
    const from = obs.subarray(r * obsDim, (r + 1) * obsDim);
    encode.write(from, action.subarray(r * actionDim, (r + 1) * actionDim), input);
    for (let i = 0; i < width; i++) for (let k = 0; k < width; k++) gram[i * width + k] += input[i] * input[k];
    for (let j = 0; j < outputs; j++) {
      const target = j < obsDim ? nextObs[r * obsDim + j] - from[j] : reward[r];
      for (let i = 0; i < width; i++) moments[j * width + i] += input[i] * target;
    }
  }
  return solve(gram, moments, width, outputs);
}

/** Solves (gram + ridge) w = moments for every output by Cholesky's decomposition. */
function solve(gram: Float64Array, moments: Float64Array, width: number, outputs: number): Float64Array {
  const lower = new Float64Array(width * width);
  for (let i = 0; i < width; i++) {
    const ridge = RIDGE * gram[i * width + i] || 1;
    for (let k = 0; k <= i; k++) {
      let sum = gram[i * width + k] + (i === k ? ridge : 0);
      for (let m = 0; m < k; m++) sum -= lower[i * width + m] * lower[k * width + m];
      lower[i * width + k] = i === k ? Math.sqrt(Math.max(sum, ridge)) : sum / lower[k * width + k];
    }
  }
  const weights = Float64Array.from(moments);
  for (let j = 0; j < outputs; j++) substitute(lower, weights.subarray(j * width, (j + 1) * width), width);
  return weights;
}

function substitute(lower: Float64Array, w: Float64Array, width: number): void {
  for (let i = 0; i < width; i++) {
    for (let m = 0; m < i; m++) w[i] -= lower[i * width + m] * w[m];
    w[i] /= lower[i * width + i];
  }
  for (let i = width - 1; i >= 0; i--) {
    for (let m = i + 1; m < width; m++) w[i] -= lower[m * width + i] * w[m];
    w[i] /= lower[i * width + i];
  }
}

function dot(weights: Float64Array, output: number, input: Float64Array): number {
  let sum = 0;
  const at = output * input.length;
  for (let i = 0; i < input.length; i++) sum += weights[at + i] * input[i];
  return sum;
}
