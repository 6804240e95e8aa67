// The network that tells a row from its noise (SynthER, Lu et al. 2023, 2303.06614: a residual MLP), and its training step. What
// depends on the noise level is computed outside, so the network sees inputs and targets of about unit size (Karras et al. 2022,
// 2206.00364, table 1).

import {
  adamStep,
  add,
  Graph,
  gradients,
  linear,
  mlpSpecs,
  mul,
  ParamLayout,
  reduceMean,
  relu,
  square,
  sub,
  swish,
  type TrainerSpec,
  type Value,
} from '../../nn/index.js';

export interface DiffusionShape {
  /** Numbers of a row. */
  readonly width: number;
  /** Numbers that say how much noise there is, and what is asked for. */
  readonly features: number;
  readonly hidden: number;
  readonly blocks: number;
}

export function diffusionLayout({ width, features, hidden, blocks }: DiffusionShape): ParamLayout {
  const each = Array.from({ length: blocks }, (_, i) => mlpSpecs(`block${i}`, [hidden, hidden]));
  return new ParamLayout([
    ...mlpSpecs('in', [width, hidden]),
    ...mlpSpecs('level', [features, hidden, hidden]),
    ...each.flat(),
    ...mlpSpecs('out', [hidden, width]),
  ]);
}

type Params = Readonly<Record<string, Value>>;

function network({ blocks }: DiffusionShape, params: Params, input: Value, features: Value): Value {
  const layer = (name: string, x: Value, i = 0) => linear(x, params[`${name}.w${i}`], params[`${name}.b${i}`]);
  let h = add(layer('in', input), layer('level', swish(layer('level', features)), 1));
  for (let i = 0; i < blocks; i++) h = add(h, layer(`block${i}`, relu(h)));
  return layer('out', relu(h));
}

/** State theta, m, v and their moving average; per step noisy inputs, what the network should answer, and features. */
export function diffusionTrainer(shape: DiffusionShape, rows: number, averaging: number): TrainerSpec {
  const layout = diffusionLayout(shape);
  const { size } = layout;
  const matrix = (width: number) => ({ dtype: 'float32' as const, shape: [rows, width] });
  const scalar = { dtype: 'float32' as const, shape: [] };
  return {
    name: 'diffusion of rows',
    state: { theta: [size], m: [size], v: [size], average: [size] },
    perStep: {
      ...{ input: matrix(shape.width), target: matrix(shape.width), features: matrix(shape.features) },
      ...{ adamAlpha: scalar, adamEpsilon: scalar },
    },
    body: ({ state, perStep }) => {
      const { theta, m, v, average } = state;
      const answer = network(shape, layout.unpack(theta), perStep.input, perStep.features);
      const loss = reduceMean(square(sub(answer, perStep.target)));
      const [grad] = gradients(loss, [theta]);
      const next = adamStep({ theta, m, v, grad, alpha: perStep.adamAlpha, epsilon: perStep.adamEpsilon });
      const moved = add(average, mul(averaging, sub(next.theta, average)));
      return { state: { ...next, average: moved }, metrics: { loss } };
    },
  };
}

/** Inputs theta, input [batch, width], features [batch, features]; output answer [batch, width]. */
export function diffusionModel(shape: DiffusionShape): Uint8Array {
  const graph = new Graph('diffusion of rows');
  const layout = diffusionLayout(shape);
  const params = layout.unpack(graph.input('theta', 'float32', [layout.size]));
  const input = graph.input('input', 'float32', ['batch', shape.width]);
  const features = graph.input('features', 'float32', ['batch', shape.features]);
  graph.output('answer', network(shape, params, input, features));
  return graph.toModel();
}
