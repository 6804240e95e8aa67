// What a decoder is made of: the Llama architecture (Touvron et al. 2023).

import { z } from 'zod';
import { describeIssues, reverieError } from '../../core/errors.js';

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

/** The whole configuration, defaults filled in. @throws SETTING_INVALID */
export function decoderConfig(input: DecoderConfigInput): DecoderConfig {
  const parsed = decoderConfigSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw settingsInvalid(describeIssues(parsed.error));
}

export function settingsInvalid(problem: string): Error {
  const hint = 'Sizes are whole numbers, and heads a multiple of kvHeads.';
  return reverieError('SETTING_INVALID', { problem: `Settings of the decoder: ${problem}.`, hint });
}

/** What a decoder was given and cannot use. */
export function inputInvalid(problem: string, hint: string): Error {
  return reverieError('DATA_MISMATCH', { problem: `The decoder was given ${problem}.`, hint });
}
