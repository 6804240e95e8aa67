// All that a recurrent latent model is, apart from running sessions: what is fitted, saved, sent to workers and hashed.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { describeIssues } from '../../core/errors.js';
import { type EnvSpec, envSpecSchema } from '../../env/index.js';
import type { Outcome } from '../answer.js';
import type { Normaliser } from '../ensemble/normaliser.js';
import { fileHashesSchema, folderInvalid, readManifest, readModelPart, writeModelFolder } from '../model-folder.js';
import { rowShape, type Spaces, vectorSpaceSchema } from '../model-spaces.js';
import { type SeenRange, seenRangeSchema } from '../seen-range.js';
import { LATENT_FORMAT, type LatentConfig, latentConfigSchema } from './config.js';
import { type LatentShape, latentLayout, latentModel } from './network.js';

const numbers = z.array(z.number()).readonly();
const moments = z.strictObject({ mean: numbers, scale: numbers });

/** How the fit went. Errors are in standard deviations of what is predicted, on windows no member was trained on. */
const latentReportSchema = z.strictObject({
  rows: z.int().describe('transitions given'),
  windows: z.int().describe('stretches they were cut into'),
  holdoutWindows: z.int().describe('of these, held out'),
  gradientSteps: z.int().describe('of all members together'),
  holdoutError: z.number().describe('root mean squared error of the members, each on its own'),
  members: z.array(z.strictObject({ gradientSteps: z.int(), holdoutLoss: z.number(), holdoutMse: numbers })).readonly(),
});
export type LatentFitReport = z.output<typeof latentReportSchema>;

const descriptionSchema = z.strictObject({
  observationSpace: vectorSpaceSchema,
  actionSpace: vectorSpaceSchema,
  config: latentConfigSchema,
  normaliser: z.strictObject({ input: moments, target: moments }),
  outcome: z.strictObject({
    reward: z.enum(['learned', 'known']),
    terminated: z.enum(['learned', 'known', 'never']),
  }),
  env: z.lazy(envSpecSchema).optional(),
  report: latentReportSchema,
  seen: seenRangeSchema.optional().describe('what it was shown; older models do not say'),
});

export interface LatentDescription extends Spaces {
  readonly config: LatentConfig;
  readonly normaliser: Normaliser;
  readonly outcome: Outcome;
  /** The environment whose known end is used. */
  readonly env?: EnvSpec;
  readonly report: LatentFitReport;
  /** What it was shown; older models do not say. */
  readonly seen?: SeenRange;
}

export interface LatentContents {
  readonly description: LatentDescription;
  /** One .onnx model a member. */
  readonly models: readonly Uint8Array[];
}

export function latentShapeOf(spaces: Spaces, { latent, hidden, learnTermination }: LatentConfig): LatentShape {
  const { inputDim, obsDim } = rowShape(spaces);
  return { inputDim, outputDim: obsDim + 1, termination: learnTermination, latent, hidden };
}

/** The .onnx model of each member, with what a reader needs to use it as metadata. */
export function latentModels(
  spaces: Spaces,
  config: LatentConfig,
  normaliser: Normaliser,
  thetas: readonly Float32Array[],
): Uint8Array[] {
  const shape = latentShapeOf(spaces, config);
  const layout = latentLayout(shape, config);
  return thetas.map((theta, member) =>
    latentModel(theta, layout, shape, normaliser, {
      format: 'reverie latent member',
      member: String(member),
      inputs: 'obs, then action (one-hot if discrete), in raw units; memory: zeros at the start',
      outputs: 'change of obs, then reward, in raw units; the memory after the step',
    }),
  );
}

/** Hash of everything a prediction depends on. */
export function latentVersion({ description, models }: LatentContents): string {
  const { observationSpace, actionSpace, config, outcome, env } = description;
  const hash = createHash('sha256');
  hash.update(JSON.stringify({ observationSpace, actionSpace, config, outcome, env: env ?? null }));
  for (const model of models) hash.update(model);
  return hash.digest('hex').slice(0, 32);
}

const memberFile = (member: number) => `member-${member}.onnx`;

const manifestSchema = z.strictObject({
  format: z.literal(LATENT_FORMAT),
  formatVersion: z.literal(1),
  modelVersion: z.string(),
  description: descriptionSchema,
  files: fileHashesSchema,
});

/** Replaces the folder, atomically and durably. @throws STORAGE_FULL, STORAGE_FAILED */
export async function saveLatent(folder: string, contents: LatentContents, modelVersion: string): Promise<void> {
  const files = Object.fromEntries(contents.models.map((model, member) => [memberFile(member), model]));
  const { description } = contents;
  await writeModelFolder(folder, { format: LATENT_FORMAT, formatVersion: 1, modelVersion, description }, files);
}

/** @throws MODEL_FOLDER_INVALID unless every file is there, whole and what the manifest says */
export async function readLatent(folder: string): Promise<LatentContents> {
  const parsed = manifestSchema.safeParse(await readManifest(folder));
  if (!parsed.success) throw folderInvalid(folder, `its manifest is not acceptable: ${describeIssues(parsed.error)}`);
  const { files, modelVersion, description } = parsed.data;
  const read = (name: string) => {
    if (files[name] === undefined) throw folderInvalid(folder, `its manifest has no hash for "${name}".`);
    return readModelPart(folder, name, files[name]);
  };
  const members = Array.from({ length: description.config.members }, (_, member) => memberFile(member));
  const contents: LatentContents = { description, models: await Promise.all(members.map(read)) };
  if (latentVersion(contents) !== modelVersion)
    throw folderInvalid(folder, 'its contents are not those of its modelVersion.');
  return contents;
}
