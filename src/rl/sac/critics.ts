// What soft actor-critics share (SAC, REDQ, DroQ): critics of any number as one ensemble, the policy's sample with its
// density, and actions in the units that networks see.

import { type Value, withGradient } from '../../nn/graph.js';
import {
  add,
  concat,
  div,
  linear,
  mul,
  reduceMean,
  relu,
  sqrt,
  square,
  squeeze,
  sub,
  swish,
  tanh,
} from '../../nn/ops.js';
import { mlp, tanhNormalSample } from '../../nn/parameters.js';
import { type PolicyNet, policyGaussian } from '../policy-net.js';
import type { BoxActions } from '../spaces.js';

const ACTIVATIONS = { relu, tanh, swish };

type Params = Record<string, Value>;

/** How critics are built, whatever their number: parameters `critic.w0` [critics, in, out], `critic.b0`, … */
export interface CriticShape {
  readonly hidden: readonly number[];
  readonly activation: 'relu' | 'tanh' | 'swish';
  readonly criticLayerNorm: boolean;
  /** What follows each hidden layer's affine part, before its normalisation; DroQ's dropout. */
  readonly dropout?: (x: Value, layer: number) => Value;
}

/** The critics' values, [critics, rows]. */
export function criticValues(shape: CriticShape, params: Params, obs: Value, action: Value): Value {
  const { hidden, activation, criticLayerNorm, dropout } = shape;
  const input = concat([obs, action], 1);
  const layers = hidden.length;
  if (!criticLayerNorm && dropout === undefined)
    return squeeze(mlp(params, 'critic', input, layers + 1, activation), [2]);
  let x = input;
  for (let layer = 0; layer < layers; layer++) {
    const affine = linear(x, params[`critic.w${layer}`], params[`critic.b${layer}`]);
    const kept = dropout === undefined ? affine : dropout(affine, layer);
    x = ACTIVATIONS[activation](criticLayerNorm ? layerNorm(kept) : kept);
  }
  return squeeze(linear(x, params[`critic.w${layers}`], params[`critic.b${layers}`]), [2]);
}

/** Rows to mean 0 and variance 1 (Ba et al., 1607.06450), without gain and shift: the next layer can hold those. */
function layerNorm(x: Value): Value {
  const centred = sub(x, reduceMean(x, [-1], true));
  const precision = div(1, sqrt(add(reduceMean(square(centred), [-1], true), 1e-5)));
  const y = mul(centred, precision);
  const rule = (g: Value) => {
    const along = mul(y, reduceMean(mul(g, y), [-1], true));
    return [mul(precision, sub(sub(g, reduceMean(g, [-1], true)), along))];
  };
  return withGradient(y, [x], rule);
}

/** An action of the policy [rows, dim] in [-1, 1] units and its log-density [rows]. */
export function sampledAction(net: PolicyNet, params: Params, obs: Value, noise: Value) {
  const { mean, logStd } = policyGaussian(net, params, obs);
  return tanhNormalSample(mean, logStd, noise);
}

/** Entropy the temperature steers to, nats. */
export function entropyTarget(net: PolicyNet, config: { readonly targetEntropy: number | 'auto' }): number {
  return config.targetEntropy === 'auto' ? -net.actions.dim : config.targetEntropy;
}

/** Actions in [-1, 1] units. */
export function normalisedActions(action: Value, { scale, bias }: BoxActions): Value {
  if (scale.every((s) => s === 1) && bias.every((b) => b === 0)) return action;
  const row = (values: readonly number[]) => action.graph.constant(values, [1, values.length]);
  return div(sub(action, row(bias)), row(scale));
}
