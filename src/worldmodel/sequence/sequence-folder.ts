// A sequence model on disk: a decoder's folder, which `transformers` opens, and beside it what it was trained to be shown, how its
// probabilities are calibrated, and how right it was on held-out steps.
//
//   model.safetensors, config.json, tokenizer.json, ...   the decoder
//   sequence.json                                         the rest, sealed; names the decoder by its hash

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Json } from '../../core/canonical-json.js';
import { canonicalJson, sha256 } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import { recoverFolder, sealedText } from '../../core/files.js';
import type { Decoder } from '../../nn/decoder/decoder.js';
import { DECODER_FILES, loadDecoder, saveDecoder } from '../../nn/decoder/folder.js';
import type { Tokenizer } from '../../nn/decoder/tokenizer.js';
import { type Calibration, calibrationSchema } from '../from-records/calibration.js';
import { modelFolder, readSealed } from '../from-records/model-file.js';
import type { BackendFitReport } from '../tools/backend-model.js';
import type { FormSettings } from './step-form.js';
import { WORLD_KINDS } from './world-form.js';

const FILE = 'sequence.json';
const HINT = 'Give a run of `reverie fit` with a sequence model, or restore its folder from a copy.';

const count = z.int().min(0);
const share = z.number().min(0).max(1);

const reportSchema = z.strictObject({
  /** Held-out steps that it was judged by. */
  steps: count,
  /** Shares of these: with exactly the true changes, and done or refused as it truly is; with the true text; with both. */
  stateExact: share,
  textExact: share,
  exact: share,
  /** With the true end and reward. */
  endExact: share,
  /** Answered at least as surely as the bar of confidence, and the share of these that is right. */
  sure: share,
  exactOfSure: share.nullable(),
  byChanges: z.array(z.strictObject({ changes: count, steps: count, stateExact: share })),
  /** Recorded steps that it learned from; those that differ; those left out for their length. */
  learnedFrom: count,
  distinct: count,
  tooLong: count,
});

const formSchema: z.ZodType<FormSettings> = z.strictObject({
  world: z.enum(WORLD_KINDS),
  history: count,
  memory: count,
  types: z.strictObject({ constant: z.array(z.string()), sole: z.array(z.string()) }),
  shared: z.array(z.string()),
  atOnce: z.int().min(1).optional(),
});

const contentsSchema = z.strictObject({
  format: z.literal('reverie-sequence'),
  formatVersion: z.literal(1),
  /** The domain it learned in. */
  domain: z.string(),
  decoder: z.string(),
  form: formSchema,
  calibration: calibrationSchema,
  report: reportSchema,
});

/** A model whole. */
export interface SequenceContents {
  readonly decoder: Decoder;
  readonly tokenizer: Tokenizer;
  readonly form: FormSettings;
  readonly calibration: Calibration;
  readonly report: BackendFitReport;
  readonly domain: string;
}

/** Changes whenever an answer could: weights, tokens, form and calibration. */
export function versionOf({ decoder, tokenizer, form, calibration }: SequenceContents): string {
  const rest = canonicalJson({ form, calibration } as unknown as Json);
  return `sequence:${sha256(`${decoderHash(decoder, tokenizer)} ${rest}`).slice(0, 16)}`;
}

/** Writes (or atomically replaces) the folder; the same model gives the same bytes. @throws STORAGE_FULL, STORAGE_FAILED */
export async function saveSequence(folder: string, contents: SequenceContents): Promise<void> {
  const { decoder, tokenizer, form, calibration, report, domain } = contents;
  const about = { domain, decoder: decoderHash(decoder, tokenizer), form, calibration, report };
  const text = sealedText({ format: 'reverie-sequence', formatVersion: 1, ...about });
  await saveDecoder(folder, decoder, tokenizer, { [FILE]: text });
}

/** The files that `loadSequence` reads, by their names. */
export async function sequenceFiles(given: string): Promise<Record<string, Uint8Array>> {
  const folder = modelFolder(given, FILE);
  const names = [FILE, ...DECODER_FILES];
  const read = await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const));
  return Object.fromEntries(read);
}

/** @throws MODEL_FILE_INVALID, MODEL_FILE_INVALID for what is missing, damaged or does not belong together */
export async function loadSequence(given: string): Promise<SequenceContents> {
  for (const folder of [join(given, 'model'), given]) await recoverFolder(folder);
  const folder = modelFolder(given, FILE);
  const {
    format,
    formatVersion,
    decoder: hash,
    ...about
  } = await readSealed(folder, FILE, {
    schema: contentsSchema,
    hint: HINT,
  });
  const { decoder, tokenizer } = await loadDecoder(folder);
  if (decoderHash(decoder, tokenizer) !== hash)
    throw reverieError('MODEL_FILE_INVALID', {
      problem: `World model "${folder}" cannot be loaded: ${`its ${FILE} was written for other weights or another tokenizer.`}`,
      hint: HINT,
    });
  return { decoder, tokenizer, ...about };
}

function decoderHash({ theta, config }: Decoder, tokenizer: Tokenizer): string {
  const weights = sha256(new Uint8Array(theta.buffer, theta.byteOffset, theta.byteLength));
  return sha256(`${weights} ${canonicalJson(config as unknown as Json)} ${tokenizer.toJson()}`);
}
