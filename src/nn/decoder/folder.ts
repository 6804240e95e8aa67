// A decoder as a folder in Hugging Face's layout, which `transformers` opens; and a training
// under way, from which it resumes to the byte. Folders are written whole or not at all.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../../core/canonical-json.js';
import { describeIssues, ReverieError, reverieError } from '../../core/errors.js';
import { openSealed, recoverFolder, replaceFolderAtomic, sealedText } from '../../core/files.js';
import { decodeTensors, encodeTensors } from '../safetensors.js';
import { float32 } from '../tensor.js';
import { configFromHuggingFace, type DecoderConfig, huggingFaceConfig, type SpecialIds } from './config.js';
import { Decoder } from './decoder.js';
import { huggingFaceTensors, thetaOfTensors } from './parameters.js';
import { DecoderSessions } from './sessions.js';
import { Tokenizer } from './tokenizer.js';
import type { DecoderTrainer, DecoderTrainingState } from './trainer.js';

const CONFIG = 'config.json';
const WEIGHTS = 'model.safetensors';
const TOKENIZER = 'tokenizer.json';
/** Hashes of the other files, sealed; a folder from elsewhere has none. */
const MANIFEST = 'reverie.json';

/** What `loadDecoder` reads of a folder of `saveDecoder`. */
export const DECODER_FILES: readonly string[] = [CONFIG, WEIGHTS, TOKENIZER, MANIFEST];

const manifestSchema = z.strictObject({
  format: z.literal('reverie-decoder'),
  formatVersion: z.literal(1),
  files: z.record(z.string(), z.string()),
});

const json = (content: unknown) => `${JSON.stringify(content, null, 2)}\n`;

/**
 * Writes (or atomically replaces) the folder. The same decoder gives the same bytes.
 * @param more texts written beside it, by name, and hashed as its own files are
 * @throws DATA_MISMATCH for a tokenizer of another size; STORAGE_FULL or STORAGE_FAILED, leaving what was there
 */
export async function saveDecoder(
  folder: string,
  decoder: Decoder,
  tokenizer: Tokenizer,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { config, theta } = decoder;
  if (tokenizer.size !== config.vocabSize) {
    const problem = `a tokenizer of ${tokenizer.size} tokens for a vocabulary of ${config.vocabSize}`;
    throw reverieError('DATA_MISMATCH', {
      problem: `The decoder was given ${problem}.`,
      hint: 'Save the tokenizer that it was trained with.',
    });
  }
  const contents: Record<string, string | Uint8Array> = {
    [CONFIG]: json(huggingFaceConfig(config, tokenizer.special)),
    [WEIGHTS]: encodeTensors(huggingFaceTensors(config, theta), { format: 'pt' }),
    [TOKENIZER]: tokenizer.toJson(),
    'tokenizer_config.json': json(tokenizerConfig(tokenizer, config)),
    ...more,
  };
  const files = Object.fromEntries(Object.entries(contents).map(([file, content]) => [file, sha256(content)]));
  await replaceFolderAtomic(folder, async (temporary) => {
    for (const [file, content] of Object.entries(contents)) await writeFile(join(temporary, file), content);
    await writeFile(join(temporary, MANIFEST), sealedText({ format: 'reverie-decoder', formatVersion: 1, files }));
  });
}

function tokenizerConfig({ parts, special }: Tokenizer, { contextLength }: DecoderConfig): Record<string, unknown> {
  return {
    tokenizer_class: 'PreTrainedTokenizerFast',
    bos_token: parts.tokens[special.begin],
    eos_token: parts.tokens[special.end],
    pad_token: parts.tokens[special.pad],
    model_max_length: contextLength,
    clean_up_tokenization_spaces: false,
  };
}

/**
 * The decoder and tokenizer of a folder: one of `saveDecoder`, or any LlamaForCausalLM with a byte-level tokenizer like GPT-2's.
 * @throws MODEL_FILE_INVALID for a missing, damaged or foreign file; SETTING_INVALID, MODEL_FILE_INVALID
 */
export async function loadDecoder(folder: string): Promise<{ decoder: Decoder; tokenizer: Tokenizer }> {
  await recoverFolder(folder);
  const read = await filesOf(folder);
  const content = parseJson(folder, CONFIG, await read(CONFIG));
  const config = configFromHuggingFace(content);
  const tokenizer = Tokenizer.fromJson(String(await read(TOKENIZER)), join(folder, TOKENIZER), specialIds(content));
  if (tokenizer.size !== config.vocabSize) {
    const problem = `its tokenizer has ${tokenizer.size} tokens and its weights know ${config.vocabSize}`;
    throw reverieError('MODEL_FILE_INVALID', {
      problem: `Decoder "${folder}" cannot be loaded: ${problem}.`,
      hint: 'Give a folder with config.json, model.safetensors and tokenizer.json that belong together, as `saveDecoder` writes it.',
    });
  }
  const weights = await read(WEIGHTS);
  const tensors = inFolder(folder, WEIGHTS, () => decodeTensors(weights));
  const theta = thetaOfTensors(config, tensors, folder);
  return { decoder: new Decoder(new DecoderSessions(config), theta), tokenizer };
}

/** A reader of the folder's files, each held to its hash where there is a manifest. */
async function filesOf(folder: string): Promise<(file: string) => Promise<Buffer>> {
  const sealed = await readFile(join(folder, MANIFEST), 'utf8').catch(() => undefined);
  const manifest = sealed === undefined ? undefined : readManifest(folder, sealed);
  return async (file) => {
    const bytes = await readFile(join(folder, file)).catch((error: Error) => {
      throw reverieError(
        'MODEL_FILE_INVALID',
        {
          problem: `Decoder "${folder}" cannot be loaded: ${error.message}.`,
          hint: 'Give a folder with config.json, model.safetensors and tokenizer.json that belong together, as `saveDecoder` writes it.',
        },
        error,
      );
    });
    if (manifest === undefined || manifest.files[file] === sha256(bytes)) return bytes;
    throw reverieError('MODEL_FILE_INVALID', {
      problem: `Decoder "${folder}" cannot be loaded: ${`${file} was changed after it was written`}.`,
      hint: 'Give a folder with config.json, model.safetensors and tokenizer.json that belong together, as `saveDecoder` writes it.',
    });
  };
}

function readManifest(folder: string, text: string): z.infer<typeof manifestSchema> {
  return inFolder(folder, MANIFEST, () => manifestSchema.parse(openSealed(text)));
}

/** What `read` answers; its plain errors become those of a file in the folder. */
function inFolder<T>(folder: string, file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ReverieError) throw error;
    const reason = error instanceof z.ZodError ? describeIssues(error) : (error as Error).message;
    throw reverieError(
      'MODEL_FILE_INVALID',
      {
        problem: `Decoder "${folder}" cannot be loaded: ${`${file}: ${reason}`}.`,
        hint: 'Give a folder with config.json, model.safetensors and tokenizer.json that belong together, as `saveDecoder` writes it.',
      },
      error,
    );
  }
}

function parseJson(folder: string, file: string, bytes: Buffer): unknown {
  return inFolder(folder, file, () => JSON.parse(bytes.toString('utf8')));
}

const id = z.int().min(0);
const idsSchema = z.object({ bos_token_id: id, eos_token_id: id, pad_token_id: id.nullish() });

/** Ids with a role, where the config names them; without an id for padding, the end's. */
function specialIds(content: unknown): SpecialIds | undefined {
  const parsed = idsSchema.safeParse(content);
  if (!parsed.success) return undefined;
  const { bos_token_id: begin, eos_token_id: end, pad_token_id: pad } = parsed.data;
  return { begin, end, pad: pad ?? end };
}

const TRAINING = 'training.json';
const STATE = 'training.safetensors';

const trainingSchema = z.strictObject({
  format: z.literal('reverie-decoder-training'),
  formatVersion: z.literal(1),
  step: z.int().min(0),
  config: z.record(z.string(), z.unknown()),
  settings: z.record(z.string(), z.unknown()),
  sha256: z.string(),
});

/**
 * Writes (or atomically replaces) the folder of a training under way. Not the documents: whoever trains has them.
 * @throws STORAGE_FULL or STORAGE_FAILED, leaving what was there
 */
export async function saveTraining(folder: string, trainer: DecoderTrainer): Promise<void> {
  const { step, arrays } = trainer.state();
  const bytes = encodeTensors(
    Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, float32(array)])),
  );
  const { config, settings } = trainer;
  const manifest = {
    format: 'reverie-decoder-training',
    formatVersion: 1,
    step,
    config,
    settings,
    sha256: sha256(bytes),
  };
  await replaceFolderAtomic(folder, async (temporary) => {
    await writeFile(join(temporary, STATE), bytes);
    await writeFile(join(temporary, TRAINING), sealedText(manifest));
  });
}

/**
 * Has a trainer go on from a folder of `saveTraining`, as if it had never stopped.
 * @throws MODEL_FILE_INVALID if it is damaged or of a training with other settings
 */
export async function resumeTraining(folder: string, trainer: DecoderTrainer): Promise<void> {
  await recoverFolder(folder);
  const read = (file: string) =>
    readFile(join(folder, file)).catch((error: Error) => {
      throw reverieError(
        'MODEL_FILE_INVALID',
        {
          problem: `Decoder "${folder}" cannot be loaded: ${error.message}.`,
          hint: 'Give a folder with config.json, model.safetensors and tokenizer.json that belong together, as `saveDecoder` writes it.',
        },
        error,
      );
    });
  const [text, bytes] = [String(await read(TRAINING)), await read(STATE)];
  trainer.restore(inFolder(folder, TRAINING, () => stateOf(text, bytes, trainer)));
}

function stateOf(text: string, bytes: Buffer, { config, settings }: DecoderTrainer): DecoderTrainingState {
  const manifest = trainingSchema.parse(openSealed(text));
  for (const [name, own] of Object.entries({ config, settings })) {
    const theirs = manifest[name as 'config' | 'settings'];
    const key = Object.keys(own).find((each) => String(theirs[each]) !== String(own[each as keyof typeof own]));
    if (key !== undefined)
      throw new Error(`it was trained with ${key} ${theirs[key]}, not ${own[key as keyof typeof own]}`);
  }
  if (manifest.sha256 !== sha256(bytes)) throw new Error(`${STATE} does not match its hash`);
  const { theta, m, v } = decodeTensors(bytes);
  const arrays = { theta, m, v };
  const missing = Object.entries(arrays).find(([, tensor]) => tensor === undefined);
  if (missing !== undefined) throw new Error(`${STATE} lacks "${missing[0]}"`);
  return {
    step: manifest.step,
    arrays: {
      theta: theta.data as Float32Array,
      m: m.data as Float32Array,
      v: v.data as Float32Array,
    },
  };
}
