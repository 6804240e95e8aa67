// A small training problem that several tests share: least squares with Adam.

import { Rng } from '../../src/core/rng.js';
import * as nn from './nn.js';

export const ROWS = 16;
const INPUTS = 3;
const OUTPUTS = 2;
const LEARNING_RATE = 3e-3;

export interface Problem {
  readonly layout: nn.ParamLayout;
  readonly loss: (theta: nn.Value, x: nn.Value, y: nn.Value) => nn.Value;
}

/** Mean squared error of a swish network. */
export function leastSquares(): Problem {
  const layout = new nn.ParamLayout(nn.mlpSpecs('net', [INPUTS, 8, 8, OUTPUTS]));
  return {
    layout,
    loss: (theta, x, y) => nn.reduceMean(nn.square(nn.sub(nn.mlp(layout.unpack(theta), 'net', x, 3, 'swish'), y))),
  };
}

/** Training rows lie in one table; each step picks its rows by index. */
export function trainerSpec(name: string, { layout, loss }: Problem, decay = 0): nn.TrainerSpec {
  const size = [layout.size];
  return {
    name,
    state: { theta: size, m: size, v: size },
    inputs: { x: { dtype: 'float32', shape: ['rows', INPUTS] }, y: { dtype: 'float32', shape: ['rows', OUTPUTS] } },
    perStep: {
      rows: { dtype: 'int32', shape: [ROWS] },
      alpha: { dtype: 'float32', shape: [] },
      epsilon: { dtype: 'float32', shape: [] },
    },
    body: ({ state, inputs, perStep }) => {
      const [x, y] = [inputs.x, inputs.y].map((table) => nn.gather(table, perStep.rows));
      const total = loss(state.theta, x, y);
      const [grad] = nn.gradients(total, [state.theta]);
      const { theta, m, v } = state;
      const { alpha, epsilon } = perStep;
      return {
        state: nn.adamStep({ theta, m, v, grad, alpha, epsilon, decay }),
        metrics: { loss: total, gradNorm: nn.globalNorm(grad) },
      };
    },
  };
}

export interface ProblemRun {
  readonly state: { theta: Float32Array; m: Float32Array; v: Float32Array };
  readonly inputs: { x: Float32Array; y: Float32Array };
  readonly perStep: { rows: Int32Array; alpha: Float32Array; epsilon: Float32Array };
  readonly steps: number;
}

export function drawRun({ layout }: Problem, steps: number, seed = 3): ProblemRun {
  const rng = Rng.fromSeed(seed);
  const tableRows = 40;
  const x = rng.fillNormal(new Float32Array(tableRows * INPUTS));
  const y = new Float32Array(tableRows * OUTPUTS).map((_, i) =>
    Math.sin(x[Math.floor(i / OUTPUTS) * INPUTS] + (i % OUTPUTS)),
  );
  const scalars = Array.from({ length: steps }, (_, i) => nn.adamScalars(i + 1, LEARNING_RATE));
  return {
    state: { theta: layout.init(rng), m: new Float32Array(layout.size), v: new Float32Array(layout.size) },
    inputs: { x, y },
    perStep: {
      rows: Int32Array.from({ length: steps * ROWS }, () => rng.int(tableRows)),
      alpha: Float32Array.from(scalars, ({ alpha }) => alpha),
      epsilon: Float32Array.from(scalars, ({ epsilon }) => epsilon),
    },
    steps,
  };
}

/** Steps `from` to `to` of a run, to be continued from another state. */
export function part(run: ProblemRun, state: ProblemRun['state'], from: number, to: number): ProblemRun {
  const { rows, alpha, epsilon } = run.perStep;
  return {
    ...run,
    state,
    perStep: {
      rows: rows.slice(from * ROWS, to * ROWS),
      alpha: alpha.slice(from, to),
      epsilon: epsilon.slice(from, to),
    },
    steps: to - from,
  };
}

/**
 * The same training written plainly in float64: textbook Adam with bias-corrected moments.
 * @returns the loss of each step, and the final parameters
 */
export async function descendPlainly(
  problem: Problem,
  run: ProblemRun,
  lambda = 0,
): Promise<{ losses: number[]; theta: Float64Array }> {
  const { layout, loss } = problem;
  const graph = new nn.Graph('plain');
  const theta = graph.input('theta', 'float32', [layout.size]);
  const [x, y] = [graph.input('x', 'float32', [ROWS, INPUTS]), graph.input('y', 'float32', [ROWS, OUTPUTS])];
  const total = loss(theta, x, y);
  graph.output('loss', total);
  graph.output('grad', nn.gradients(total, [theta])[0]);
  const values = Float64Array.from(run.state.theta);
  const m = new Float64Array(layout.size);
  const v = new Float64Array(layout.size);
  const losses: number[] = [];
  for (let step = 1; step <= run.steps; step++) {
    const picked = run.perStep.rows.subarray((step - 1) * ROWS, step * ROWS);
    const result = await nn.evaluated(graph, {
      theta: nn.float32(Float32Array.from(values)),
      x: nn.float32(pick(run.inputs.x, INPUTS, picked), [ROWS, INPUTS]),
      y: nn.float32(pick(run.inputs.y, OUTPUTS, picked), [ROWS, OUTPUTS]),
    });
    losses.push(Number(result.loss.data[0]));
    (result.grad.data as Float32Array).forEach((g, i) => {
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.999 * v[i] + 0.001 * g * g;
      const update = m[i] / (1 - 0.9 ** step) / (Math.sqrt(v[i] / (1 - 0.999 ** step)) + 1e-8);
      values[i] -= LEARNING_RATE * (update + lambda * values[i]);
    });
  }
  return { losses, theta: values };
}

/** Weight decay per step, as `adamStep` takes it. */
export const decayOf = (lambda: number): number => LEARNING_RATE * lambda;

function pick(table: Float32Array, width: number, rows: Int32Array): Float32Array {
  return Float32Array.from(
    { length: rows.length * width },
    (_, i) => table[rows[Math.floor(i / width)] * width + (i % width)],
  );
}
