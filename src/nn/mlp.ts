// Multi-layer perceptrons: parameter lists and forward passes, for one network or a whole ensemble at once.

import type { Value } from './graph.js';
import { relu, swish, tanh } from './ops-elementwise.js';
import { linear } from './ops-matmul.js';
import type { Init, ParamSpec } from './parameters.js';

export type Activation = 'relu' | 'tanh' | 'swish';

/** Weight initialisation of all layers; `outputGain` (orthogonal, uniformFanIn) replaces `gain` in the last one. */
export interface MlpInit {
  readonly kind: 'uniformFanIn' | 'truncNormalFanIn' | 'orthogonal';
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
      { name: `${prefix}.w${layer}`, shape: [...lead, fanIn, out], init: weightInit(init.kind, fanIn, gain) },
      {
        name: `${prefix}.b${layer}`,
        shape: members === undefined ? [out] : [members, 1, out],
        init: init.kind === 'uniformFanIn' ? { kind: 'uniformFanIn', fanIn } : { kind: 'zeros' },
      },
    ];
  });
}

function weightInit(kind: MlpInit['kind'], fanIn: number, gain = 1): Init {
  if (kind === 'orthogonal') return { kind, gain };
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
