// Fits an ensemble: members are trained on prepared rows, and held against a linear model and "nothing changes" on those held out.

import type { KnownFunctions } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import { joinedFloats, mean } from '../../core/statistics.js';
import type { EnvSpec } from '../../env/environments.js';
import { describeSpace } from '../../env/space-values.js';
import type { TrainingDevice } from '../../nn/trainer.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import type { TransitionBatch } from '../../replay/transition.js';
import type { Outcome } from '../answer.js';
import { type HeldOutReport, type Spaces, settingInvalid } from '../dynamics.js';
import { rowShape } from '../model-folder.js';
import { seenRange } from '../seen-range.js';
import {
  type EnsembleConfig,
  type EnsembleConfigInput,
  type EnsembleSection,
  parseEnsembleConfig,
  settleEnsembleConfig,
} from './config.js';
import { type EnsembleDescription, type FitReport, memberModels, memberShapeOf } from './contents.js';
import { type MemberData, type PreparedData, prepareData } from './dataset.js';
import { EnsembleModel } from './ensemble-model.js';
import {
  memberLayout,
  renormalise,
  type TrainedMember,
  type TrainingOptions,
  type TrainingTask,
  trainMembers,
} from './members.js';

interface FitOptions extends Partial<TrainingOptions> {
  /** Member i trains on `rng.split('member', i)`. The stream itself does not advance. */
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
): Promise<{ model: EnsembleModel; report: FitReport; heldOut: () => HeldOutReport }> {
  const section = parseEnsembleConfig(settings);
  const { observationSpace, actionSpace } = spaces;
  if (observationSpace.type !== 'box') {
    throw reverieError('SCENARIO_UNFIT', {
      problem: `The ensemble cannot use observations ${describeSpace(observationSpace)}.`,
      hint: 'Encode discrete observations as a box.',
    });
  }
  const { known = {}, env, previous, rng } = options;
  const batch = data instanceof ReplayBuffer ? data.rows() : data;
  const hasEnds = batch.terminated.includes(1);
  const config = settleEnsembleConfig(section, { spaces, rows: batch.rows, hasEnds, known });
  const outcome = outcomeOf(hasEnds, config, known);
  const own = { observationSpace, actionSpace };
  const prepared = prepareData(batch, own, config, data instanceof ReplayBuffer ? data.columns() : undefined);
  const initial = previous && warmStart(previous, spaces, config, prepared, section);
  const { data: rows, normaliser } = prepared;
  const { workers = 0, device } = options;
  const shape = memberShapeOf(spaces, config);
  const fit = rng.split('fit').state().key.join('-');
  const tasks = Array.from({ length: config.members }, (_, member): TrainingTask => {
    const stream = rng.split('member', member).state();
    return { fit, member, data: rows, shape, config, rng: stream, initial: initial?.[member], device };
  });
  const trained = await trainMembers(tasks, { ...options, workers });
  const report = reportOf(trained, prepared, config, initial !== undefined);
  const description: EnsembleDescription = {
    ...own,
    ...{ config, normaliser, elites: report.elites, outcome, env, report },
    ...(prepared.endReward !== 0 && { endReward: prepared.endReward }),
    seen: seenRange(batch, rowShape(spaces).obsDim),
  };
  const thetas = trained.map(({ theta }) => theta);
  const contents = { description, models: memberModels(description, thetas), parameters: joinedFloats(thetas) };
  const heldOut = () => judgeHeldOut(prepared, report, config);
  return { model: await EnsembleModel.open(contents, known), report, heldOut };
}

function outcomeOf(terminates: boolean, config: EnsembleConfig, known: KnownFunctions): Outcome {
  if (!config.learnReward && !known.reward) {
    throw settingInvalid('learnReward is false, and no known reward function is given; leave it auto.');
  }
  const reward = config.learnReward ? 'learned' : 'known';
  if (config.learnTermination) return { reward, terminated: 'learned' };
  if (known.terminated) return { reward, terminated: 'known' };
  if (terminates) {
    const problem = 'learnTermination is false, and no known function is given, but some transitions end by the task';
    throw settingInvalid(`${problem}; leave it auto.`);
  }
  return { reward, terminated: 'never' };
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
  const before = { members: description.config.members, ...memberShapeOf(description, description.config) };
  const [theirs, ours] = [before, { members: config.members, ...shape }].map((one) => JSON.stringify(one));
  if (theirs !== ours) {
    if (learnTermination === 'auto' && before.termination !== shape.termination) return undefined;
    throw settingInvalid(`the previous model has ${theirs}, this one ${ours}; a warm start needs the same.`);
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
  const isReward = (output: number) => config.learnReward && output === outputDim - 1;
  const errorsOf = (is: (output: number) => boolean) =>
    elites.flatMap((member) => members[member].holdoutMse.filter((_, output) => weights[output] > 0 && is(output)));
  const errors = errorsOf((output) => !isReward(output));
  const rewardErrors = errorsOf(isReward);
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

/** By mean squared errors of each element. */
function judgeHeldOut(
  { data, normaliser }: PreparedData,
  { members, elites }: FitReport,
  { learnReward, maxEpochs }: EnsembleConfig,
): HeldOutReport {
  const { outputDim, holdoutRows: rows, targets } = data;
  const errorOf = (k: number, predicted: (row: number) => number) =>
    mean(Array.from({ length: rows }, (_, row) => (targets[row * outputDim + k] - predicted(row)) ** 2));
  const isReward = (k: number) => learnReward && k === outputDim - 1;
  const linear = linearPredictions(data);
  return {
    rows,
    membersAtMaxEpochs: members.filter(({ epochs }) => epochs >= maxEpochs).length,
    members: members.length,
    maxEpochs,
    elements: Array.from({ length: outputDim }, (_, k) => {
      const spread = errorOf(k, () => 0);
      const r2 = (error: number) => (spread < CONSTANT ? null : 1 - error / spread);
      // A change of zero; the mean of the rewards, as no last reward is known.
      const still = isReward(k) ? 0 : -normaliser.target.mean[k] / normaliser.target.scale[k];
      return {
        element: isReward(k) ? 'reward' : `obs[${k}]`,
        r2: {
          // The elites, each on its own.
          model: r2(mean(elites.map((elite) => members[elite].holdoutMse[k]))),
          linear: r2(errorOf(k, (row) => linear[row * outputDim + k])),
          unchanged: r2(errorOf(k, () => still)),
        },
      };
    }),
  };
}

/** For held-out rows, by least squares of the other targets on their inputs and a constant. */
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
  const predicted = new Float64Array(holdoutRows * outputDim);
  for (let r = 0; r < holdoutRows; r++) {
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
