// An ensemble on disk: manifest.json, member-0.onnx, member-1.onnx, ... and parameters.f32 for warm starts.

import { z } from 'zod';
import { describeIssues } from '../../core/errors.js';
import type { KnownFunctions } from '../../env/index.js';
import { reviveKnown } from '../answer.js';
import { fileHashesSchema, folderInvalid, readManifest, readModelPart, writeModelFolder } from '../model-folder.js';
import { ENSEMBLE_FORMAT } from './config.js';
import { type EnsembleContents, type EnsembleDescription, ensembleDescriptionSchema, versionOf } from './contents.js';

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

/** Throws MODEL_FOLDER_INVALID unless every file is there, whole and what the manifest says. */
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
