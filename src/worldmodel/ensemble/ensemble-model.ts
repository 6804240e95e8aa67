// All that an ensemble is, apart from running sessions: what is saved, sent to workers and hashed.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { KnownFunctions } from '../../core/environment.js';
import { describeIssues } from '../../core/errors.js';
import { type EnvSpec, envSpecSchema } from '../../env/env-spec.js';
import {
  boundsClipper,
  knownEnds,
  knownRewards,
  type Outcome,
  requireFiniteAnswer,
  requirePortable,
  reviveKnown,
} from '../answer.js';
import type { Forecast, ModelPlace, WholeRollout, WholeRolloutAnswer, WorldModelSnapshot } from '../dynamics.js';
import { MemorylessDynamics, type ObservationCarry, type StepQuestion, type VectorPrediction } from '../memoryless.js';
import {
  checkStepInput,
  fileHashesSchema,
  folderInvalid,
  readManifest,
  readModelPart,
  rowEncoder,
  rowShape,
  type Spaces,
  vectorSpaceSchema,
  writeModelFolder,
} from '../model-folder.js';
import { type SeenRange, seenRangeSchema } from '../seen-range.js';
import { ENSEMBLE_FORMAT, type EnsembleConfig, ensembleConfigSchema } from './config.js';
import { DevicePropagator } from './device-propagation.js';
import type { Normaliser } from './fit.js';
import { type MemberShape, memberLayout, memberModel } from './members.js';
import {
  type ElitePropagation,
  type MemberAnswer,
  MemberSessions,
  type Propagated,
  Propagator,
} from './propagation.js';

const numbers = z.array(z.number()).readonly();
const moments = z.strictObject({ mean: numbers, scale: numbers });
const memberReport = z.strictObject({
  epochs: z.int(),
  gradientSteps: z.int(),
  holdoutLoss: z.number(),
  holdoutNll: z.number(),
  holdoutMse: numbers,
  holdoutCrossEntropy: z.number().optional(),
});

/** How the fit went. Errors are in standard deviations of what is predicted, on rows no member was trained on. */
const fitReportSchema = z.strictObject({
  rows: z.int().describe('transitions given'),
  holdoutRows: z.int().describe('of these, held out'),
  epochs: z.int().describe('of the member that trained longest'),
  gradientSteps: z.int().describe('of all members together'),
  holdoutError: z
    .number()
    .describe('root mean squared error of the elites, each on its own, over elements that change'),
  rewardError: z.number().optional().describe('the same of the reward, where it is learned and changes'),
  isWarmStart: z.boolean(),
  elites: z.array(z.int()).describe('members by rising hold-out loss'),
  members: z.array(memberReport).readonly(),
});
export type FitReport = z.output<typeof fitReportSchema>;

/** The JSON half of an ensemble. */
export const ensembleDescriptionSchema = z.strictObject({
  observationSpace: vectorSpaceSchema,
  actionSpace: vectorSpaceSchema,
  config: ensembleConfigSchema,
  normaliser: z.strictObject({
    input: moments,
    target: moments,
    constant: z.array(z.int().min(0)).readonly().optional(),
  }),
  elites: z.array(z.int().min(0)).min(1),
  outcome: z.strictObject({
    reward: z.enum(['learned', 'known']),
    terminated: z.enum(['learned', 'known', 'never']),
  }),
  env: z.lazy(envSpecSchema).optional(),
  report: fitReportSchema,
  endReward: z.number().optional().describe('what an end by the task adds to the learned reward'),
  seen: seenRangeSchema.optional().describe('what it was shown; older models do not say'),
});

export interface EnsembleDescription extends Spaces {
  readonly config: EnsembleConfig;
  readonly normaliser: Normaliser;
  /** Members that answer, best first. */
  readonly elites: readonly number[];
  readonly outcome: Outcome;
  /** The environment whose known functions are used. */
  readonly env?: EnvSpec;
  readonly report: FitReport;
  /** What an end by the task adds to the learned reward; absent where nothing does. */
  readonly endReward?: number;
  /** What it was shown; older models do not say. */
  readonly seen?: SeenRange;
}

export interface EnsembleContents {
  readonly description: EnsembleDescription;
  /** One .onnx model a member. */
  readonly models: readonly Uint8Array[];
  /** Trained parameters in normalised units [members, size], for a warm start; absent in worker threads. */
  readonly parameters?: Float32Array;
}

export function memberShapeOf(spaces: Spaces, config: EnsembleConfig): MemberShape {
  const { inputDim, obsDim } = rowShape(spaces);
  const outputDim = obsDim + (config.learnReward ? 1 : 0);
  return { inputDim, outputDim, termination: config.learnTermination, hidden: config.hidden };
}

/** The .onnx model of each member, with what a reader needs to use it as metadata. */
export function memberModels(description: EnsembleDescription, thetas: readonly Float32Array[]): Uint8Array[] {
  const { config, normaliser } = description;
  const shape = memberShapeOf(description, config);
  const layout = memberLayout(shape, config);
  const inputs = 'obs, then action (one-hot if discrete), in raw units';
  const outputs = `change of obs${config.learnReward ? ', then reward' : ''}, in raw units`;
  return thetas.map((theta, member) =>
    memberModel(theta, layout, shape, normaliser, {
      format: 'reverie ensemble member',
      member: String(member),
      inputs,
      outputs,
      observationSpace: JSON.stringify(description.observationSpace),
      actionSpace: JSON.stringify(description.actionSpace),
    }),
  );
}

/** Hash of everything a prediction depends on. */
export function versionOf({ description, models }: EnsembleContents): string {
  const { observationSpace, actionSpace, config, elites, outcome, env, endReward } = description;
  const hash = createHash('sha256');
  // An absent key is not written.
  const settings = { observationSpace, actionSpace, config, elites, outcome, env: env ?? null, endReward };
  hash.update(JSON.stringify(settings));
  for (const model of models) hash.update(model);
  return hash.digest('hex').slice(0, 32);
}

const manifestSchema = z.strictObject({
  format: z.literal(ENSEMBLE_FORMAT),
  formatVersion: z.literal(1),
  modelVersion: z.string(),
  description: ensembleDescriptionSchema,
  files: fileHashesSchema,
});

/** Trained parameters of all members, float32 little-endian, [members, size]. */
const PARAMETERS = 'parameters.f32';

const memberFile = (member: number) => `member-${member}.onnx`;

export async function saveEnsemble(folder: string, contents: EnsembleContents, modelVersion: string): Promise<void> {
  const { description, models, parameters } = contents;
  const files: Record<string, Uint8Array> = {};
  models.forEach((model, member) => {
    files[memberFile(member)] = model;
  });
  if (parameters) files[PARAMETERS] = new Uint8Array(parameters.buffer, parameters.byteOffset, parameters.byteLength);
  await writeModelFolder(folder, { format: ENSEMBLE_FORMAT, formatVersion: 1, modelVersion, description }, files);
}

export interface LoadedEnsemble {
  readonly contents: EnsembleContents;
  readonly known: KnownFunctions;
  readonly modelVersion: string;
}

/** Throws MODEL_FILE_INVALID unless every file is there, whole and what the manifest says. */
export async function loadEnsemble(folder: string): Promise<LoadedEnsemble> {
  const parsed = manifestSchema.safeParse(await readManifest(folder));
  if (!parsed.success) throw folderInvalid(folder, `its manifest is not acceptable: ${describeIssues(parsed.error)}`);
  const { files, modelVersion } = parsed.data;
  const description: EnsembleDescription = parsed.data.description;
  const { members } = description.config;
  if (description.elites.some((member) => member >= members))
    throw folderInvalid(folder, 'it names elites it has not.');
  const read = (name: string) => {
    if (files[name] === undefined) throw folderInvalid(folder, `its manifest has no hash for "${name}".`);
    return readModelPart(folder, name, files[name]);
  };
  const models = await Promise.all(Array.from({ length: members }, (_, member) => read(memberFile(member))));
  const parameters = PARAMETERS in files ? toFloats(await read(PARAMETERS)) : undefined;
  const contents: EnsembleContents = { description, models, parameters };
  if (versionOf(contents) !== modelVersion)
    throw folderInvalid(folder, 'its contents are not those of its modelVersion.');
  return { contents, known: await reviveKnown(description.outcome, description.env, folder), modelVersion };
}

function toFloats(bytes: Uint8Array): Float32Array {
  // File bytes may start anywhere in their buffer; floats need an aligned start.
  return new Float32Array(bytes.slice().buffer);
}

/** What a snapshot carries; models lie in SharedArrayBuffers. */
export interface EnsemblePayload {
  readonly description: EnsembleDescription;
  readonly models: readonly Uint8Array[];
}

export class EnsembleModel extends MemorylessDynamics {
  private readonly clip?: (rows: Float32Array) => void;
  private shared?: WorldModelSnapshot;

  private constructor(
    private readonly contents: EnsembleContents,
    private readonly known: KnownFunctions,
    private readonly propagation: ElitePropagation,
    modelVersion: string,
  ) {
    super('ensemble', modelVersion, contents.description);
    this.clip = boundsClipper(this.observationSpace);
  }

  /**
   * Opens the elites. `known` must have the functions that the description's outcome names.
   * @throws CUDA_UNAVAILABLE, DEVICE_FAILED, DEVICE_FAILED, DEVICE_UNAVAILABLE  for a device that cannot be used
   */
  static async open(
    contents: EnsembleContents,
    known: KnownFunctions,
    version?: string,
    { device }: ModelPlace = {},
  ): Promise<EnsembleModel> {
    const onProcessor = () => openOnProcessor(contents);
    const propagation = device ? await DevicePropagator.open(contents, device, onProcessor) : await onProcessor();
    return new EnsembleModel(contents, known, propagation, version ?? versionOf(contents));
  }

  /** Loads a folder that `save` wrote. Throws MODEL_FILE_INVALID for anything else or anything damaged, and as `open`. */
  static async load(folder: string, place: ModelPlace = {}): Promise<EnsembleModel> {
    const { contents, known, modelVersion } = await loadEnsemble(folder);
    return EnsembleModel.open(contents, known, modelVersion, place);
  }

  /** Settings, normaliser, elites and how the fit went. */
  get description(): EnsembleDescription {
    return this.contents.description;
  }

  get seen(): SeenRange | undefined {
    return this.description.seen;
  }

  get opinions(): number {
    return this.description.elites.length;
  }

  /** Each member's trained parameters, for a warm start; undefined in a model revived from a snapshot. */
  get parameters(): Float32Array | undefined {
    return this.contents.parameters;
  }

  /**
   * What every elite says of every row, without sampling, best elite first: `mean` and `std` [elites, rows, outputDim] of the
   * change of the observation and (where learned) the reward, `terminated` [elites, rows] (where learned), in raw units.
   */
  async stepElites(obs: Float32Array, action: Float32Array, rows: number): Promise<MemberAnswer> {
    checkStepInput(this.backend, this, obs, action, rows, this.shape);
    return this.propagation.everyElite(obs, action, rows);
  }

  async forecast({ obs, rows }: ObservationCarry, action: Float32Array): Promise<Forecast> {
    const answer = await this.stepElites(obs, action, rows);
    const { obsDim } = this.shape;
    const components = this.description.elites.length;
    const outputDim = answer.mean.length / (components * rows);
    const mean = new Float32Array(components * rows * obsDim);
    const std = new Float32Array(mean.length);
    for (let c = 0; c < components; c++) {
      for (let r = 0; r < rows; r++) {
        const from = (c * rows + r) * outputDim;
        const to = (c * rows + r) * obsDim;
        for (let j = 0; j < obsDim; j++) {
          mean[to + j] = obs[r * obsDim + j] + answer.mean[from + j];
          std[to + j] = answer.std[from + j];
        }
      }
    }
    return { components, mean, std };
  }

  rollout(request: WholeRollout): Promise<WholeRolloutAnswer> | undefined {
    const { endReward } = this.description;
    const lived = this.propagation.rollout?.(request);
    if (lived === undefined || endReward === undefined) return lived;
    return lived.then((answer) => {
      addAtEnds(answer.reward, answer.terminated, endReward);
      return answer;
    });
  }

  snapshot(): WorldModelSnapshot {
    const { description, models } = this.contents;
    requirePortable(description.outcome, description.env);
    if (this.shared === undefined) {
      const payload: EnsemblePayload = { description, models: models.map(toShared) };
      this.shared = { backend: this.backend, modelVersion: this.modelVersion, payload };
    }
    return this.shared;
  }

  async save(folder: string): Promise<void> {
    requirePortable(this.contents.description.outcome, this.contents.description.env);
    await saveEnsemble(folder, this.contents, this.modelVersion);
  }

  close(): Promise<void> {
    return this.propagation.release();
  }

  protected haveExactRows(): Promise<boolean> {
    return this.propagation.haveExactRows();
  }

  protected async predict({ obs, action, rows, rngs, options }: StepQuestion): Promise<VectorPrediction> {
    const propagated = await this.propagation.propagate({
      obs,
      action,
      rows,
      rng: rngs,
      isTs1: options.propagation !== 'mean',
      isDeterministic: options.deterministic === true,
      withDisagreement: options.disagreement === true,
    });
    return this.answer(obs, action, rows, propagated);
  }

  private answer(obs: Float32Array, action: Float32Array, rows: number, propagated: Propagated): VectorPrediction {
    const { nextObs, disagreement } = propagated;
    const { outcome, endReward } = this.description;
    requireFiniteAnswer(this.modelVersion, nextObs, propagated.reward ?? EMPTY, rows);
    this.clip?.(nextObs);
    const reward = propagated.reward ?? knownRewards(this.known.reward!, obs, action, nextObs, rows);
    if (!propagated.reward) requireFiniteAnswer(this.modelVersion, EMPTY, reward, rows);
    const terminated =
      propagated.terminated ??
      (outcome.terminated === 'known' ? knownEnds(this.known.terminated!, nextObs, rows) : new Uint8Array(rows));
    if (endReward !== undefined && propagated.reward) addAtEnds(reward, terminated, endReward);
    return { nextObs, reward, terminated, disagreement };
  }
}

/** What an end adds to the rewards of rows that end, in place. */
function addAtEnds(reward: Float32Array, terminated: Uint8Array, endReward: number): void {
  for (let row = 0; row < reward.length; row++) if (terminated[row]) reward[row] += endReward;
}

/** From what `snapshot` gave. @throws as `EnsembleModel.open` */
export async function reviveEnsemble(
  { modelVersion, payload }: WorldModelSnapshot,
  place: ModelPlace,
): Promise<EnsembleModel> {
  const { description, models } = payload as EnsemblePayload;
  const known = await reviveKnown(description.outcome, description.env, 'snapshot');
  return EnsembleModel.open({ description, models }, known, modelVersion, place);
}

const EMPTY = new Float32Array(0);

async function openOnProcessor({ description, models }: EnsembleContents): Promise<ElitePropagation> {
  const { obsDim, actionDim, inputDim } = rowShape(description);
  // ONNX Runtime refuses shared memory; an own copy also frees the file's buffer.
  const copies = description.elites.map((member) => models[member].slice());
  const sessions = await MemberSessions.open(copies, inputDim);
  const shape = memberShapeOf(description, description.config);
  const { scale } = description.normaliser.target;
  return new Propagator(sessions, rowEncoder(description), shape, obsDim, actionDim, scale);
}

function toShared(model: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(model.length));
  shared.set(model);
  return shared;
}
