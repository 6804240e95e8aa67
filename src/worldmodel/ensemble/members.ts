// A member of an ensemble: a network with a mean and a log-variance kept within learned bounds (PETS, Chua et al. 2018, 1805.12114,
// appendix A.1), its parameters, its losses, and how it is trained.

import { z } from 'zod';
import { WorkerPool } from '../../core/pool.js';
import { poolTask } from '../../core/pool-task.js';
import { Rng, type RngState } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import { concurrently, signalOf } from '../../core/threads.js';
import { gradients } from '../../nn/autodiff.js';
import { float32, Graph, type Value } from '../../nn/graph.js';
import {
  abs,
  add,
  exp,
  gather,
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
import { adamScalars, adamStep, mlp, mlpSpecs, ParamLayout } from '../../nn/parameters.js';
import { InferenceSession } from '../../nn/runtime.js';
import {
  buildTrainer,
  nativeMemberTrainer,
  type Trainer,
  type TrainerSpec,
  type TrainingDevice,
} from '../../nn/trainer.js';
import type { FitNote } from '../dynamics.js';
import { decayOfLayer, type EnsembleConfig } from './config.js';
import { localCopy, type MemberData, type Normaliser } from './dataset.js';

/** Sizes that decide a member's parameters. */
export interface MemberShape {
  readonly inputDim: number;
  /** Gaussian outputs: observation elements, then the reward if learned. */
  readonly outputDim: number;
  /** Whether there is a logit for the end by the task. */
  readonly termination: boolean;
  readonly hidden: readonly number[];
}

/** Of the network's parameters: `net.w0`, ... */
export const PREFIX = 'net';

/** Widths of a member's layers, input and heads included. */
export const sizesOf = ({ inputDim, hidden, outputDim, termination }: MemberShape): number[] => [
  inputDim,
  ...hidden,
  2 * outputDim + (termination ? 1 : 0),
];

/** Parameters of a member: `net.w0`, `net.b0`, ..., and the learned bounds of the log-variance. */
export function memberLayout(shape: MemberShape, config: Pick<EnsembleConfig, 'logVarMin' | 'logVarMax'>): ParamLayout {
  const bound = (name: 'logVarMax' | 'logVarMin') =>
    ({ name, shape: [shape.outputDim], init: { kind: 'constant', value: config[name] } }) as const;
  const network = mlpSpecs(PREFIX, sizesOf(shape), { kind: 'truncNormalFanIn' });
  return new ParamLayout([...network, bound('logVarMax'), bound('logVarMin')]);
}

/** Per parameter, the L2 penalty of its layer; zero for biases and bounds. */
export function decayVector(layout: ParamLayout, config: EnsembleConfig): Float32Array {
  const decay = new Float32Array(layout.size);
  for (let layer = 0; layer <= config.hidden.length; layer++) {
    layout.view(decay, `${PREFIX}.w${layer}`).fill(decayOfLayer(config, layer));
  }
  return decay;
}

/** What a member says of normalised inputs [rows, inputDim]: mean and logVar [rows, outputDim], logit [rows, 1] where it has one. */
function memberOutput(params: Record<string, Value>, x: Value, shape: MemberShape) {
  const { outputDim, termination, hidden } = shape;
  const y = mlp(params, PREFIX, x, hidden.length + 1, 'swish');
  const { logVarMax, logVarMin } = params;
  const below = sub(logVarMax, softplus(sub(logVarMax, slice(y, 1, outputDim, 2 * outputDim))));
  const logVar = add(logVarMin, softplus(sub(below, logVarMin)));
  const logit = termination ? slice(y, 1, 2 * outputDim, 2 * outputDim + 1) : undefined;
  return { mean: slice(y, 1, 0, outputDim), logVar, logit };
}

/**
 * Losses of a member's output against normalised targets [rows, outputDim] and ends [rows, 1] (0 or 1): mean negative log-likelihood
 * without its constant, doubled as in PETS, (y - mean)^2 / var + logVar; errors [rows, outputDim]; and mean cross-entropy of the
 * termination head, where there is one. Targets count by `weights` [outputDim].
 */
function memberLosses(
  { mean, logVar, logit }: ReturnType<typeof memberOutput>,
  target: Value,
  terminated: Value,
  weights: Value,
) {
  const crossEntropy = logit && reduceMean(sub(softplus(logit), mul(logit, terminated)));
  const error = sub(mean, target);
  const nll = add(mul(square(error), exp(neg(logVar))), logVar);
  return { nll: reduceMean(mul(nll, weights)), error, crossEntropy };
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
export const LEAST_VARIANCE = 1e-30;

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

/** Hold-out results of a member, in normalised units. */
export const memberReportSchema = z.strictObject({
  epochs: z.int(),
  gradientSteps: z.int(),
  /**
   * What early stopping and the choice of elites go by: mean of the absolute errors of outputs that change, and of the cross-entropy
   * of a learned end in units of its entropy. By squared errors a few rows that cannot be told (a joint that meets its limit) decide.
   */
  holdoutLoss: z.number(),
  /** Gaussian negative log-likelihood per output as PETS writes it: (y - mean)^2 / var + logVar. */
  holdoutNll: z.number(),
  /** Mean squared error of each output; 1 is as good as always predicting the mean. */
  holdoutMse: z.array(z.number()).readonly(),
  /** Cross-entropy of the termination head, where learned. */
  holdoutCrossEntropy: z.number().optional(),
});

type MemberReport = z.output<typeof memberReportSchema>;

export interface TrainedMember {
  /** Parameters with the lowest hold-out loss. */
  readonly theta: Float32Array;
  readonly report: MemberReport;
}

/** Gradient steps in one run: long enough to hide its cost, short enough to notice an abort. */
const STEPS_PER_RUN = 100;

/**
 * @param data  that of the task, in this thread's own memory
 * @throws what `signal` was aborted with, or NON_FINITE_VALUE if training diverged
 */
async function trainMember(
  { shape, config, initial, device, rng: stream }: TrainingTask,
  data: MemberData,
  signal: AbortSignal,
  onEpoch: (epoch: number, holdoutLoss: number) => void,
): Promise<TrainedMember> {
  const rng = Rng.fromState(stream);
  const layout = memberLayout(shape, config);
  const batchSize = Math.min(config.batchSize, data.rows - data.holdoutRows);
  const trainer = await memberTrainer(shape, config, batchSize, device);
  const judge = await makeJudge(data, shape, config);
  try {
    const { inputs, targets, terminated, weights } = data;
    const fed = { inputs, targets, terminated, weights, decay: decayVector(layout, config) };
    const zeros = () => new Float32Array(layout.size);
    const theta = initial?.slice() ?? layout.init(rng.split('weights'));
    const progress = new Progress(config, theta, await judge.evaluate(theta));
    const own = trainingRows(data, config, rng.split('bootstrap'));
    let state: Record<string, Float32Array> = { theta, m: zeros(), v: zeros() };
    let steps = 0;
    while (!progress.isFinished()) {
      const order = epochRows(own, batchSize, config, rng.split('epoch', progress.epochs));
      const total = Math.floor(order.length / batchSize);
      for (let done = 0; done < total; done += STEPS_PER_RUN) {
        signal.throwIfAborted();
        const count = Math.min(STEPS_PER_RUN, total - done);
        const rows = order.subarray(done * batchSize, (done + count) * batchSize);
        const scalars = Array.from({ length: count }, (_, i) => adamScalars(steps + i + 1, config.lr));
        const alpha = Float32Array.from(scalars, (one) => one.alpha);
        const epsilon = Float32Array.from(scalars, (one) => one.epsilon);
        const perStep = { rows, alpha, epsilon };
        ({ state } = await trainer.run({ state, inputs: fed, perStep, steps: count }));
        steps += count;
      }
      progress.record(state['theta'], await judge.evaluate(state['theta']));
      onEpoch(progress.epochs, progress.latest.holdoutLoss);
    }
    return { theta: progress.bestTheta, report: { epochs: progress.epochs, gradientSteps: steps, ...progress.best } };
  } finally {
    await Promise.all([trainer.release(), judge.release()]);
  }
}

type Judgement = Omit<MemberReport, 'epochs' | 'gradientSteps'>;

/** Remembers the best parameters and says when to stop (after MBPO: no improvement by 1 % for `patience` epochs). */
class Progress {
  epochs = 0;
  latest: Judgement;
  private sinceImprovement = 0;
  /** What the next loss is measured against: moves only with an improvement that counts. */
  private reference: number;

  constructor(
    private readonly config: EnsembleConfig,
    public bestTheta: Float32Array,
    public best: Judgement,
  ) {
    this.latest = best;
    this.reference = best.holdoutLoss;
  }

  record(theta: Float32Array, judgement: Judgement): void {
    this.epochs++;
    this.latest = judgement;
    if (judgement.holdoutLoss < this.best.holdoutLoss) {
      this.best = judgement;
      this.bestTheta = theta;
    }
    const isImproved = judgement.holdoutLoss < this.reference * (1 - this.config.improvement);
    if (isImproved) this.reference = judgement.holdoutLoss;
    this.sinceImprovement = isImproved ? 0 : this.sinceImprovement + 1;
  }

  isFinished(): boolean {
    return this.epochs >= this.config.maxEpochs || this.sinceImprovement >= this.config.patience;
  }
}

/** Gradient steps of one member; see `trainMember` for what is fed. Throws DEVICE_UNAVAILABLE. */
export async function memberTrainer(
  shape: MemberShape,
  config: EnsembleConfig,
  batchSize: number,
  device: TrainingDevice = 'cpu',
): Promise<Trainer> {
  const spec = memberSpec(shape, config, batchSize);
  const { logVarPenalty } = config;
  return device === 'native' ? nativeMemberTrainer(spec, { ...shape, batchSize, logVarPenalty }) : buildTrainer(spec);
}

function memberSpec(shape: MemberShape, config: EnsembleConfig, batchSize: number): TrainerSpec {
  const layout = memberLayout(shape, config);
  const { inputDim, outputDim } = shape;
  const size = [layout.size];
  return {
    name: 'member',
    state: { theta: size, m: size, v: size },
    inputs: {
      inputs: { dtype: 'float32', shape: ['rows', inputDim] },
      targets: { dtype: 'float32', shape: ['rows', outputDim] },
      terminated: { dtype: 'float32', shape: ['rows', 1] },
      weights: { dtype: 'float32', shape: [outputDim] },
      decay: { dtype: 'float32', shape: size },
    },
    perStep: {
      rows: { dtype: 'int32', shape: [batchSize] },
      alpha: { dtype: 'float32', shape: [] },
      epsilon: { dtype: 'float32', shape: [] },
    },
    body: ({ state, inputs, perStep }) => {
      const params = layout.unpack(state.theta);
      const pick = (column: string) => gather(inputs[column], perStep.rows, 0);
      const output = memberOutput(params, pick('inputs'), shape);
      const { nll, crossEntropy } = memberLosses(output, pick('targets'), pick('terminated'), inputs['weights']);
      // The pull on the learned bounds.
      const sum = (bound: Value) => reduceSum(mul(bound, inputs['weights']));
      const penalty = mul(sub(sum(params['logVarMax']), sum(params['logVarMin'])), config.logVarPenalty);
      const loss = add(crossEntropy ? add(nll, crossEntropy) : nll, penalty);
      const [slope] = gradients(loss, [state.theta]);
      const grad = add(slope, mul(inputs.decay, state.theta));
      const { alpha, epsilon } = perStep;
      const { theta, m, v } = state;
      return { state: adamStep({ theta, m, v, grad, alpha, epsilon }), metrics: { nll } };
    },
  };
}

/** Evaluates parameters on the hold-out rows. */
async function makeJudge(data: MemberData, shape: MemberShape, config: EnsembleConfig) {
  const { holdoutRows: rows, inputDim, outputDim } = data;
  const session = await InferenceSession.fromBytes(judgingGraph(shape, config).toModel());
  const feeds = {
    inputs: float32(data.inputs.subarray(0, rows * inputDim), [rows, inputDim]),
    targets: float32(data.targets.subarray(0, rows * outputDim), [rows, outputDim]),
    terminated: float32(data.terminated.subarray(0, rows), [rows, 1]),
    weights: float32(data.weights, [outputDim]),
  };
  const entropy = endEntropy(data);
  return {
    evaluate: async (theta: Float32Array): Promise<Judgement> => {
      const results = await session.run({ ...feeds, theta: float32(theta) });
      const holdoutMse = Array.from(results['squaredError'].data as Float32Array);
      const crossEntropy = results['crossEntropy'] && Number(results['crossEntropy'].data[0]);
      const errors = Array.from(results['absoluteError'].data as Float32Array);
      const counted = errors.filter((_, output) => data.weights[output] > 0);
      if (crossEntropy !== undefined) counted.push(crossEntropy / entropy);
      const holdoutLoss = counted.length === 0 ? LEAST_ERROR : mean(counted.map((e) => Math.max(e, LEAST_ERROR)));
      const holdoutNll = Number(results['nll'].data[0]);
      const ends = crossEntropy === undefined ? {} : { holdoutCrossEntropy: crossEntropy };
      return { holdoutLoss, holdoutNll, holdoutMse, ...ends };
    },
    release: () => session.release(),
  };
}

/** What guessing an end by its share alone costs, nats a row; rows that never or always end count as one in their number. */
function endEntropy({ ends, rows }: MemberData): number {
  const share = Math.min(Math.max(ends, 1), rows - 1) / rows;
  return -(share * Math.log(share) + (1 - share) * Math.log(1 - share));
}

/** Errors below a thousandth of a standard deviation count as that: nothing is gained by chasing them. */
const LEAST_ERROR = 1e-3;

function judgingGraph(shape: MemberShape, config: EnsembleConfig): Graph {
  const layout = memberLayout(shape, config);
  const graph = new Graph('judge');
  const params = layout.unpack(graph.input('theta', 'float32', [layout.size]));
  const output = memberOutput(params, graph.input('inputs', 'float32', ['rows', shape.inputDim]), shape);
  const targets = graph.input('targets', 'float32', ['rows', shape.outputDim]);
  const terminated = graph.input('terminated', 'float32', ['rows', 1]);
  const weights = graph.input('weights', 'float32', [shape.outputDim]);
  const losses = memberLosses(output, targets, terminated, weights);
  graph.output('nll', losses.nll);
  graph.output('squaredError', reduceMean(square(losses.error), [0]));
  graph.output('absoluteError', reduceMean(abs(losses.error), [0]));
  if (losses.crossEntropy) graph.output('crossEntropy', losses.crossEntropy);
  return graph;
}

/** Indices of the member's training rows: all of them, or as many drawn with replacement. */
function trainingRows({ rows, holdoutRows }: MemberData, { bootstrap }: EnsembleConfig, rng: Rng): Int32Array {
  const count = rows - holdoutRows;
  return Int32Array.from({ length: count }, (_, i) => holdoutRows + (bootstrap ? rng.int(count) : i));
}

/** One pass over the rows in random order, or as many passes as `minEpochSteps` takes. */
function epochRows(rows: Int32Array, batchSize: number, { minEpochSteps }: EnsembleConfig, rng: Rng): Int32Array {
  const steps = Math.floor(rows.length / batchSize);
  const passes = Math.ceil(minEpochSteps / steps);
  const order = new Int32Array(passes * steps * batchSize);
  for (let pass = 0; pass < passes; pass++) {
    const drawn = (pass === 0 ? rng : rng.split('pass', pass)).permutation(rows.length).subarray(0, steps * batchSize);
    order.set(
      drawn.map((index) => rows[index]),
      pass * steps * batchSize,
    );
  }
  return order;
}

/** One member to train. `data` lies in shared memory, so sending it copies nothing. */
export interface TrainingTask {
  /** Same for all members of one fit: a thread copies the data once for it. */
  readonly fit: string;
  readonly member: number;
  readonly data: MemberData;
  readonly shape: MemberShape;
  readonly config: EnsembleConfig;
  /** The member's own stream. */
  readonly rng: RngState;
  /** Parameters of a warm start. */
  readonly initial?: Float32Array;
  /** What its gradient steps run on; ONNX Runtime unless given. */
  readonly device?: TrainingDevice;
}

export interface TrainingOptions {
  /**
   * Members trained at a time, each in a worker thread; 0 trains in the calling thread. Steps of vector code are done off the
   * calling thread anyway, so these need no worker threads.
   */
  readonly workers: number;
  /** After every epoch of every member; with several workers, members are interleaved. */
  readonly onProgress?: (progress: FitNote) => void;
  /** Ends training at the next hundred gradient steps with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** The data of the fit that this thread worked for last, in its own memory. */
let local: { fit: string; data: MemberData } | undefined;

export const trainingTask = poolTask(
  import.meta.url,
  'trainingTask',
  async (task: TrainingTask, { stop, report }): Promise<TrainedMember> => {
    if (local?.fit !== task.fit) local = { fit: task.fit, data: localCopy(task.data) };
    const { signal, done } = signalOf(stop);
    try {
      return await trainMember(task, local.data, signal, (epoch, holdoutLoss) => report({ epoch, holdoutLoss }));
    } finally {
      done();
    }
  },
);

/** The trained members, in the order of the tasks. @throws SETTING_INVALID, and what training throws */
export async function trainMembers(
  tasks: readonly TrainingTask[],
  { workers, onProgress, signal }: TrainingOptions,
): Promise<TrainedMember[]> {
  const isOffThread = tasks.every(({ device }) => device === 'native');
  const pool = new WorkerPool({ workers: isOffThread ? 0 : Math.min(workers, tasks.length) });
  const failed = new AbortController();
  const either = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  let epochs = 0;
  const train = (task: TrainingTask): Promise<TrainedMember> => {
    const onReport = (note: unknown) => {
      const { epoch, holdoutLoss } = note as { readonly epoch: number; readonly holdoutLoss: number };
      onProgress?.({ member: task.member, epoch, epochs: ++epochs, holdoutError: Math.sqrt(holdoutLoss) });
    };
    const label = `member ${task.member} of an ensemble`;
    return pool.run(trainingTask, () => task, { signal: either, onReport, label });
  };
  try {
    signal?.throwIfAborted();
    return await concurrently(tasks, Math.max(1, workers), train, () => failed.abort());
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  } finally {
    await pool.close();
    local = undefined;
  }
}
