// All that an ensemble is, apart from running sessions: what is saved, sent to workers and hashed.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { describeIssues } from '../../core/errors.js';
import { type EnvSpec, envSpecSchema } from '../../env/environments.js';
import { type Outcome, reviveKnown } from '../answer.js';
import type { Spaces } from '../dynamics.js';
import {
  fileHashesSchema,
  folderInvalid,
  readManifest,
  readModelPart,
  rowShape,
  vectorSpaceSchema,
  writeModelFolder,
} from '../model-folder.js';
import { type SeenRange, seenRangeSchema } from '../seen-range.js';
import { ENSEMBLE_FORMAT, type EnsembleConfig, ensembleConfigSchema } from './config.js';
import type { Normaliser } from './dataset.js';
import { type MemberShape, memberLayout, memberModel, memberReportSchema } from './members.js';

const numbers = z.array(z.number()).readonly();
const moments = z.strictObject({ mean: numbers, scale: numbers });
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
  members: z.array(memberReportSchema).readonly(),
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
  /** Trained parameters in normalised units [members, size], for a warm start and for devices. */
  readonly parameters: Float32Array;
}

export function memberShapeOf(spaces: Spaces, config: EnsembleConfig): MemberShape {
  const { inputDim, obsDim } = rowShape(spaces);
  const outputDim = obsDim + (config.learnReward ? 1 : 0);
  return { inputDim, outputDim, termination: config.learnTermination, hidden: config.hidden };
}

/** The .onnx model of each member, with what a reader needs to use it as metadata. */
export function memberModels(description: EnsembleDescription, thetas: readonly Float32Array[]): Uint8Array[] {
  const { config, normaliser, observationSpace, actionSpace } = description;
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
      observationSpace: JSON.stringify(observationSpace),
      actionSpace: JSON.stringify(actionSpace),
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
  files[PARAMETERS] = new Uint8Array(parameters.buffer, parameters.byteOffset, parameters.byteLength);
  await writeModelFolder(folder, { format: ENSEMBLE_FORMAT, formatVersion: 1, modelVersion, description }, files);
}

/** Throws MODEL_FILE_INVALID unless every file is there, whole and what the manifest says. */
export async function loadEnsemble(folder: string) {
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
  // File bytes may start anywhere in their buffer; floats need an aligned start.
  const parameters = new Float32Array((await read(PARAMETERS)).slice().buffer);
  const { size } = memberLayout(memberShapeOf(description, description.config), description.config);
  if (parameters.length !== members * size) {
    const problem = `"${PARAMETERS}" has ${parameters.length} values where ${members} members of ${size} are needed.`;
    throw folderInvalid(folder, problem);
  }
  const contents: EnsembleContents = { description, models, parameters };
  if (versionOf(contents) !== modelVersion)
    throw folderInvalid(folder, 'its contents are not those of its modelVersion.');
  return { contents, known: await reviveKnown(description.outcome, description.env, folder), modelVersion };
}
