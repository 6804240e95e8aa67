// From transitions to what members train on: encoded and normalised rows, the hold-out first, in memory threads can share.

import type { KnownFunctions } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import { joinedFloats, mean, median, sampleDeviation } from '../../core/statistics.js';
import type { EnvSpec } from '../../env/env-spec.js';
import { describeSpace } from '../../env/space-values.js';
import type { TrainingDevice } from '../../nn/trainer.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import type { TransitionBatch } from '../../replay/transition.js';
import type { Outcome } from '../answer.js';
import type { HeldOutFigures, HeldOutReport } from '../dynamics.js';
import { settingInvalid } from '../errors.js';
import { checkTrainingData, rowEncoder, rowShape, type Spaces } from '../model-folder.js';
import { seenRange } from '../seen-range.js';
import {
  type EnsembleConfig,
  type EnsembleConfigInput,
  type EnsembleSection,
  parseEnsembleConfig,
  settleEnsembleConfig,
} from './config.js';
import {
  type EnsembleDescription,
  EnsembleModel,
  type FitReport,
  memberModels,
  memberShapeOf,
} from './ensemble-model.js';
import {
  memberLayout,
  renormalise,
  type TrainedMember,
  type TrainingOptions,
  type TrainingTask,
  trainMembers,
} from './members.js';

/** Normalised rows; [0, holdoutRows) are never trained on. Columns lie in SharedArrayBuffers. */
export interface MemberData {
  readonly rows: number;
  readonly holdoutRows: number;
  readonly inputDim: number;
  readonly outputDim: number;
  /** [rows, inputDim] */
  readonly inputs: Float32Array;
  /** [rows, outputDim]: change of the observation, then the reward where learned, without what an end adds to it. */
  readonly targets: Float32Array;
  /** [outputDim]: what each target counts; 0 for one that never changes, else such that they sum to their number. */
  readonly weights: Float32Array;
  /** [rows, 1]: 1 where the task ended. */
  readonly terminated: Float32Array;
  /** Rows where it did. */
  readonly ends: number;
}

export interface PreparedData {
  readonly data: MemberData;
  readonly normaliser: Normaliser;
  /** Rows of the batch that were held out. */
  readonly heldOut: Uint32Array;
  /** What an end by the task adds to a learned reward; 0 where that is not known to jump. */
  readonly endReward: number;
}

/**
 * Splits at random (by `rng.split('holdout')`), encodes and normalises with the moments of the training rows.
 * Throws DATA_MISMATCH or NON_FINITE_VALUE for data nothing can be learned from.
 */
export function prepareData(batch: TransitionBatch, spaces: Spaces, config: EnsembleConfig, rng: Rng): PreparedData {
  const shape = rowShape(spaces);
  checkTrainingData('ensemble', batch, spaces);
  const { rows } = batch;
  const outputDim = shape.obsDim + (config.learnReward ? 1 : 0);
  const holdoutRows = holdoutOf(rows, config);
  const order = rng.split('holdout').permutation(rows);
  const inputs = shared(rows * shape.inputDim);
  rowEncoder(spaces)(batch.obs, batch.action, order, 0, rows, inputs);
  const endReward = config.learnReward ? endJump(batch) : 0;
  const targets = targetsOf(batch, order, shape.obsDim, outputDim, endReward);
  const terminated = shared(rows);
  for (let r = 0; r < rows; r++) terminated[r] = batch.terminated[order[r]];
  const isOneHot = spaces.actionSpace.type === 'discrete';
  const target = momentsOf(targets, outputDim, holdoutRows, rows);
  const constant = constantColumns(targets, outputDim, target);
  const normaliser: Normaliser = {
    input: momentsOf(inputs, shape.inputDim, holdoutRows, rows, isOneHot ? shape.obsDim : shape.inputDim),
    target,
    ...(constant.length > 0 && { constant }),
  };
  normalise(inputs, shape.inputDim, normaliser.input);
  normalise(targets, outputDim, normaliser.target);
  const weights = weightsOf(outputDim, constant);
  const columns = { inputs, targets, weights, terminated, ends: countOf(terminated) };
  const data = { rows, holdoutRows, inputDim: shape.inputDim, outputDim, ...columns };
  return { data, normaliser, heldOut: order.slice(0, holdoutRows), endReward };
}

function holdoutOf(rows: number, { holdout, holdoutMaxRows }: EnsembleConfig): number {
  return Math.max(1, Math.min(Math.floor(rows * holdout), holdoutMaxRows, rows - 1));
}

function countOf(flags: Float32Array): number {
  let count = 0;
  for (const flag of flags) count += flag;
  return count;
}

function weightsOf(outputDim: number, constant: readonly number[]): Float32Array {
  const varied = Math.max(1, outputDim - constant.length);
  const weights = shared(outputDim).fill(outputDim / varied);
  for (const column of constant) weights[column] = 0;
  return weights;
}

/** The same data in this thread's own memory: ONNX Runtime refuses shared memory. */
export function localCopy(data: MemberData): MemberData {
  const { inputs, targets, weights, terminated } = data;
  return {
    ...data,
    inputs: inputs.slice(),
    targets: targets.slice(),
    weights: weights.slice(),
    terminated: terminated.slice(),
  };
}

function targetsOf(
  batch: TransitionBatch,
  order: Uint32Array,
  obsDim: number,
  outputDim: number,
  endReward: number,
): Float32Array {
  const targets = shared(batch.rows * outputDim);
  for (let r = 0; r < batch.rows; r++) {
    const from = order[r] * obsDim;
    for (let j = 0; j < obsDim; j++) targets[r * outputDim + j] = batch.nextObs[from + j] - batch.obs[from + j];
    if (outputDim === obsDim) continue;
    targets[r * outputDim + obsDim] = batch.reward[order[r]] - batch.terminated[order[r]] * endReward;
  }
  return targets;
}

function shared(length: number): Float32Array {
  return new Float32Array(new SharedArrayBuffer(length * 4));
}

// Means and scales that bring network inputs and targets to zero mean and unit variance. Plain numbers, JSON-safe.

/** Per element: normalised = (value - mean) / scale. */
export interface Moments {
  readonly mean: readonly number[];
  readonly scale: readonly number[];
}

export interface Normaliser {
  /** Observation elements, then action elements; one-hot actions are left as they are. */
  readonly input: Moments;
  /** Change of each observation element, then the reward where it is learned. */
  readonly target: Moments;
  /** Targets that never change: they are answered as they are and take no part in what is learned. Absent where none. */
  readonly constant?: readonly number[];
}

/**
 * Moments of the first `columns` columns of `data` [rows, width] over rows [first, rows); identity for the others.
 * A column that never changes gets scale 1, so that it stays finite and predictable.
 */
export function momentsOf(data: Float32Array, width: number, first: number, rows: number, columns = width): Moments {
  const sums = new Float64Array(width);
  const squares = new Float64Array(width);
  const count = rows - first;
  for (let r = first; r < rows; r++) for (let j = 0; j < columns; j++) sums[j] += data[r * width + j];
  const mean = Array.from(sums, (sum, j) => (j < columns ? sum / count : 0));
  for (let r = first; r < rows; r++)
    for (let j = 0; j < columns; j++) squares[j] += (data[r * width + j] - mean[j]) ** 2;
  const deviations = Array.from(squares, (sum) => Math.sqrt(sum / count));
  return {
    mean,
    scale: deviations.map((deviation, j) => (j < columns && isVaried(deviation, mean[j]) ? deviation : 1)),
  };
}

/** Below float32 resolution of a column there is only rounding noise, which must not be blown up to one. */
function isVaried(deviation: number, mean: number): boolean {
  return deviation > 1e-6 * Math.max(Math.abs(mean), 1e-6);
}

/** Columns of `data` [rows, width] that have one value in all rows, rounding apart. */
export function constantColumns(data: Float32Array, width: number, { mean }: Pick<Moments, 'mean'>): number[] {
  return mean.flatMap((value, j) => {
    for (let at = j; at < data.length; at += width) {
      if (isVaried(Math.abs(data[at] - value), value)) return [];
    }
    return [j];
  });
}

/** Normalises `data` [rows, width] in place. */
export function normalise(data: Float32Array, width: number, { mean, scale }: Moments): void {
  for (let at = 0; at < data.length; at += width) {
    for (let j = 0; j < width; j++) data[at + j] = (data[at + j] - mean[j]) / scale[j];
  }
}

/** Ends that are compared with their neighbours, and rows among which neighbours are sought, at most. */
const ENDS = 200;
const ROWS = 4000;

/** Jumps below this share of the rewards' deviation are not told from noise, and left to the network. */
const LEAST = 0.25;

/**
 * The median, over rows that end, of their reward less that of the most similar row that goes on (by next observation and
 * action, in units of deviations); 0 where nothing ends, everything does, or the difference is small.
 */
export function endJump({ rows, reward, terminated, nextObs, action }: TransitionBatch): number {
  const [obsDim, actionDim] = [nextObs.length / rows, action.length / rows];
  const row = (r: number) =>
    Float64Array.from({ length: obsDim + actionDim }, (_, j) =>
      j < obsDim ? nextObs[r * obsDim + j] : action[r * actionDim + j - obsDim],
    );
  const ended = newest(terminated, 1, ENDS);
  const living = newest(terminated, 0, ROWS);
  if (ended.length === 0 || living.length === 0) return 0;
  const others = living.map((r) => row(r));
  const scale = scaleOf(others);
  const differences = ended.map((r) => {
    const own = row(r);
    let [best, nearest] = [0, Number.POSITIVE_INFINITY];
    for (const [i, other] of others.entries()) {
      const distance = distanceBelow(nearest, own, other, scale);
      if (distance < nearest) [best, nearest] = [i, distance];
    }
    return reward[r] - reward[living[best]];
  });
  const jump = median(differences);
  return Math.abs(jump) > LEAST * sampleDeviation(reward) ? jump : 0;
}

/** The newest rows whose flag is `terminated`. */
function newest(flags: Uint8Array, terminated: 0 | 1, most: number): number[] {
  const found: number[] = [];
  for (let r = flags.length - 1; r >= 0 && found.length < most; r--) if (flags[r] === terminated) found.push(r);
  return found;
}

/** One over the variance of each element. */
function scaleOf(rows: readonly Float64Array[]): Float64Array {
  return rows[0].map((_, j) => 1 / Math.max(sampleDeviation(rows.map((values) => values[j])), 1e-9) ** 2);
}

/** Squared distance, or anything not below `limit` where it is not below that. */
function distanceBelow(limit: number, a: Float64Array, b: Float64Array, scale: Float64Array): number {
  let sum = 0;
  for (let j = 0; j < a.length && sum < limit; j++) sum += scale[j] * (a[j] - b[j]) ** 2;
  return sum;
}

export interface FitOptions extends Partial<TrainingOptions> {
  /** Member i trains on `rng.split('member', i)`; the hold-out is `rng.split('holdout')`. The stream itself does not advance. */
  readonly rng: Rng;
  /** Warm start: its weights, brought to the new data's normaliser without changing what they compute. */
  readonly previous?: EnsembleModel;
  /** Exact reward and end, where settings do not ask to learn them. */
  readonly known?: KnownFunctions;
  /** The environment that has `known`; without it the model can neither be saved nor sent to workers. */
  readonly env?: EnvSpec;
  /** What gradient steps run on; ONNX Runtime unless given. The bytes of a fit are those of its device. */
  readonly device?: TrainingDevice;
}

/**
 * Fits an ensemble to a batch, or to all rows of a buffer. The same data, settings and stream give the same bytes for any number of workers.
 * Throws SETTING_INVALID, DATA_MISMATCH, SCENARIO_UNFIT, NON_FINITE_VALUE, or the reason of `signal`.
 */
export async function fitEnsemble(
  data: TransitionBatch | ReplayBuffer,
  spaces: Spaces,
  settings: EnsembleConfigInput,
  options: FitOptions,
): Promise<{ model: EnsembleModel; report: FitReport; heldOutRows: Uint32Array; heldOut: () => HeldOutReport }> {
  const section = parseEnsembleConfig(settings);
  const { observationSpace, actionSpace } = spaces;
  requireBox(spaces);
  const { known = {}, env, previous, rng } = options;
  const batch = data instanceof ReplayBuffer ? data.rows() : data;
  const hasEnds = batch.terminated.includes(1);
  const config = settleEnsembleConfig(section, { spaces, rows: batch.rows, hasEnds, known });
  const outcome = outcomeOf(hasEnds, config, known);
  const own = { observationSpace, actionSpace };
  const prepared = prepareData(batch, own, config, rng);
  const initial = previous && warmStart(previous, spaces, config, prepared, section);
  const workers = options.workers ?? 0;
  const { device } = options;
  const tasks = tasksOf(prepared, spaces, config, rng, initial).map((task) => ({ ...task, device }));
  const trained = await trainMembers(tasks, { ...options, workers });
  const report = reportOf(trained, prepared, config, initial !== undefined);
  const elites = report.elites;
  const { normaliser } = prepared;
  const description: EnsembleDescription = {
    observationSpace,
    actionSpace,
    config,
    normaliser,
    elites,
    outcome,
    env,
    report,
    ...(prepared.endReward !== 0 && { endReward: prepared.endReward }),
    seen: seenRange(batch, rowShape(spaces).obsDim),
  };
  const thetas = trained.map(({ theta }) => theta);
  const contents = { description, models: memberModels(description, thetas), parameters: joinedFloats(thetas) };
  const heldOut = () => judgeHeldOut(prepared, report, config);
  return { model: await EnsembleModel.open(contents, known), report, heldOutRows: prepared.heldOut, heldOut };
}

function requireBox({ observationSpace }: Spaces): void {
  if (observationSpace.type === 'box') return;
  const hint = 'Encode discrete observations as a box.';
  throw reverieError('SCENARIO_UNFIT', {
    problem: `The ensemble cannot use ${`observations ${describeSpace(observationSpace)}`}.`,
    hint,
  });
}

function outcomeOf(terminates: boolean, config: EnsembleConfig, known: KnownFunctions): Outcome {
  if (!config.learnReward && !known.reward) {
    throw settingInvalid('learnReward is false, but no known reward function is given.');
  }
  const reward = config.learnReward ? 'learned' : 'known';
  if (config.learnTermination) return { reward, terminated: 'learned' };
  if (known.terminated) return { reward, terminated: 'known' };
  if (terminates) {
    const problem = 'learnTermination is false and no known function is given, but some transitions end by the task.';
    throw settingInvalid(problem);
  }
  return { reward, terminated: 'never' };
}

function tasksOf(
  { data }: PreparedData,
  spaces: Spaces,
  config: EnsembleConfig,
  rng: Rng,
  initial: readonly Float32Array[] | undefined,
): TrainingTask[] {
  const shape = memberShapeOf(spaces, config);
  const fit = rng.split('fit').state().key.join('-');
  return Array.from({ length: config.members }, (_, member) => {
    const stream = rng.split('member', member).state();
    return { fit, member, data, shape, config, rng: stream, initial: initial?.[member] };
  });
}

/**
 * The previous members' parameters, computing the same function under the new normaliser; none where the data that came since
 * settled what was left open in another way, such as an end that must now be learnt.
 */
function warmStart(
  previous: EnsembleModel,
  spaces: Spaces,
  config: EnsembleConfig,
  { normaliser }: PreparedData,
  { learnTermination }: EnsembleSection,
): Float32Array[] | undefined {
  const { description, parameters } = previous;
  const shape = memberShapeOf(spaces, config);
  const layout = memberLayout(shape, config);
  const before = memberShapeOf(description, description.config);
  if (
    !parameters ||
    JSON.stringify(before) !== JSON.stringify(shape) ||
    description.config.members !== config.members
  ) {
    if (parameters && learnTermination === 'auto' && before.termination !== shape.termination) return undefined;
    const problem = parameters
      ? 'the previous model has other spaces, members, hidden layers or heads; a warm start needs the same.'
      : 'the previous model is revived from a snapshot and has no parameters to start from; load it from its folder.';
    throw settingInvalid(problem);
  }
  return Array.from({ length: config.members }, (_, member) => {
    const theta = parameters.slice(member * layout.size, (member + 1) * layout.size);
    renormalise(theta, layout, shape, description.normaliser, normaliser);
    return theta;
  });
}

function reportOf(
  trained: readonly TrainedMember[],
  { data }: PreparedData,
  config: EnsembleConfig,
  isWarmStart: boolean,
): FitReport {
  const members = trained.map(({ report }) => report);
  const elites = members
    .map((_, member) => member)
    .sort((a, b) => members[a].holdoutLoss - members[b].holdoutLoss || a - b)
    .slice(0, config.elites);
  // Of the outputs that change; the reward's error is one of its own.
  const { outputDim, weights } = data;
  const rewardAt = config.learnReward && weights[outputDim - 1] > 0 ? outputDim - 1 : -1;
  const errors = elites.flatMap((member) =>
    members[member].holdoutMse.filter(
      (_, output) => weights[output] > 0 && !(config.learnReward && output === outputDim - 1),
    ),
  );
  const rewardErrors = elites.flatMap((member) => (rewardAt < 0 ? [] : [members[member].holdoutMse[rewardAt]]));
  return {
    rows: data.rows,
    holdoutRows: data.holdoutRows,
    epochs: Math.max(...members.map(({ epochs }) => epochs)),
    gradientSteps: members.reduce((sum, { gradientSteps }) => sum + gradientSteps, 0),
    holdoutError: rootMean(errors),
    ...(rewardErrors.length > 0 && { rewardError: rootMean(rewardErrors) }),
    isWarmStart,
    elites,
    members,
  };
}

/** 0 for none: where nothing changes there is nothing to be wrong about. */
function rootMean(squares: readonly number[]): number {
  return squares.length === 0 ? 0 : Math.sqrt(mean(squares));
}

/** Training rows the linear model is fitted to, at most: it has few parameters. */
const LINEAR_ROWS = 20_000;

/** Keeps the linear model's equations solvable where inputs depend on each other. */
const RIDGE = 1e-6;

/** Variance, in training units, below which an element never changed on the held-out rows. */
const CONSTANT = 1e-8;

/** Squared errors and the log-likelihood of each element. */
interface Errors {
  readonly mse: readonly number[];
  /** Mean over elements, nats; a Gaussian of the training errors' variance, or the members' own. */
  readonly logLikelihood: number;
}

export function judgeHeldOut(
  { data, normaliser }: PreparedData,
  report: FitReport,
  config: EnsembleConfig,
): HeldOutReport {
  const { outputDim, holdoutRows, targets } = data;
  const spread = Array.from({ length: outputDim }, (_, k) => meanSquare(targets, outputDim, k, 0, holdoutRows));
  const ground = {
    model: modelErrors(report, outputDim),
    linear: errorsOf(data, linearPredictions(data)),
    unchanged: errorsOf(data, unchangedPredictions(data, normaliser.target, config)),
  };
  const r2 = ({ mse }: Errors, k: number) => (spread[k] < CONSTANT ? null : 1 - mse[k] / spread[k]);
  const figures = <T>(of: (errors: Errors) => T): HeldOutFigures<T> => ({
    model: of(ground.model),
    linear: of(ground.linear),
    unchanged: of(ground.unchanged),
  });
  return {
    rows: holdoutRows,
    membersAtMaxEpochs: report.members.filter(({ epochs }) => epochs >= config.maxEpochs).length,
    members: report.members.length,
    maxEpochs: config.maxEpochs,
    logLikelihood: figures(({ logLikelihood }) => logLikelihood),
    elements: spread.map((_, k) => ({
      element: config.learnReward && k === outputDim - 1 ? 'reward' : `obs[${k}]`,
      r2: figures((errors) => r2(errors, k)),
    })),
  };
}

/** The elites, each on its own. */
function modelErrors({ members, elites }: FitReport, outputDim: number): Errors {
  const average = (of: (member: number) => number) => elites.reduce((sum, elite) => sum + of(elite), 0) / elites.length;
  return {
    mse: Array.from({ length: outputDim }, (_, k) => average((elite) => members[elite].holdoutMse[k])),
    logLikelihood: fromPets(average((elite) => members[elite].holdoutNll)),
  };
}

/** PETS leaves out the constant and the half: (y - mean)^2 / variance + log variance. */
function fromPets(nll: number): number {
  return -(nll + Math.log(2 * Math.PI)) / 2;
}

/** Of predictions for all rows [rows, outputDim]: the error on held-out rows, its variance taken from the others. */
function errorsOf({ rows, holdoutRows, outputDim, targets, weights }: MemberData, predicted: Float64Array): Errors {
  const residual = Float64Array.from(predicted, (value, i) => targets[i] - value);
  const used = predicted.length / outputDim;
  const mse: number[] = [];
  let nll = 0;
  for (let k = 0; k < outputDim; k++) {
    mse.push(meanSquare(residual, outputDim, k, 0, holdoutRows));
    const variance = Math.max(CONSTANT, meanSquare(residual, outputDim, k, holdoutRows, Math.min(rows, used)));
    nll += (weights[k] * (mse[k] / variance + Math.log(variance))) / outputDim;
  }
  return { mse, logLikelihood: fromPets(nll) };
}

/** A change of zero; the mean of the rewards, as no last reward is known. */
function unchangedPredictions(
  { outputDim, holdoutRows, rows }: MemberData,
  { mean, scale }: PreparedData['normaliser']['target'],
  { learnReward }: EnsembleConfig,
): Float64Array {
  const still = mean.map((value, k) => (learnReward && k === outputDim - 1 ? 0 : -value / scale[k]));
  const used = Math.min(rows, holdoutRows + LINEAR_ROWS);
  return Float64Array.from({ length: used * outputDim }, (_, i) => still[i % outputDim]);
}

/** Least squares of the targets on the inputs and a constant. */
function linearPredictions(data: MemberData): Float64Array {
  const { inputs, targets, inputDim, outputDim, rows, holdoutRows } = data;
  const used = Math.min(rows, holdoutRows + LINEAR_ROWS);
  const width = inputDim + 1;
  const row = (r: number, i: number) => (i === inputDim ? 1 : inputs[r * inputDim + i]);
  // Each row of the equations: products of an input with all inputs, then with all targets.
  const equations = Array.from({ length: width }, () => new Float64Array(width + outputDim));
  for (let r = holdoutRows; r < used; r++) {
    for (let i = 0; i < width; i++) {
      const left = row(r, i);
      for (let j = 0; j < width; j++) equations[i][j] += left * row(r, j);
      for (let k = 0; k < outputDim; k++) equations[i][width + k] += left * targets[r * outputDim + k];
    }
  }
  for (let i = 0; i < width; i++) equations[i][i] += RIDGE * (used - holdoutRows);
  solve(equations);
  const predicted = new Float64Array(used * outputDim);
  for (let r = 0; r < used; r++) {
    for (let k = 0; k < outputDim; k++) {
      for (let i = 0; i < width; i++) predicted[r * outputDim + k] += row(r, i) * equations[i][width + k];
    }
  }
  return predicted;
}

/** Gauss and Jordan, in place: the left square becomes the identity. It is symmetric and positive, so no row is exchanged. */
function solve(equations: readonly Float64Array[]): void {
  for (const [pivot, row] of equations.entries()) {
    const scale = row[pivot];
    for (let j = 0; j < row.length; j++) row[j] /= scale;
    for (const [other, target] of equations.entries()) {
      const factor = target[pivot];
      if (other === pivot || factor === 0) continue;
      for (let j = 0; j < row.length; j++) target[j] -= factor * row[j];
    }
  }
}

function meanSquare(values: ArrayLike<number>, width: number, column: number, first: number, end: number): number {
  let sum = 0;
  for (let r = first; r < end; r++) sum += values[r * width + column] ** 2;
  return sum / (end - first);
}
