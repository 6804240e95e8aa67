// A network's parameters packed in one flat vector, which a training loop carries as a single tensor; and their initial values.

import { reverieError } from '../core/errors.js';
import { normalQuantile, type Rng } from '../core/rng.js';
import { elementCount, type Value, withGradient } from './graph.js';
import {
  add,
  div,
  exp,
  linear,
  minimum,
  mul,
  neg,
  type Operand,
  reduceMean,
  reduceSum,
  relu,
  reshape,
  softplus,
  split,
  sqrt,
  square,
  sub,
  swish,
  tanh,
} from './ops.js';

/**
 * How a parameter starts.
 * `normal`: normal of the given deviation.
 * `uniformFanIn`: U(-b, b), b = gain / sqrt(fanIn). `truncNormalFanIn`: normal of deviation 1 / (2 sqrt(fanIn)), cut at two
 * deviations (Chua et al. 2018, PETS). `orthogonal`: random orthonormal rows or columns times gain (Saxe et al. 2014); a leading
 * axis beside the last two is a batch of independent matrices.
 */
export type Init =
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'normal'; readonly deviation: number }
  | { readonly kind: 'uniformFanIn'; readonly fanIn: number; readonly gain?: number }
  | { readonly kind: 'truncNormalFanIn'; readonly fanIn: number }
  | { readonly kind: 'orthogonal'; readonly gain: number };

export interface ParamSpec {
  readonly name: string;
  readonly shape: readonly number[];
  readonly init: Init;
}

interface Slot extends ParamSpec {
  readonly offset: number;
  readonly length: number;
}

export class ParamLayout {
  /** Number of values in theta. */
  readonly size: number;
  private readonly slots: readonly Slot[];
  private readonly byName: ReadonlyMap<string, Slot>;

  constructor(readonly specs: readonly ParamSpec[]) {
    let offset = 0;
    this.slots = specs.map((spec) => {
      const slot = { ...spec, offset, length: elementCount(spec.shape) };
      offset += slot.length;
      return slot;
    });
    this.size = offset;
    this.byName = new Map(this.slots.map((slot) => [slot.name, slot]));
    if (this.byName.size !== specs.length) {
      const names = specs.map(({ name }) => name);
      throw reverieError('DATA_MISMATCH', {
        problem: `Parameter "${names.find((n, i) => names.indexOf(n) !== i)}" is named twice.`,
        hint: `The parameters are: ${names}.`,
      });
    }
  }

  /** The parameters as values, cut out of theta [size]. */
  unpack(theta: Value): Record<string, Value> {
    const pieces = split(
      theta,
      0,
      this.slots.map(({ length }) => length),
    );
    return Object.fromEntries(this.slots.map(({ name, shape }, i) => [name, reshape(pieces[i], shape)]));
  }

  /** Fresh initial values [size]. Each parameter draws from `rng.split(name)`, so the others do not move it; rng itself stays. */
  init(rng: Rng): Float32Array {
    const theta = new Float32Array(this.size);
    for (const slot of this.slots) fillInitial(this.view(theta, slot.name), slot, rng.split(slot.name));
    return theta;
  }

  /** The part of theta that holds one parameter; not a copy. */
  view(theta: Float32Array, name: string): Float32Array {
    const slot = this.byName.get(name);
    if (slot === undefined)
      throw reverieError('DATA_MISMATCH', {
        problem: `Parameter "${name}" does not exist.`,
        hint: `The parameters are: ${[...this.byName.keys()]}.`,
      });
    return theta.subarray(slot.offset, slot.offset + slot.length);
  }
}

function fillInitial(out: Float32Array, { shape, init }: ParamSpec, rng: Rng): void {
  switch (init.kind) {
    case 'constant':
      out.fill(init.value);
      return;
    case 'normal':
      rng.fillNormal(out);
      for (let i = 0; i < out.length; i++) out[i] *= init.deviation;
      return;
    case 'uniformFanIn': {
      const bound = (init.gain ?? 1) / Math.sqrt(init.fanIn);
      rng.fillUniform(out, -bound, bound);
      return;
    }
    case 'truncNormalFanIn':
      fillTruncatedNormal(out, 1 / (2 * Math.sqrt(init.fanIn)), rng);
      return;
    case 'orthogonal':
      fillOrthogonal(out, shape, init.gain, rng);
  }
}

/** Probability of a standard normal below -2. */
const TAIL = 0.022750131948179195;

function fillTruncatedNormal(out: Float32Array, deviation: number, rng: Rng): void {
  rng.fillUniform(out, TAIL, 1 - TAIL);
  for (let i = 0; i < out.length; i++) out[i] = normalQuantile(out[i]) * deviation;
}

function fillOrthogonal(out: Float32Array, shape: readonly number[], gain: number, rng: Rng): void {
  const [rows, columns] = shape.slice(-2);
  const size = rows * columns;
  for (let start = 0; start < out.length; start += size) {
    orthonormal(out.subarray(start, start + size), rows, columns, gain, rng);
  }
}

/** Gram–Schmidt, twice over for accuracy, on the shorter side's vectors. */
function orthonormal(out: Float32Array, rows: number, columns: number, gain: number, rng: Rng): void {
  const count = Math.min(rows, columns);
  const length = Math.max(rows, columns);
  const basis: Float64Array[] = [];
  for (let v = 0; v < count; v++) {
    const vector = rng.fillNormal(new Float64Array(length));
    for (let pass = 0; pass < 2; pass++) for (const earlier of basis) removeComponent(vector, earlier);
    const norm = Math.sqrt(dot(vector, vector));
    basis.push(vector.map((x) => x / norm));
  }
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) out[r * columns + c] = gain * (rows <= columns ? basis[r][c] : basis[c][r]);
  }
}

function removeComponent(vector: Float64Array, direction: Float64Array): void {
  const along = dot(vector, direction);
  for (let i = 0; i < vector.length; i++) vector[i] -= along * direction[i];
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

export type Activation = 'relu' | 'tanh' | 'swish';

/** Initial weights of all layers; `outputGain` (orthogonal, uniformFanIn) replaces `gain` in the last one. `xavier`: Glorot and Bengio 2010. */
export interface MlpInit {
  readonly kind: 'uniformFanIn' | 'truncNormalFanIn' | 'orthogonal' | 'xavier';
  readonly gain?: number;
  readonly outputGain?: number;
}

const ACTIVATIONS: Readonly<Record<Activation, (x: Value) => Value>> = { relu, tanh, swish };

/**
 * Parameters of an MLP with layer widths `sizes` (input first): `${prefix}.w0` [in, out], `${prefix}.b0` [out], `.w1`, …
 * With `members`, those of an ensemble: w [members, in, out], b [members, 1, out].
 * Biases are drawn like the weights for uniformFanIn (PyTorch's default layer), else zero.
 */
export function mlpSpecs(
  prefix: string,
  sizes: readonly number[],
  init: MlpInit = { kind: 'uniformFanIn' },
  members?: number,
): ParamSpec[] {
  return sizes.slice(1).flatMap((out, layer): ParamSpec[] => {
    const fanIn = sizes[layer];
    const gain = layer === sizes.length - 2 ? (init.outputGain ?? init.gain) : init.gain;
    const lead = members === undefined ? [] : [members];
    return [
      { name: `${prefix}.w${layer}`, shape: [...lead, fanIn, out], init: weightInit(init.kind, fanIn, out, gain) },
      {
        name: `${prefix}.b${layer}`,
        shape: members === undefined ? [out] : [members, 1, out],
        init: init.kind === 'uniformFanIn' ? { kind: 'uniformFanIn', fanIn } : { kind: 'constant', value: 0 },
      },
    ];
  });
}

function weightInit(kind: MlpInit['kind'], fanIn: number, fanOut: number, gain = 1): Init {
  if (kind === 'orthogonal') return { kind, gain };
  if (kind === 'xavier') return { kind: 'uniformFanIn', fanIn, gain: Math.sqrt((6 * fanIn) / (fanIn + fanOut)) };
  return kind === 'uniformFanIn' ? { kind, fanIn, gain } : { kind, fanIn };
}

/**
 * Forward pass through `layers` affine layers with the activation between them; the last layer is linear.
 * @param x [rows, in]; [members, rows, in] with an ensemble's parameters
 */
export function mlp(
  params: Readonly<Record<string, Value>>,
  prefix: string,
  x: Value,
  layers: number,
  activation: Activation,
): Value {
  let h = x;
  for (let layer = 0; layer < layers; layer++) {
    h = linear(h, params[`${prefix}.w${layer}`], params[`${prefix}.b${layer}`]);
    if (layer < layers - 1) h = ACTIVATIONS[activation](h);
  }
  return h;
}

/** Times the width that a block of a residual network is wide inside (Lee et al. 2025, section 4.1). */
const EXPANSION = 4;

/**
 * Layer widths of a residual network (SimBa, Lee et al. 2025, 2410.09754): one into `widths`, which are all alike, two for each of its
 * blocks, and one out. Its parameters are those of an MLP of these.
 */
export function residualSizes(input: number, widths: readonly number[], output: number): number[] {
  return [input, widths[0], ...widths.flatMap((width) => [EXPANSION * width, width]), output];
}

/**
 * Forward pass through a residual network of `blocks` blocks, `mlpSpecs` of its `residualSizes`: x + W relu(W norm(x)) each, rows
 * normalised before them and before the output, without gain and shift, which the layer that follows has.
 * @param x [rows, in]; [members, rows, in] with an ensemble's parameters
 */
export function residual(
  params: Readonly<Record<string, Value>>,
  prefix: string,
  x: Value,
  blocks: number,
  activation: Activation,
): Value {
  const affine = (from: Value, layer: number) =>
    linear(from, params[`${prefix}.w${layer}`], params[`${prefix}.b${layer}`]);
  let h = affine(x, 0);
  for (let block = 0; block < blocks; block++) {
    const inside = ACTIVATIONS[activation](affine(layerNorm(h), 2 * block + 1));
    h = add(h, affine(inside, 2 * block + 2));
  }
  return affine(layerNorm(h), 2 * blocks + 1);
}

/** Rows to mean 0 and variance 1 (Ba et al., 1607.06450), without gain and shift. */
export function layerNorm(x: Value): Value {
  const centred = sub(x, reduceMean(x, [-1], true));
  const precision = div(1, sqrt(add(reduceMean(square(centred), [-1], true), 1e-5)));
  const y = mul(centred, precision);
  const rule = (g: Value) => {
    const along = mul(y, reduceMean(mul(g, y), [-1], true));
    return [mul(precision, sub(sub(g, reduceMean(g, [-1], true)), along))];
  };
  return withGradient(y, [x], rule);
}

interface AdamArguments {
  readonly theta: Value;
  /** Scaled first moment, zeros at first. */
  readonly m: Value;
  /** Scaled second moment, zeros at first. */
  readonly v: Value;
  readonly grad: Value;
  /** From `adamScalars` of this step. */
  readonly alpha: Operand;
  /** From `adamScalars` of this step. */
  readonly epsilon: Operand;
  readonly beta1?: number;
  readonly beta2?: number;
  /** Decoupled weight decay (Loshchilov and Hutter 2019): the fraction of theta lost this step, lr · lambda; a value may give one per parameter. */
  readonly decay?: Operand;
}

/** One Adam step (Kingma and Ba 2015): the new theta, m and v. */
export function adamStep(step: AdamArguments): { theta: Value; m: Value; v: Value } {
  const { theta, grad, beta1 = 0.9, beta2 = 0.999, decay = 0 } = step;
  const m = add(mul(step.m, beta1), grad);
  const v = add(mul(step.v, beta2), square(grad));
  const update = div(mul(m, step.alpha), add(sqrt(v), step.epsilon));
  const kept = decay === 0 ? theta : mul(theta, sub(theta.graph.constant(1), decay));
  return { theta: sub(kept, update), m, v };
}

/**
 * Step size and epsilon of Adam's step number `step` (from 1) for scaled moments; feed them per step.
 * @param lr learning rate
 */
export function adamScalars(
  step: number,
  lr: number,
  beta1 = 0.9,
  beta2 = 0.999,
  eps = 1e-8,
): { alpha: number; epsilon: number } {
  const correction = Math.sqrt(1 - beta2 ** step) / Math.sqrt(1 - beta2);
  return { alpha: ((lr * (1 - beta1)) / (1 - beta1 ** step)) * correction, epsilon: eps * correction };
}

/** Euclidean norm of all elements. */
export function globalNorm(grad: Value): Value {
  return sqrt(reduceSum(square(grad)));
}

/** The gradient, shrunk to norm `maxNorm` if it is longer. */
export function clipByGlobalNorm(grad: Value, maxNorm: number): Value {
  return mul(grad, minimum(div(maxNorm, add(globalNorm(grad), 1e-6)), 1));
}

const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);

/** Log-density [rows] of x [rows, dim] under independent normals; `logStd` may be [dim]. */
export function gaussianLogProb(x: Value, mean: Value, logStd: Value): Value {
  const z = mul(sub(x, mean), exp(neg(logStd)));
  return reduceSum(sub(sub(mul(square(z), -0.5), logStd), HALF_LOG_2PI), [-1]);
}

/** Entropy of independent normals, summed over the last axis of `logStd`. */
export function gaussianEntropy(logStd: Value): Value {
  return reduceSum(add(logStd, 0.5 + HALF_LOG_2PI), [-1]);
}

/** mean + exp(logStd) · noise, with standard normal noise. */
export function gaussianSample(mean: Value, logStd: Value, noise: Value): Value {
  return add(mean, mul(exp(logStd), noise));
}

/**
 * A sample of a Gaussian squashed by tanh, and its log-density [rows] (Haarnoja et al. 2018, appendix C).
 * log(1 - tanh(u)^2) is computed as 2 (log 2 - u - softplus(-2u)), which does not overflow for large |u|.
 * @param mean [rows, dim]
 * @param logStd [rows, dim]
 * @param noise standard normal [rows, dim]
 */
export function tanhNormalSample(mean: Value, logStd: Value, noise: Value): { action: Value; logProb: Value } {
  const preTanh = gaussianSample(mean, logStd, noise);
  const density = sub(mul(square(noise), -0.5), logStd);
  return { action: tanh(preTanh), logProb: reduceSum(add(density, squashCorrection(preTanh)), [-1]) };
}

/** -log(1 - tanh(u)^2) minus the Gaussian's constant, per element. */
function squashCorrection(u: Value): Value {
  return add(mul(add(u, softplus(mul(u, -2))), 2), -2 * Math.LN2 - HALF_LOG_2PI);
}
