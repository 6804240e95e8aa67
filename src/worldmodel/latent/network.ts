// One member of the recurrent latent model: a gated recurrent unit (Cho et al. 2014, 1406.1078) whose memory, with what is
// seen and done, tells the change of the observation, the reward and the end. As it is trained (windows of steps unrolled,
// parameters fed) and as it answers (one step, raw units, parameters inside); the two compute the same function.

import {
  add,
  concat,
  div,
  exp,
  Graph,
  linear,
  mlp,
  mlpSpecs,
  mul,
  ParamLayout,
  sigmoid,
  slice,
  sqrt,
  sub,
  tanh,
  type Value,
} from '../../nn/index.js';
import type { Normaliser } from '../ensemble/normaliser.js';
import { boundedLogVar, boundSpecs } from '../gaussian-head.js';
import type { LatentConfig } from './config.js';

/** Sizes that decide a member's parameters. */
export interface LatentShape {
  /** Observation, then action (one-hot where discrete). */
  readonly inputDim: number;
  /** Gaussian outputs: change of each observation element, then the reward. */
  readonly outputDim: number;
  /** Whether there is a logit for the end by the task. */
  readonly termination: boolean;
  readonly latent: number;
  readonly hidden: readonly number[];
}

type Params = Readonly<Record<string, Value>>;

export function latentLayout(shape: LatentShape, config: LatentConfig): ParamLayout {
  const { inputDim, latent, hidden, outputDim, termination } = shape;
  const fanIn = { kind: 'uniformFanIn', fanIn: latent } as const;
  return new ParamLayout([
    { name: 'gru.wx', shape: [inputDim, 3 * latent], init: fanIn },
    { name: 'gru.bx', shape: [3 * latent], init: fanIn },
    { name: 'gru.wh', shape: [latent, 3 * latent], init: fanIn },
    { name: 'gru.bh', shape: [3 * latent], init: fanIn },
    ...mlpSpecs('head', [latent + inputDim, ...hidden, 2 * outputDim + (termination ? 1 : 0)], {
      kind: 'truncNormalFanIn',
    }),
    ...boundSpecs(outputDim, config),
  ]);
}

/** What the inputs x [rows, inputDim] contribute to the gates: reset, update, candidate side by side, [rows, 3 · latent]. */
export function inputGates(params: Params, x: Value): Value {
  return linear(x, params['gru.wx'], params['gru.bx']);
}

/** The memory [rows, latent] after a step, from the memory before it and the inputs' share of the gates. */
export function nextMemory(params: Params, gates: Value, memory: Value, latent: number): Value {
  const own = linear(memory, params['gru.wh'], params['gru.bh']);
  const part = (of: Value, at: number) => slice(of, 1, at * latent, (at + 1) * latent);
  const reset = sigmoid(add(part(gates, 0), part(own, 0)));
  const update = sigmoid(add(part(gates, 1), part(own, 1)));
  const candidate = tanh(add(part(gates, 2), mul(reset, part(own, 2))));
  return add(candidate, mul(update, sub(memory, candidate)));
}

/** What a member says of a step, in normalised units: mean and logVar [rows, outputDim], logit [rows, 1]. */
export interface LatentOutput {
  readonly mean: Value;
  readonly logVar: Value;
  readonly logit?: Value;
}

/** The heads, from the memory after the step and its inputs. */
export function latentOutput(params: Params, memory: Value, x: Value, shape: LatentShape): LatentOutput {
  const { outputDim, termination, hidden } = shape;
  const y = mlp(params, 'head', concat([memory, x], 1), hidden.length + 1, 'swish');
  return {
    mean: slice(y, 1, 0, outputDim),
    logVar: boundedLogVar(params, slice(y, 1, outputDim, 2 * outputDim)),
    logit: termination ? slice(y, 1, 2 * outputDim, 2 * outputDim + 1) : undefined,
  };
}

/**
 * The member over whole windows: x [steps · batch, inputDim] time-major and normalised, the memory empty at first.
 * Answers the outputs of all steps, time-major.
 */
export function unrolled(params: Params, x: Value, steps: number, batch: number, shape: LatentShape): LatentOutput {
  const { latent } = shape;
  const gates = inputGates(params, x);
  const memories: Value[] = [];
  let memory = x.graph.literal('float32', new Array<number>(batch * latent).fill(0), [batch, latent]);
  for (let t = 0; t < steps; t++) {
    memory = nextMemory(params, slice(gates, 0, t * batch, (t + 1) * batch), memory, latent);
    memories.push(memory);
  }
  return latentOutput(params, concat(memories, 0), x, shape);
}

/**
 * The member as a standard .onnx model of one step: inputs `input` [batch, inputDim] in raw units and `memory`
 * [batch, latent]; outputs `next_memory`, `mean` and `std` [batch, outputDim] of the change of the observation and of the
 * reward in raw units, and `terminated` [batch, 1], a probability, where learned.
 */
export function latentModel(
  theta: Float32Array,
  layout: ParamLayout,
  shape: LatentShape,
  normaliser: Normaliser,
  metadata: Record<string, string>,
): Uint8Array {
  const graph = new Graph('latent');
  const input = graph.input('input', 'float32', ['batch', shape.inputDim]);
  const memory = graph.input('memory', 'float32', ['batch', shape.latent]);
  const params = Object.fromEntries(
    layout.specs.map(({ name, shape: dims }) => [name, graph.initializer(name, dims, layout.view(theta, name))]),
  );
  const row = (name: string, values: readonly number[]) =>
    graph.initializer(name, [values.length], Float32Array.from(values));
  const { input: given, target } = normaliser;
  const x = div(sub(input, row('input.mean', given.mean)), row('input.scale', given.scale));
  const next = nextMemory(params, inputGates(params, x), memory, shape.latent);
  const { mean, logVar, logit } = latentOutput(params, next, x, shape);
  const scale = row('target.scale', target.scale);
  graph.output('next_memory', next);
  graph.output('mean', add(mul(mean, scale), row('target.mean', target.mean)));
  graph.output('std', mul(sqrt(exp(logVar)), scale));
  if (logit) graph.output('terminated', sigmoid(logit));
  return graph.toModel(metadata);
}
