// Spaces of a world model as its networks see them: row widths, one-hot actions, bounds of what may be predicted.

import { constants } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../core/canonical-json.js';
import type { Rngs } from '../core/dynamics.js';
import type { VectorSpace } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import { openSealed, parseObject, recoverFolder, replaceFolderAtomic, SEAL, sealedText } from '../core/files.js';
import { Rng } from '../core/rng.js';
import { crossed, ranged, rowSize } from '../env/space-values.js';
import { requireFinite } from '../replay/columns.js';
import type { TransitionBatch } from '../replay/transition.js';
import type { Spaces } from './dynamics.js';

const bound = z.number().nullable();
const boxSchema = ranged(
  z
    .strictObject({ type: z.literal('box'), shape: z.array(z.int().min(0)), low: z.array(bound), high: z.array(bound) })
    .refine((box) => {
      const size = rowSize(box);
      return box.low.length === size && box.high.length === size;
    }, 'low and high need one bound per element of the shape (null for none)'),
  ({ low, high }) => {
    const at = low.findIndex((one, i) => crossed([one, high[i]]));
    return [low[at], high[at]];
  },
);

/** A vector space as JSON, checked. */
export const vectorSpaceSchema = z.discriminatedUnion('type', [
  boxSchema,
  z.strictObject({ type: z.literal('discrete'), n: z.int().min(1), start: z.int().default(0) }),
]);

/** Widths of one row. */
export interface RowShape {
  readonly obsDim: number;
  readonly actionDim: number;
  /** Elements of an encoded action: `n` for a discrete one (one-hot). */
  readonly actionWidth: number;
  /** obsDim + actionWidth. */
  readonly inputDim: number;
}

export function rowShape({ observationSpace, actionSpace }: Spaces): RowShape {
  const obsDim = rowSize(observationSpace);
  const actionDim = rowSize(actionSpace);
  const actionWidth = actionSpace.type === 'discrete' ? actionSpace.n : actionDim;
  return { obsDim, actionDim, actionWidth, inputDim: obsDim + actionWidth };
}

/** Writes rows `order[first..first + rows)` (or those rows themselves) of obs and action into `into` [rows, inputDim]. */
export type EncodeRows = (
  obs: Float32Array,
  action: Float32Array,
  order: Uint32Array | undefined,
  first: number,
  rows: number,
  into: Float32Array,
) => void;

/** An encoder for these spaces: observation and action side by side, a discrete action one-hot. */
export function rowEncoder(spaces: Spaces): EncodeRows {
  const { obsDim, actionDim, actionWidth, inputDim } = rowShape(spaces);
  const { actionSpace } = spaces;
  return (obs, action, order, first, rows, into) => {
    if (actionSpace.type === 'discrete') into.fill(0, 0, rows * inputDim);
    for (let r = 0; r < rows; r++) {
      const row = order === undefined ? first + r : order[first + r];
      const at = r * inputDim;
      const from = row * obsDim;
      for (let j = 0; j < obsDim; j++) into[at + j] = obs[from + j];
      if (actionSpace.type === 'discrete') into[at + obsDim + action[row * actionDim] - actionSpace.start] = 1;
      else for (let j = 0; j < actionWidth; j++) into[at + obsDim + j] = action[row * actionDim + j];
    }
  };
}

/**
 * Throws DATA_MISMATCH unless obs is [rows, obsDim] and action [rows, actionDim] with discrete actions in their space;
 * NON_FINITE_VALUE for NaN or infinity.
 */
export function checkStepInput(
  backend: string,
  spaces: Spaces,
  obs: Float32Array,
  action: Float32Array,
  rows: number,
  shape: RowShape,
): void {
  checkObservations(backend, spaces, obs, rows, shape);
  checkLength(backend, 'action', action, rows, shape.actionDim);
  requireFinite('The value of "action"', action, rows, 'the input of a world model', INPUT_HINT);
  checkDiscrete(backend, 'action', action, spaces.actionSpace);
}

/** As `checkStepInput`, of observations alone. */
export function checkObservations(
  backend: string,
  spaces: Spaces,
  obs: Float32Array,
  rows: number,
  { obsDim }: RowShape,
): void {
  const whole = Math.floor(Number.isFinite(rows) ? rows : 0);
  checkLength(backend, 'obs', obs, whole, obsDim);
  requireFinite('The value of "obs"', obs, whole, 'the input of a world model', INPUT_HINT);
  checkDiscrete(backend, 'observation', obs, spaces.observationSpace);
}

/** Throws DATA_MISMATCH unless there is one stream for all rows, or one for each. */
export function checkStreams(backend: string, rngs: Rngs, rows: number): void {
  if (rngs instanceof Rng || rngs.length === rows) return;
  throw refused(backend, `${rngs.length} random streams where one, or ${rows}, are needed.`);
}

/** Throws DATA_MISMATCH or NON_FINITE_VALUE unless a world model can learn from every row. */
export function checkTrainingData(backend: string, batch: TransitionBatch, spaces: Spaces): void {
  const { obsDim, actionDim } = rowShape(spaces);
  const { rows } = batch;
  const unfit = (problem: string, hint: string) =>
    reverieError('DATA_MISMATCH', { problem: `A world model cannot be fitted to this data: ${problem}`, hint });
  if (rows < 2) {
    const hint = 'Collect more transitions first: one row is held out, and at least one must be left.';
    throw unfit(`it has fewer rows than two (${rows}).`, hint);
  }
  const widths = { obs: obsDim, action: actionDim, reward: 1, nextObs: obsDim, terminated: 1 } as const;
  for (const column of Object.keys(widths) as (keyof typeof widths)[]) {
    const values = batch[column];
    if (values.length !== rows * widths[column]) {
      const problem = `column "${column}" has ${values.length} values where ${rows} rows of ${widths[column]} are needed.`;
      throw unfit(problem, 'Columns are row-major [rows, dim]; check the spaces.');
    }
    if (values instanceof Float32Array)
      requireFinite(`The value of "${column}"`, values, rows, 'the training data of a world model', INPUT_HINT);
  }
  checkDiscrete(backend, 'action', batch.action, spaces.actionSpace);
}

export const INPUT_HINT = 'Find where the environment, the policy or the model diverged.';

function checkLength(backend: string, name: string, values: Float32Array, rows: number, dim: number): void {
  if (values instanceof Float32Array && values.length === rows * dim) return;
  const got = values instanceof Float32Array ? `${values.length} values` : `${Object.prototype.toString.call(values)}`;
  throw refused(backend, `${name} of ${got} where a Float32Array of ${rows} rows of ${dim} is needed.`);
}

function checkDiscrete(backend: string, name: string, values: Float32Array, space: VectorSpace): void {
  if (space.type !== 'discrete') return;
  const at = values.findIndex((v) => !Number.isInteger(v) || v < space.start || v >= space.start + space.n);
  if (at < 0) return;
  throw refused(backend, `${name} ${values[at]} in row ${at}, outside ${space.start}..${space.start + space.n - 1}.`);
}

function refused(backend: string, problem: string): Error {
  return reverieError('DATA_MISMATCH', {
    problem: `World model "${backend}" was asked with ${problem}`,
    hint: 'Give obs [rows, obsDim] and action [rows, actionDim] as Float32Array, actions within the action space.',
  });
}

export const MANIFEST = 'manifest.json';

/** Name to SHA-256, in hex. */
export const fileHashesSchema = z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/));

const MAX_FILE_BYTES = 1 << 30;
const CORRUPT_HINT = 'Restore the folder from a copy, or fit the model again.';

/** Replaces `folder` by the manifest (to which `files`, the hashes, and the seal are added) and the files, atomically. */
export async function writeModelFolder(
  folder: string,
  manifest: Record<string, unknown>,
  files: Readonly<Record<string, Uint8Array>>,
): Promise<void> {
  const hashes = Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, sha256(bytes)]));
  await replaceFolderAtomic(folder, async (temporary) => {
    for (const [name, bytes] of Object.entries(files)) await writeFile(join(temporary, name), bytes);
    await writeFile(join(temporary, MANIFEST), sealedText({ ...manifest, files: hashes }));
  });
}

/**
 * The manifest of a folder, unchecked but for its seal. Only dynamics of a user's own come without one, and without the
 * `files` that we add. Throws MODEL_FILE_INVALID.
 */
export async function readManifest(folder: string): Promise<Record<string, unknown>> {
  await recoverFolder(folder);
  const text = Buffer.from(await readModelPart(folder, MANIFEST)).toString('utf8');
  try {
    const manifest = parseObject(text);
    return SEAL in manifest || 'files' in manifest ? openSealed(text) : manifest;
  } catch (error) {
    throw folderInvalid(folder, `${MANIFEST} is damaged: ${(error as Error).message}.`, CORRUPT_HINT, error);
  }
}

/** A file of the folder whose hash must be `expected`, where one is given. Throws MODEL_FILE_INVALID. */
export async function readModelPart(folder: string, name: string, expected?: string): Promise<Uint8Array> {
  if (name !== basename(name) || name === '..' || name === '.') {
    throw folderInvalid(folder, `it names the file "${name}", which is not a plain name.`);
  }
  const bytes = await readRegularFile(folder, name);
  if (expected === undefined || sha256(bytes) === expected) return bytes;
  throw folderInvalid(folder, `"${name}" is damaged: its SHA-256 is not the one in ${MANIFEST}.`);
}

export function folderInvalid(path: string, problem: string, hint = CORRUPT_HINT, cause?: unknown): Error {
  return reverieError(
    'MODEL_FILE_INVALID',
    { problem: `World model "${path}" cannot be loaded: ${problem}`, hint },
    cause,
  );
}

async function readRegularFile(folder: string, name: string): Promise<Uint8Array> {
  try {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    const file = await open(join(folder, name), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stat = await file.stat();
      if (!stat.isFile()) throw new Error('it is not a regular file');
      if (stat.size > MAX_FILE_BYTES) throw new Error(`it has ${stat.size} bytes, more than ${MAX_FILE_BYTES}`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    const hint = name === MANIFEST ? 'Give the folder that a world model was saved in.' : CORRUPT_HINT;
    throw folderInvalid(folder, `"${name}" cannot be read: ${(error as Error).message}.`, hint, error);
  }
}
