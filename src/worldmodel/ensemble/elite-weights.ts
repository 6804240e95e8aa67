// The elites' weights in normalised units, as a device takes them: low precision holds numbers around one far better than raw
// units. They are taken from the members' .onnx files, so that a model has the same weights wherever it was loaded from.

import { reverieError } from '../../errors.js';
import { type EnsembleWeights, type LayerWeights, type MemberWeights, modelWeights } from '../../nn/index.js';
import { rowShape } from '../model-spaces.js';
import { type EnsembleContents, memberShapeOf } from './contents.js';
import type { MemberShape } from './member-network.js';
import type { Normaliser } from './normaliser.js';

/** Throws MODEL_INVALID for a member that is not of the form that `memberModel` writes. */
export function eliteWeights({ description, models }: EnsembleContents): EnsembleWeights {
  const { config, normaliser, elites, actionSpace, observationSpace } = description;
  const shape = memberShapeOf(description, config);
  const { obsDim, actionDim } = rowShape(description);
  const { input, target } = normaliser;
  const isDiscrete = actionSpace.type === 'discrete';
  const bounds = (side: 'low' | 'high', none: number) =>
    observationSpace.type === 'box'
      ? Float32Array.from(observationSpace[side], (bound) => bound ?? none)
      : new Float32Array(obsDim).fill(none);
  return {
    ...{ obsDim, actionDim },
    actionChoices: isDiscrete ? actionSpace.n : 0,
    actionStart: isDiscrete ? actionSpace.start : 0,
    learnsReward: config.learnReward,
    learnsTermination: config.learnTermination,
    elites: elites.map((member) => memberWeights(models[member], member, shape, normaliser)),
    inputMean: Float32Array.from(input.mean),
    inputScale: Float32Array.from(input.scale),
    targetMean: Float32Array.from(target.mean),
    targetScale: Float32Array.from(target.scale),
    low: bounds('low', Number.NEGATIVE_INFINITY),
    high: bounds('high', Number.POSITIVE_INFINITY),
  };
}

type Read = (name: string, length: number) => Float32Array;

/** Undoes `foldNormaliser` of member-network.ts, in float64. */
function memberWeights(bytes: Uint8Array, member: number, shape: MemberShape, normaliser: Normaliser): MemberWeights {
  const read = reader(bytes, `ensemble member ${member}`);
  const { inputDim, outputDim, hidden } = shape;
  const layers = hidden.map((out, layer): LayerWeights => {
    const width = layer === 0 ? inputDim : hidden[layer - 1];
    return { in: width, out, w: read(`w${layer}`, width * out), b: read(`b${layer}`, out) };
  });
  const { input, target } = normaliser;
  const logVariance = (name: string) =>
    read(name, outputDim).map((variance, j) => Math.log(variance / target.scale[j] ** 2));
  const logVarMax = logVariance('varianceMax');
  return {
    layers: [normalisedInput(layers[0], input), ...layers.slice(1), headWeights(read, shape, target, logVarMax)],
    logVarMin: logVariance('varianceMin'),
    logVarMax,
  };
}

/** A first layer of raw inputs as one of normalised ones. */
function normalisedInput({ in: width, out, w, b }: LayerWeights, { mean, scale }: Normaliser['input']): LayerWeights {
  const weights = new Float32Array(w.length);
  const shift = new Float64Array(out);
  for (let i = 0; i < width; i++) {
    for (let o = 0; o < out; o++) {
      const weight = w[i * out + o];
      shift[o] += weight * mean[i];
      weights[i * out + o] = weight * scale[i];
    }
  }
  return { in: width, out, w: weights, b: b.map((bias, o) => bias + shift[o]) };
}

/** The three heads side by side, means in units of the targets' deviations. */
function headWeights(
  read: Read,
  { hidden, outputDim, termination }: MemberShape,
  { mean, scale }: Normaliser['target'],
  logVarMax: Float32Array,
): LayerWeights {
  const width = hidden[hidden.length - 1];
  const out = 2 * outputDim + (termination ? 1 : 0);
  const w = new Float32Array(width * out);
  const b = new Float32Array(out);
  const place = (name: string, first: number, columns: number, undo: (value: number, column: number) => number) => {
    const weights = read(`${name}.w`, width * columns);
    for (let at = 0; at < weights.length; at++) {
      const column = at % columns;
      w[Math.floor(at / columns) * out + first + column] = undo(weights[at], column);
    }
    return read(`${name}.b`, columns);
  };
  const means = place('mean', 0, outputDim, (value, j) => value / scale[j]);
  const stds = place('std', outputDim, outputDim, (value) => value);
  for (let j = 0; j < outputDim; j++) {
    b[j] = (means[j] - mean[j]) / scale[j];
    b[outputDim + j] = stds[j] + logVarMax[j];
  }
  if (termination) b[2 * outputDim] = place('terminated', 2 * outputDim, 1, (value) => value)[0];
  return { in: width, out, w, b };
}

function reader(bytes: Uint8Array, origin: string): Read {
  const weights = modelWeights(bytes, origin);
  return (name, length) => {
    const data = weights.get(name)?.data;
    if (data instanceof Float32Array && data.length === length) return data;
    const problem = `its weights "${name}" have ${data?.length ?? 'no'} values where ${length} are needed`;
    throw reverieError('MODEL_INVALID', { origin, problem });
  };
}
