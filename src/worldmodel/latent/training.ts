// Trains one member by back-propagation through time until its hold-out loss stops falling. A pure function of (data,
// settings, stream).

import type { Rng } from '../../core/rng.js';
import {
  adamScalars,
  adamStep,
  add,
  buildTrainer,
  clipByGlobalNorm,
  div,
  float32,
  Graph,
  gradients,
  InferenceSession,
  mul,
  reduceSum,
  softplus,
  square,
  sub,
  type Trainer,
  type Value,
} from '../../nn/index.js';
import { boundPenalty, gaussianNll } from '../gaussian-head.js';
import type { LatentConfig } from './config.js';
import { feedWindows, type WindowData } from './dataset.js';
import { type LatentOutput, type LatentShape, latentLayout, unrolled } from './network.js';

/** Hold-out results of a member, in normalised units. */
export interface LatentReport {
  readonly gradientSteps: number;
  /** What early stopping goes by: negative log-likelihood per output, plus the cross-entropy of a learned end. */
  readonly holdoutLoss: number;
  /** Mean squared error of each output; 1 is as good as always predicting the mean. */
  readonly holdoutMse: readonly number[];
}

export interface LatentTraining {
  readonly data: WindowData;
  readonly shape: LatentShape;
  readonly config: LatentConfig;
  /** The member's own stream. */
  readonly rng: Rng;
  readonly onEvaluation?: (report: LatentReport) => void;
  readonly signal?: AbortSignal;
}

/** @throws what `signal` was aborted with, or NON_FINITE_VALUE if training diverged */
export async function trainLatent(training: LatentTraining): Promise<{ theta: Float32Array; report: LatentReport }> {
  const { data, shape, config, rng, signal } = training;
  const layout = latentLayout(shape, config);
  const batch = Math.min(config.batchSize, data.windows - data.holdout);
  const trainer = await latentTrainer(shape, config, data, batch);
  const judge = await makeJudge(data, shape, config);
  try {
    const theta = layout.init(rng.split('weights'));
    const zeros = () => new Float32Array(layout.size);
    let state: Record<string, Float32Array> = { theta, m: zeros(), v: zeros() };
    let best = { theta, report: { gradientSteps: 0, ...(await judge.evaluate(theta)) } };
    let stale = 0;
    for (let steps = 0; steps < config.maxSteps && stale < config.patience; ) {
      signal?.throwIfAborted();
      const count = Math.min(config.stepsPerEvaluation, config.maxSteps - steps);
      state = await runSteps(trainer, state, data, batch, steps, count, config.lr, rng.split('batches', steps));
      steps += count;
      const judged = await judge.evaluate(state['theta']);
      training.onEvaluation?.({ gradientSteps: steps, ...judged });
      const isBetter = judged.holdoutLoss < best.report.holdoutLoss;
      stale = isBetter ? 0 : stale + 1;
      if (isBetter) best = { theta: state['theta'], report: { gradientSteps: steps, ...judged } };
    }
    return best;
  } finally {
    await Promise.all([trainer.release(), judge.release()]);
  }
}

async function runSteps(
  trainer: Trainer,
  state: Record<string, Float32Array>,
  data: WindowData,
  batch: number,
  before: number,
  count: number,
  lr: number,
  rng: Rng,
): Promise<Record<string, Float32Array>> {
  const { steps, inputDim, outputDim, windows, holdout } = data;
  const rows = steps * batch;
  const feeds = {
    inputs: new Float32Array(count * rows * inputDim),
    targets: new Float32Array(count * rows * outputDim),
    terminated: new Float32Array(count * rows),
    weight: new Float32Array(count * rows),
    alpha: new Float32Array(count),
    epsilon: new Float32Array(count),
  };
  for (let i = 0; i < count; i++) {
    const order = Array.from({ length: batch }, () => holdout + rng.int(windows - holdout));
    feedWindows(data, order, feeds, i * rows);
    const scalars = adamScalars(before + i + 1, lr);
    feeds.alpha[i] = scalars.alpha;
    feeds.epsilon[i] = scalars.epsilon;
  }
  return (await trainer.run({ state, perStep: feeds, steps: count })).state;
}

function latentTrainer(shape: LatentShape, config: LatentConfig, data: WindowData, batch: number): Promise<Trainer> {
  const layout = latentLayout(shape, config);
  const size = [layout.size];
  const rows = data.steps * batch;
  const column = (width: number) => ({ dtype: 'float32', shape: [rows, width] }) as const;
  const scalar = { dtype: 'float32', shape: [] } as const;
  return buildTrainer({
    name: 'latent',
    state: { theta: size, m: size, v: size },
    perStep: {
      inputs: column(shape.inputDim),
      targets: column(shape.outputDim),
      terminated: column(1),
      weight: column(1),
      alpha: scalar,
      epsilon: scalar,
    },
    body: ({ state, perStep }) => {
      const params = layout.unpack(state['theta']);
      const output = unrolled(params, perStep['inputs'], data.steps, batch, shape);
      const { targets, terminated, weight, alpha, epsilon } = perStep;
      const { loss } = windowLosses(output, targets, terminated, weight);
      const [slope] = gradients(add(loss, boundPenalty(params, config)), [state['theta']]);
      const grad = clipByGlobalNorm(slope, config.maxGradNorm);
      const { theta, m, v } = state;
      return { state: adamStep({ theta, m, v, grad, alpha, epsilon }), metrics: { loss } };
    },
  });
}

/** Over steps of weight 1: mean loss (per output), and mean squared error of each output. */
function windowLosses(
  { mean, logVar, logit }: LatentOutput,
  targets: Value,
  terminated: Value,
  weight: Value,
): { loss: Value; squaredError: Value } {
  const count = reduceSum(weight);
  const error = square(sub(mean, targets));
  const outputs = mean.shape[1] as number;
  const nll = div(reduceSum(mul(gaussianNll(error, logVar), weight)), mul(count, outputs));
  const squaredError = div(reduceSum(mul(error, weight), [0]), count);
  if (logit === undefined) return { loss: nll, squaredError };
  const crossEntropy = div(reduceSum(mul(sub(softplus(logit), mul(logit, terminated)), weight)), count);
  return { loss: add(nll, crossEntropy), squaredError };
}

interface Judge {
  evaluate(theta: Float32Array): Promise<{ holdoutLoss: number; holdoutMse: number[] }>;
  release(): Promise<void>;
}

/** Evaluates parameters on the windows held out. */
async function makeJudge(data: WindowData, shape: LatentShape, config: LatentConfig): Promise<Judge> {
  const { steps, holdout, inputDim, outputDim } = data;
  const layout = latentLayout(shape, config);
  const rows = steps * holdout;
  const graph = new Graph('judge');
  const params = layout.unpack(graph.input('theta', 'float32', [layout.size]));
  const input = (name: string, width: number) => graph.input(name, 'float32', [rows, width]);
  const output = unrolled(params, input('inputs', inputDim), steps, holdout, shape);
  const losses = windowLosses(output, input('targets', outputDim), input('terminated', 1), input('weight', 1));
  graph.output('loss', losses.loss);
  graph.output('squaredError', losses.squaredError);
  const session = await InferenceSession.fromBytes(graph.toModel());
  const order = Array.from({ length: holdout }, (_, w) => w);
  const columns = {
    inputs: new Float32Array(rows * inputDim),
    targets: new Float32Array(rows * outputDim),
    terminated: new Float32Array(rows),
    weight: new Float32Array(rows),
  };
  feedWindows(data, order, columns);
  const feeds = {
    inputs: float32(columns.inputs, [rows, inputDim]),
    targets: float32(columns.targets, [rows, outputDim]),
    terminated: float32(columns.terminated, [rows, 1]),
    weight: float32(columns.weight, [rows, 1]),
  };
  return {
    evaluate: async (theta) => {
      const { loss, squaredError } = await session.run({ ...feeds, theta: float32(theta) });
      return { holdoutLoss: Number(loss.data[0]), holdoutMse: Array.from(squaredError.data as Float32Array) };
    },
    release: () => session.release(),
  };
}
