// What a decoder is made of: the Llama architecture (Touvron et al. 2023) in the words of this house, and as the
// `config.json` of Hugging Face's LlamaForCausalLM.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../../core/canonical-json.js';
import { describeIssues, ReverieError, reverieError } from '../../core/errors.js';
import { openSealed, recoverFolder, replaceFolderAtomic, sealedText } from '../../core/files.js';
import { float32 } from '../graph.js';
import { decodeTensors, encodeTensors } from '../safetensors.js';
import { Decoder, DecoderSessions } from './decoder.js';
import { huggingFaceTensors, thetaOfTensors } from './network.js';
import { Tokenizer } from './tokenizer.js';
import type { DecoderTrainer, DecoderTrainingState } from './trainer.js';

const size = z.int().min(1);

const fieldsSchema = z.strictObject({
  /** Tokens the model knows; the tokenizer's `size`. */
  vocabSize: size,
  /** Width of the residual stream. */
  hiddenSize: size,
  /** Width of the gated layer (SwiGLU) in each block. */
  intermediateSize: size,
  layers: size,
  /** Heads of queries. */
  heads: size,
  /** Heads of keys and values, each shared by heads / kvHeads of queries (grouped-query attention, Ainslie et al. 2023). */
  kvHeads: size,
  /** Width of a head; even, as rotary positions turn pairs. */
  headDim: size.multipleOf(2),
  /** Most tokens of one document. */
  contextLength: size,
  /** Base of the rotary positions' wavelengths (Su et al. 2021). */
  ropeTheta: z.number().positive().default(10_000),
  normEpsilon: z.number().positive().default(1e-5),
  /** Whether the output layer is the embedding's transpose. */
  tieEmbeddings: z.boolean().default(true),
});

const decoderConfigSchema = fieldsSchema.refine(({ heads, kvHeads }) => heads % kvHeads === 0, {
  message: 'heads must be a multiple of kvHeads',
});

export type DecoderConfig = z.infer<typeof fieldsSchema>;
export type DecoderConfigInput = z.input<typeof fieldsSchema>;

/**
 * The whole configuration, defaults filled in.
 * @throws SETTING_INVALID
 */
export function decoderConfig(input: DecoderConfigInput): DecoderConfig {
  const parsed = decoderConfigSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw reverieError('SETTING_INVALID', {
    problem: `Settings of the decoder: ${describeIssues(parsed.error)}.`,
    hint: 'Sizes are whole numbers; heads are a multiple of kvHeads. A config.json must be that of a LlamaForCausalLM without biases or scaled rotations.',
  });
}

/** Ids that `transformers` and llama.cpp want to know. */
export interface SpecialIds {
  readonly begin: number;
  readonly end: number;
  readonly pad: number;
}

/** The content of `config.json`. */
export function huggingFaceConfig(config: DecoderConfig, special: SpecialIds): Record<string, unknown> {
  return {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    vocab_size: config.vocabSize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    head_dim: config.headDim,
    max_position_embeddings: config.contextLength,
    rope_theta: config.ropeTheta,
    rms_norm_eps: config.normEpsilon,
    tie_word_embeddings: config.tieEmbeddings,
    hidden_act: 'silu',
    attention_bias: false,
    mlp_bias: false,
    attention_dropout: 0,
    initializer_range: 0.02,
    torch_dtype: 'float32',
    use_cache: true,
    bos_token_id: special.begin,
    eos_token_id: special.end,
    pad_token_id: special.pad,
  };
}

const rotationSchema = z.object({
  rope_type: z.literal('default').optional(),
  type: z.literal('default').optional(),
  rope_theta: z.number().optional(),
});

const huggingFaceSchema = z.object({
  model_type: z.literal('llama'),
  vocab_size: size,
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  max_position_embeddings: size,
  rope_theta: z.number().nullish(),
  rope_parameters: rotationSchema.nullish(),
  rope_scaling: rotationSchema.nullish(),
  rms_norm_eps: z.number().default(1e-6),
  tie_word_embeddings: z.boolean().default(false),
  hidden_act: z.literal('silu').default('silu'),
  attention_bias: z.literal(false).default(false),
  mlp_bias: z.literal(false).default(false),
});

/**
 * The configuration that a `config.json` describes; keys that do not change the model are ignored.
 * @throws SETTING_INVALID for another architecture, biases or scaled rotations
 */
export function configFromHuggingFace(content: unknown): DecoderConfig {
  const parsed = huggingFaceSchema.safeParse(content);
  if (!parsed.success)
    throw reverieError('SETTING_INVALID', {
      problem: `Settings of the decoder: ${describeIssues(parsed.error)}.`,
      hint: 'Sizes are whole numbers; heads are a multiple of kvHeads. A config.json must be that of a LlamaForCausalLM without biases or scaled rotations.',
    });
  const given = parsed.data;
  const heads = given.num_attention_heads;
  return decoderConfig({
    vocabSize: given.vocab_size,
    hiddenSize: given.hidden_size,
    intermediateSize: given.intermediate_size,
    layers: given.num_hidden_layers,
    heads,
    kvHeads: given.num_key_value_heads ?? heads,
    headDim: given.head_dim ?? given.hidden_size / heads,
    contextLength: given.max_position_embeddings,
    ropeTheta: given.rope_theta ?? given.rope_parameters?.rope_theta ?? 10_000,
    normEpsilon: given.rms_norm_eps,
    tieEmbeddings: given.tie_word_embeddings,
  });
}

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
