// The Gaussian head that learned dynamics share: a mean and a log-variance kept within learned bounds
// (PETS, Chua et al. 2018, 1805.12114, appendix A.1), its parameters and its losses.

import { Graph, type Value } from '../../nn/graph.js';
import {
  add,
  exp,
  linear,
  mul,
  neg,
  reduceMean,
  reduceSum,
  sigmoid,
  slice,
  softplus,
  sqrt,
  square,
  sub,
  swish,
} from '../../nn/ops.js';
import { mlp, mlpSpecs, ParamLayout, type ParamSpec } from '../../nn/parameters.js';
import { decayOfLayer, type EnsembleConfig } from './config.js';
import type { Normaliser } from './dataset.js';

/** Where the bounds of the log-variance start, in normalised units, and how strongly they are pulled together. */
export interface GaussianBounds {
  readonly logVarMin: number;
  readonly logVarMax: number;
  readonly logVarPenalty: number;
}

/** The learned bounds as parameters: `logVarMax` and `logVarMin`, [outputDim] each. */
export function boundSpecs(
  outputDim: number,
  { logVarMin, logVarMax }: Pick<GaussianBounds, 'logVarMin' | 'logVarMax'>,
): ParamSpec[] {
  return [
    { name: 'logVarMax', shape: [outputDim], init: { kind: 'constant', value: logVarMax } },
    { name: 'logVarMin', shape: [outputDim], init: { kind: 'constant', value: logVarMin } },
  ];
}

/** `raw` [rows, outputDim] brought within the learned bounds. */
export function boundedLogVar(params: Readonly<Record<string, Value>>, raw: Value): Value {
  const below = sub(params['logVarMax'], softplus(sub(params['logVarMax'], raw)));
  return add(params['logVarMin'], softplus(sub(below, params['logVarMin'])));
}

/** Negative log-likelihood of each value without its constant, doubled as in PETS: error / var + logVar. */
export function gaussianNll(squaredError: Value, logVar: Value): Value {
  return add(mul(squaredError, exp(neg(logVar))), logVar);
}

/** The pull on the learned bounds: logVarPenalty · (Σ max − Σ min), each output's with its weight, where there are weights. */
export function boundPenalty(
  params: Readonly<Record<string, Value>>,
  { logVarPenalty }: Pick<GaussianBounds, 'logVarPenalty'>,
  weights?: Value,
): Value {
  const sum = (bound: Value) => reduceSum(weights ? mul(bound, weights) : bound);
  return mul(sub(sum(params['logVarMax']), sum(params['logVarMin'])), logVarPenalty);
}

/**
 * Losses of a head against targets [rows, outputDim]: mean negative log-likelihood, in which outputs count by `weights`
 * [outputDim] where there are any, and squared error per output.
 */
export function gaussianLosses(
  mean: Value,
  logVar: Value,
  target: Value,
  weights?: Value,
): { nll: Value; squaredError: Value } {
  const error = square(sub(mean, target));
  const nll = gaussianNll(error, logVar);
  return { nll: reduceMean(weights ? mul(nll, weights) : nll), squaredError: reduceMean(error, [0]) };
}

/** Sizes that decide a member's parameters. */
export interface MemberShape {
  readonly inputDim: number;
  /** Gaussian outputs: observation elements, then the reward if learned. */
  readonly outputDim: number;
  /** Whether there is a logit for the end by the task. */
  readonly termination: boolean;
  readonly hidden: readonly number[];
}

const PREFIX = 'net';

const sizesOf = ({ inputDim, hidden, outputDim, termination }: MemberShape): number[] => [
  inputDim,
  ...hidden,
  2 * outputDim + (termination ? 1 : 0),
];

/** Parameters of a member: `net.w0`, `net.b0`, ..., and the learned bounds of the log-variance. */
export function memberLayout(shape: MemberShape, config: Pick<EnsembleConfig, 'logVarMin' | 'logVarMax'>): ParamLayout {
  return new ParamLayout([
    ...mlpSpecs(PREFIX, sizesOf(shape), { kind: 'truncNormalFanIn' }),
    ...boundSpecs(shape.outputDim, config),
  ]);
}

/** Per parameter, the L2 penalty of its layer; zero for biases and bounds. */
export function decayVector(layout: ParamLayout, config: EnsembleConfig): Float32Array {
  const decay = new Float32Array(layout.size);
  for (let layer = 0; layer <= config.hidden.length; layer++) {
    layout.view(decay, `${PREFIX}.w${layer}`).fill(decayOfLayer(config, layer));
  }
  return decay;
}

/** What a member says of normalised inputs [rows, inputDim]: mean and logVar [rows, outputDim], logit [rows, 1]. */
export interface MemberOutput {
  readonly mean: Value;
  readonly logVar: Value;
  readonly logit?: Value;
}

/** The member in normalised units. */
export function memberOutput(params: Record<string, Value>, x: Value, shape: MemberShape): MemberOutput {
  const { outputDim, termination, hidden } = shape;
  const y = mlp(params, PREFIX, x, hidden.length + 1, 'swish');
  const logVar = boundedLogVar(params, slice(y, 1, outputDim, 2 * outputDim));
  const logit = termination ? slice(y, 1, 2 * outputDim, 2 * outputDim + 1) : undefined;
  return { mean: slice(y, 1, 0, outputDim), logVar, logit };
}

export interface MemberLosses {
  /** Mean negative log-likelihood without its constant, doubled as in PETS: (y - mean)^2 / var + logVar. */
  readonly nll: Value;
  /** Squared error per output, [outputDim]. */
  readonly squaredError: Value;
  /** Mean cross-entropy of the termination head; absent without one. */
  readonly crossEntropy?: Value;
}

/**
 * Losses of a member's output against normalised targets [rows, outputDim] and ends [rows, 1] (0 or 1); targets count by
 * `weights` [outputDim], all the same where there are none.
 */
export function memberLosses(
  { mean, logVar, logit }: MemberOutput,
  target: Value,
  terminated: Value,
  weights?: Value,
): MemberLosses {
  const crossEntropy = logit && reduceMean(sub(softplus(logit), mul(logit, terminated)));
  return { ...gaussianLosses(mean, logVar, target, weights), crossEntropy };
}

/**
 * The member as a standard .onnx model: input `input` [batch, inputDim] in raw units; outputs `mean` and `std`
 * [batch, outputDim] of the change of the observation and the reward in raw units, and `terminated` [batch, 1], a
 * probability, where learned. The normaliser is folded into the first and last layers, in float64.
 */
export function memberModel(
  theta: Float32Array,
  layout: ParamLayout,
  shape: MemberShape,
  normaliser: Normaliser,
  metadata: Record<string, string>,
): Uint8Array {
  const { outputDim, termination, hidden } = shape;
  const graph = new Graph('member');
  const folded = foldNormaliser(theta, layout, shape, normaliser);
  const sizes = sizesOf(shape);
  let h = graph.input('input', 'float32', ['batch', shape.inputDim]);
  hidden.forEach((width, layer) => {
    const w = graph.initializer(`w${layer}`, [sizes[layer], width], folded.view(`${PREFIX}.w${layer}`));
    const b = graph.initializer(`b${layer}`, [width], folded.view(`${PREFIX}.b${layer}`));
    h = swish(linear(h, w, b));
  });
  const last = hidden.length;
  const head = (name: string, from: number, to: number): Value => {
    const columns = (key: string) => columnsOf(folded.view(key), sizes[last + 1], from, to);
    const w = graph.initializer(`${name}.w`, [sizes[last], to - from], columns(`${PREFIX}.w${last}`));
    return linear(h, w, graph.initializer(`${name}.b`, [to - from], columns(`${PREFIX}.b${last}`)));
  };
  graph.output('mean', head('mean', 0, outputDim));
  const spread = sigmoid(head('std', outputDim, 2 * outputDim));
  const low = graph.initializer('varianceMin', [outputDim], folded.varianceMin);
  const range = graph.initializer('varianceMax', [outputDim], folded.varianceMax);
  graph.output('std', sqrt(add(mul(spread, range), low)));
  if (termination) graph.output('terminated', sigmoid(head('terminated', 2 * outputDim, 2 * outputDim + 1)));
  return graph.toModel(metadata);
}

export interface FoldedMember {
  readonly varianceMin: Float32Array;
  readonly varianceMax: Float32Array;
  view(name: string): Float32Array;
}

/**
 * Parameters of the raw-unit form. With s = softplus, exp(max − s(max − l)) = exp(max) σ(l − max), and bounding that below
 * adds exp(min): the variance is exp(min) + exp(max) σ(l − max), exactly the bounded one of `memberOutput`.
 */
export function foldNormaliser(
  theta: Float32Array,
  layout: ParamLayout,
  shape: MemberShape,
  normaliser: Normaliser,
): FoldedMember {
  const folded = theta.slice();
  const view = (name: string) => layout.view(folded, name);
  const { input, target, constant = [] } = normaliser;
  const last = shape.hidden.length;
  rescaleInputs(view(`${PREFIX}.w0`), view(`${PREFIX}.b0`), input.mean, input.scale);
  const [w, b] = [view(`${PREFIX}.w${last}`), view(`${PREFIX}.b${last}`)];
  const [max, min] = [view('logVarMax'), view('logVarMin')];
  const varianceMin = new Float32Array(shape.outputDim);
  const varianceMax = new Float32Array(shape.outputDim);
  for (let j = 0; j < shape.outputDim; j++) {
    for (let at = j; at < w.length; at += b.length) w[at] *= target.scale[j];
    b[j] = b[j] * target.scale[j] + target.mean[j];
    b[shape.outputDim + j] -= max[j];
    varianceMin[j] = target.scale[j] ** 2 * Math.exp(min[j]);
    varianceMax[j] = target.scale[j] ** 2 * Math.exp(max[j]);
  }
  for (const j of constant) {
    for (let at = j; at < w.length; at += b.length) w[at] = 0;
    b[j] = target.mean[j];
    varianceMin[j] = varianceMax[j] = LEAST_VARIANCE;
  }
  return { varianceMin, varianceMax, view };
}

/** Of what never changes: too little for a sample to move a float32 of ordinary size, and still a logarithm's argument. */
const LEAST_VARIANCE = 1e-30;

/** Makes the first layer w [in, out], b [out] take x where it took (x − mean) / scale. */
function rescaleInputs(w: Float32Array, b: Float32Array, mean: readonly number[], scale: readonly number[]): void {
  for (let o = 0; o < b.length; o++) {
    let shift = 0;
    for (let i = 0; i < mean.length; i++) {
      const at = i * b.length + o;
      const weight = w[at] / scale[i];
      shift += weight * mean[i];
      w[at] = weight;
    }
    b[o] -= shift;
  }
}

/**
 * Parameters that compute under the normaliser `next` what `theta` computes under `previous`, in place: a warm start
 * keeps its function while means and scales follow the data.
 */
export function renormalise(
  theta: Float32Array,
  layout: ParamLayout,
  shape: MemberShape,
  previous: Normaliser,
  next: Normaliser,
): void {
  const view = (name: string) => layout.view(theta, name);
  const last = shape.hidden.length;
  const mean = next.input.mean.map((m, i) => (previous.input.mean[i] - m) / next.input.scale[i]);
  const scale = next.input.scale.map((s, i) => previous.input.scale[i] / s);
  rescaleInputs(view(`${PREFIX}.w0`), view(`${PREFIX}.b0`), mean, scale);
  const [w, b] = [view(`${PREFIX}.w${last}`), view(`${PREFIX}.b${last}`)];
  for (let j = 0; j < shape.outputDim; j++) {
    const ratio = previous.target.scale[j] / next.target.scale[j];
    for (let at = j; at < w.length; at += b.length) w[at] *= ratio;
    b[j] = b[j] * ratio + (previous.target.mean[j] - next.target.mean[j]) / next.target.scale[j];
    const shift = 2 * Math.log(ratio);
    b[shape.outputDim + j] += shift;
    view('logVarMax')[j] += shift;
    view('logVarMin')[j] += shift;
  }
}

/** Columns [from, to) of a matrix of `width` columns, or of a vector (one row). */
function columnsOf(matrix: Float32Array, width: number, from: number, to: number): Float32Array {
  const out = new Float32Array((matrix.length / width) * (to - from));
  for (let r = 0, at = 0; r < matrix.length; r += width) {
    for (let c = from; c < to; c++) out[at++] = matrix[r + c];
  }
  return out;
}
