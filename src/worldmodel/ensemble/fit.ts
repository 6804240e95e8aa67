// Fits an ensemble to transitions: prepares the data, trains the members, ranks them, builds the model.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { joinedFloats } from '../../core/joined.js';
import type { Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import { describeSpace, type EnvSpec, type KnownFunctions } from '../../env/index.js';

import type { TrainingDevice } from '../../nn/index.js';
import { ReplayBuffer, type TransitionBatch } from '../../replay/index.js';
import type { Outcome } from '../answer.js';
import type { HeldOutReport } from '../dynamics-kind.js';
import { rowShape, type Spaces } from '../model-spaces.js';
import { seenRange } from '../seen-range.js';
import {
  type EnsembleConfig,
  type EnsembleConfigInput,
  type EnsembleSection,
  parseEnsembleConfig,
  settleEnsembleConfig,
} from './config.js';
import { type EnsembleDescription, type FitReport, memberModels, memberShapeOf } from './contents.js';
import { type PreparedData, prepareData, prepareOnDisk } from './dataset.js';
import { EnsembleModel } from './ensemble-model.js';
import { judgeHeldOut } from './held-out.js';
import { memberLayout, renormalise } from './member-network.js';
import type { TrainedMember } from './member-training.js';
import { type TrainingOptions, type TrainingTask, trainMembers } from './training-pool.js';

export interface FitOptions extends Partial<TrainingOptions> {
  /** Member i trains on `rng.split('member', i)`; the hold-out is `rng.split('holdout')`. The stream itself does not advance. */
  readonly rng: Rng;
  /** Warm start: its weights, brought to the new data's normaliser without changing what they compute. */
  readonly previous?: EnsembleModel;
  /** Exact reward and end, where settings do not ask to learn them. */
  readonly known?: KnownFunctions;
  /** The environment that has `known`; without it the model can neither be saved nor sent to workers. */
  readonly env?: EnvSpec;
  /** A folder for prepared rows that need not fit into memory, of a buffer on disk; removed in the end. Same bytes. */
  readonly scratch?: string;
  /** What gradient steps run on; ONNX Runtime unless given. The bytes of a fit are those of its device. */
  readonly device?: TrainingDevice;
}

/**
 * Fits an ensemble to a batch, or to all rows of a buffer. The same data, settings and stream give the same bytes for any number of workers.
 * Throws MODEL_CONFIG_INVALID, MODEL_DATA_INVALID, SPACE_UNSUPPORTED, NON_FINITE_VALUE, or the reason of `signal`.
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
  const isOnDisk = data instanceof ReplayBuffer && data.isOnDisk && options.scratch !== undefined;
  const rows = data instanceof ReplayBuffer && !isOnDisk ? data.rows() : data;
  const count = rows instanceof ReplayBuffer ? rows.size : rows.rows;
  const config = settleEnsembleConfig(section, { spaces, rows: count, hasEnds: endsAnywhere(rows), known });
  const outcome = outcomeOf(endsAnywhere(rows), config, known);
  const own = { observationSpace, actionSpace };
  const prepared =
    rows instanceof ReplayBuffer
      ? prepareOnDisk(rows, own, config, rng, join(options.scratch!, 'ensemble'))
      : prepareData(rows, own, config, rng);
  const initial = previous && warmStart(previous, spaces, config, prepared, section);
  const workers = options.workers ?? 0;
  const { device } = options;
  const tasks = tasksOf(prepared, spaces, config, rng, initial).map((task) => ({ ...task, device }));
  const trained = await trainMembers(tasks, { ...options, workers }).finally(() => forget(prepared));
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
    seen: seenRange(rows, rowShape(spaces).obsDim),
  };
  const thetas = trained.map(({ theta }) => theta);
  const contents = { description, models: memberModels(description, thetas), parameters: joinedFloats(thetas) };
  const heldOut = () => judgeHeldOut(prepared, report, config);
  return { model: await EnsembleModel.open(contents, known), report, heldOutRows: prepared.heldOut, heldOut };
}

function endsAnywhere(rows: TransitionBatch | ReplayBuffer): boolean {
  if (!(rows instanceof ReplayBuffer)) return rows.terminated.includes(1);
  for (const { terminated } of rows.pieces(['terminated'])) if (terminated.includes(1)) return true;
  return false;
}

/** What was prepared on disk is of no use any more. */
function forget({ data: { folder } }: PreparedData): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}

function requireBox({ observationSpace }: Spaces): void {
  if (observationSpace.type === 'box') return;
  const hint = 'Discrete observations have exact tables: see TabularModel, or encode them as a box.';
  throw reverieError('SPACE_UNSUPPORTED', {
    learner: 'ensemble',
    space: `observations ${describeSpace(observationSpace)}`,
    hint,
  });
}

function outcomeOf(terminates: boolean, config: EnsembleConfig, known: KnownFunctions): Outcome {
  if (!config.learnReward && !known.reward) {
    throw reverieError('MODEL_CONFIG_INVALID', {
      problem: 'learnReward is false, but no known reward function is given.',
    });
  }
  const reward = config.learnReward ? 'learned' : 'known';
  if (config.learnTermination) return { reward, terminated: 'learned' };
  if (known.terminated) return { reward, terminated: 'known' };
  if (terminates) {
    const problem = 'learnTermination is false and no known function is given, but some transitions end by the task.';
    throw reverieError('MODEL_CONFIG_INVALID', { problem });
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
    throw reverieError('MODEL_CONFIG_INVALID', { problem });
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
