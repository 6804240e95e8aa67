// Decoders on disk: one folder for a decoder with its tokenizer, one for a training under way.
//
//   model.safetensors   the parameters, by name: matrices [in, out]
//   decoder.json        configuration, tokenizer, hashes of the other files; sealed

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../../core/canonical-json.js';
import { describeIssues, ReverieError, reverieError } from '../../core/errors.js';
import { openSealed, recoverFolder, replaceFolderAtomic, sealedText } from '../../core/files.js';
import { float32, type Tensor } from '../graph.js';
import { decodeTensors, encodeTensors } from '../safetensors.js';
import { Decoder, DecoderSessions } from './decoder.js';
import { decoderConfig, decoderLayout } from './network.js';
import { Tokenizer } from './tokenizer.js';
import type { DecoderTrainer } from './trainer.js';

const MANIFEST = 'decoder.json';
const WEIGHTS = 'model.safetensors';
const TRAINING = 'training.json';
const STATE = 'training.safetensors';

const manifestSchema = z.strictObject({
  format: z.literal('reverie-decoder'),
  formatVersion: z.literal(3),
  config: z.record(z.string(), z.unknown()),
  tokenizer: z.string(),
  files: z.record(z.string(), z.string()),
});

const trainingSchema = z.strictObject({
  format: z.literal('reverie-decoder-training'),
  formatVersion: z.literal(1),
  step: z.int().min(0),
  config: z.record(z.string(), z.unknown()),
  settings: z.record(z.string(), z.unknown()),
  files: z.record(z.string(), z.string()),
});

/**
 * Writes (or atomically replaces) the folder. The same decoder gives the same bytes.
 * @param tokenizer that it was trained with
 * @param more texts written beside it, by name, and hashed as its own file is
 * @throws STORAGE_FULL or STORAGE_FAILED, leaving what was there
 */
export async function saveDecoder(
  folder: string,
  { config, theta }: Decoder,
  tokenizer: Tokenizer,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const layout = decoderLayout(config);
  const parameters = layout.specs.map(({ name, shape }): [string, Tensor] => [
    name,
    float32(layout.view(theta, name), shape),
  ]);
  const about = { format: 'reverie-decoder', formatVersion: 3, config, tokenizer: tokenizer.toJson() };
  await writeFolder(folder, MANIFEST, about, { [WEIGHTS]: encodeTensors(Object.fromEntries(parameters)), ...more });
}

/** The decoder and tokenizer of a folder of `saveDecoder`. @throws MODEL_FILE_INVALID for a missing, damaged or foreign file */
export async function loadDecoder(folder: string): Promise<{ decoder: Decoder; tokenizer: Tokenizer }> {
  const { about, tensors } = await readFolder(folder, MANIFEST, manifestSchema, WEIGHTS);
  return inFolder(folder, MANIFEST, () => {
    const config = decoderConfig(about.config);
    const tokenizer = Tokenizer.fromJson(about.tokenizer, folder);
    if (tokenizer.size !== config.vocabSize)
      throw new Error(`its tokenizer has ${tokenizer.size} tokens and its weights know ${config.vocabSize}`);
    const layout = decoderLayout(config);
    const theta = new Float32Array(layout.size);
    for (const { name, shape } of layout.specs) {
      if (String(tensors[name]?.dims) !== String(shape))
        throw new Error(`tensor "${name}" has shape [${tensors[name]?.dims}] where [${shape}] is needed`);
      layout.view(theta, name).set(tensors[name].data as Float32Array);
    }
    return { decoder: new Decoder(new DecoderSessions(config), theta), tokenizer };
  });
}

/**
 * Writes (or atomically replaces) the folder of a training under way. Without the documents: the caller has them.
 * @throws STORAGE_FULL or STORAGE_FAILED, leaving what was there
 */
export async function saveTraining(
  folder: string,
  { config, settings, state: { step, arrays } }: DecoderTrainer,
): Promise<void> {
  const columns = Object.entries(arrays).map(([name, array]): [string, Tensor] => [name, float32(array)]);
  const about = { format: 'reverie-decoder-training', formatVersion: 1, step, config, settings };
  await writeFolder(folder, TRAINING, about, { [STATE]: encodeTensors(Object.fromEntries(columns)) });
}

/**
 * Has a trainer go on from a folder of `saveTraining`, as if it had never stopped.
 * @throws MODEL_FILE_INVALID if it is damaged or of a training with other settings
 */
export async function resumeTraining(folder: string, trainer: DecoderTrainer): Promise<void> {
  const { about, tensors } = await readFolder(folder, TRAINING, trainingSchema, STATE);
  inFolder(folder, TRAINING, () => {
    for (const name of ['config', 'settings'] as const) {
      const [own, theirs] = [trainer[name] as unknown as Readonly<Record<string, unknown>>, about[name]];
      const key = Object.keys(own).find((each) => String(theirs[each]) !== String(own[each]));
      if (key !== undefined) throw new Error(`it was trained with ${key} ${theirs[key]}, not ${own[key]}`);
    }
    const array = (name: string) => {
      if (tensors[name] === undefined) throw new Error(`${STATE} lacks "${name}"`);
      return tensors[name].data as Float32Array;
    };
    trainer.state = { step: about.step, arrays: { theta: array('theta'), m: array('m'), v: array('v') } };
  });
}

/** Writes the files, and a sealed manifest that has their hashes. */
async function writeFolder(
  folder: string,
  manifest: string,
  about: Readonly<Record<string, unknown>>,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  const hashes = Object.fromEntries(Object.entries(files).map(([file, content]) => [file, sha256(content)]));
  await replaceFolderAtomic(folder, async (temporary) => {
    for (const [file, content] of Object.entries(files)) await writeFile(join(temporary, file), content);
    await writeFile(join(temporary, manifest), sealedText({ ...about, files: hashes }));
  });
}

async function readFolder<T extends { readonly files: Readonly<Record<string, string>> }>(
  folder: string,
  manifest: string,
  schema: z.ZodType<T>,
  weights: string,
): Promise<{ about: T; tensors: Record<string, Tensor> }> {
  await recoverFolder(folder);
  const read = (file: string) =>
    readFile(join(folder, file)).catch((error: Error) => {
      throw folderInvalid(folder, error.message, error);
    });
  const text = String(await read(manifest));
  const about = inFolder(folder, manifest, () => schema.parse(openSealed(text)));
  const bytes = await read(weights);
  if (about.files[weights] !== sha256(bytes))
    throw folderInvalid(folder, `${weights} was changed after it was written`);
  return { about, tensors: inFolder(folder, weights, () => decodeTensors(bytes)) };
}

/** What `read` answers; its plain errors become those of a file in the folder. */
function inFolder<T>(folder: string, file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ReverieError) throw error;
    const reason = error instanceof z.ZodError ? describeIssues(error) : (error as Error).message;
    throw folderInvalid(folder, `${file}: ${reason}`, error);
  }
}

function folderInvalid(folder: string, problem: string, cause?: unknown): Error {
  const hint = 'Restore the folder as `reverie fit` wrote it, or fit the model again.';
  return reverieError(
    'MODEL_FILE_INVALID',
    { problem: `Decoder "${folder}" cannot be loaded: ${problem}.`, hint },
    cause,
  );
}
