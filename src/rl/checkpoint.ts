// A learner as a folder: manifest.json (what it is, what it learned from, hashes; sealed), learner.safetensors (its exact
// state) and, where the policy is a network, policy.onnx (for anyone). Written whole or not at all; read back checked.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../core/canonical-json.js';
import { describeIssues, reverieError } from '../core/errors.js';
import { openSealed, recoverFolder, replaceFolderAtomic, sealedText } from '../core/files.js';
import { Rng } from '../core/rng.js';
import { float32, type Tensor } from '../nn/graph.js';
import { decodeTensors, encodeTensors } from '../nn/safetensors.js';
import type { TrainingDevice } from '../nn/trainer.js';
import type { Learner, LearnerState } from './learner.js';
import { makeLearner } from './learners.js';
import type { Spaces } from './spaces.js';

const count = z.int().min(0);

/** What a policy has behind it: how much of its experience was real and how much simulated, and by which models. */
const learnedFromSchema = z.strictObject({
  scenario: z.string(),
  seed: z.int(),
  realSteps: count,
  syntheticSteps: count,
  worldModelVersions: z.array(z.string()),
  gradientSteps: count,
});
export type LearnedFrom = z.infer<typeof learnedFromSchema>;

const fileSchema = z.strictObject({ bytes: count, sha256: z.string() });
const bounds = z.array(z.number().nullable());
const spaceSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('box'), shape: z.array(count), low: bounds, high: bounds }),
  z.strictObject({ type: z.literal('discrete'), n: z.int().min(1), start: z.int() }),
]);

const checkpointManifestSchema = z.strictObject({
  format: z.literal('reverie-learner'),
  formatVersion: z.literal(1),
  kind: z.string(),
  config: z.record(z.string(), z.unknown()),
  spaces: z.strictObject({ observationSpace: spaceSchema, actionSpace: spaceSchema }),
  gradientSteps: count,
  policyVersion: z.string(),
  learnedFrom: learnedFromSchema,
  files: z.strictObject({ 'learner.safetensors': fileSchema, 'policy.onnx': fileSchema.optional() }),
});
type CheckpointManifest = z.infer<typeof checkpointManifestSchema>;

const STATE_FILE = 'learner.safetensors';
const POLICY_FILE = 'policy.onnx';
const MANIFEST_FILE = 'manifest.json';

/**
 * Writes (or atomically replaces) the folder. The same learner and `learnedFrom` give the same bytes.
 * Throws STORAGE_FULL or STORAGE_FAILED, leaving what was there.
 */
export async function saveLearner(
  folder: string,
  learner: Learner,
  learnedFrom: LearnedFrom,
): Promise<CheckpointManifest> {
  const state = learner.state();
  const stateBytes = encodeTensors(
    Object.fromEntries(Object.entries(state.arrays).map(([name, array]) => [name, float32(array)])),
  );
  const policyBytes = learner.policyModel?.();
  const manifest = checkpointManifestSchema.parse({
    format: 'reverie-learner',
    formatVersion: 1,
    ...state.meta,
    policyVersion: learner.policy().version,
    learnedFrom,
    files: { [STATE_FILE]: describe(stateBytes), ...(policyBytes && { [POLICY_FILE]: describe(policyBytes) }) },
  });
  await replaceFolderAtomic(folder, async (temporary) => {
    await writeFile(join(temporary, STATE_FILE), stateBytes);
    if (policyBytes !== undefined) await writeFile(join(temporary, POLICY_FILE), policyBytes);
    await writeFile(join(temporary, MANIFEST_FILE), sealedText(manifest));
  });
  return manifest;
}

export interface LoadedLearner {
  readonly learner: Learner;
  readonly manifest: CheckpointManifest;
}

/**
 * The learner exactly as it was saved, whatever it trained on before.
 * @param device what it is to train on; see `makeLearner`
 * Throws CHECKPOINT_CORRUPT for anything missing, cut short or altered.
 */
export async function loadLearner(folder: string, device?: TrainingDevice): Promise<LoadedLearner> {
  const manifest = await readManifest(folder);
  const state = await readState(folder, manifest);
  // The initial weights are overwritten at once; any stream does.
  const learner = await makeLearner(manifest.kind, manifest.config, manifest.spaces as Spaces, Rng.fromSeed(0), device);
  try {
    learner.restore(state);
  } catch (error) {
    await learner.close();
    throw error;
  }
  return { learner, manifest };
}

/** What a checkpoint says of itself, without loading it. Throws CHECKPOINT_CORRUPT. */
export async function readManifest(folder: string): Promise<CheckpointManifest> {
  await recoverFolder(folder);
  const path = join(folder, MANIFEST_FILE);
  try {
    return checkpointManifestSchema.parse(openSealed(await readFile(path, 'utf8')));
  } catch (error) {
    throw corrupt(path, error instanceof z.ZodError ? describeIssues(error) : (error as Error).message, error);
  }
}

async function readState(folder: string, manifest: CheckpointManifest): Promise<LearnerState> {
  const { kind, config, spaces, gradientSteps } = manifest;
  const { [POLICY_FILE]: policy, [STATE_FILE]: arrays } = manifest.files;
  if (policy !== undefined) await readChecked(folder, POLICY_FILE, policy);
  const bytes = await readChecked(folder, STATE_FILE, arrays);
  try {
    return {
      meta: { kind, config, spaces: spaces as Spaces, gradientSteps },
      arrays: Object.fromEntries(Object.entries(decodeTensors(bytes)).map(vectorOf)),
    };
  } catch (error) {
    throw corrupt(join(folder, STATE_FILE), (error as Error).message, error);
  }
}

type ExpectedFile = z.infer<typeof fileSchema>;

async function readChecked(folder: string, file: string, expected: ExpectedFile): Promise<Uint8Array> {
  const path = join(folder, file);
  const bytes = await readFile(path).catch((error: Error) => {
    throw corrupt(path, error.message, error);
  });
  if (bytes.length !== expected.bytes) {
    throw corrupt(path, `it has ${bytes.length} bytes where ${expected.bytes} were written`);
  }
  if (describe(bytes).sha256 !== expected.sha256) throw corrupt(path, 'its content does not match its hash');
  return bytes;
}

function describe(bytes: Uint8Array): { bytes: number; sha256: string } {
  return { bytes: bytes.length, sha256: sha256(bytes) };
}

function corrupt(path: string, problem: string, cause?: unknown): Error {
  return reverieError('CHECKPOINT_CORRUPT', { path, problem }, cause);
}

function vectorOf([name, { dims, data }]: [string, Tensor]): [string, Float32Array] {
  if (dims.length !== 1) throw new Error(`array "${name}" is no vector`);
  return [name, data as Float32Array];
}
