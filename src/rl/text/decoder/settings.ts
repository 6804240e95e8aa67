// What a scenario may say of a decoder that acts, and what it then is made of.

import { z } from 'zod';
import type { DecoderConfig, DecoderConfigInput } from '../../../nn/index.js';

const size = z.int().min(1);

export const decoderPolicySchema = z.strictObject({
  folder: z
    .string()
    .optional()
    .describe(
      'A folder to start from: weights and tokenizer of a LlamaForCausalLM, as `saveDecoder` and transformers write it. The sizes below then do not count. Absent: random weights, and a tokenizer of the texts that are imitated.',
    ),
  vocabulary: z.int().min(259).max(65_536).default(2048).describe('Most tokens of the tokenizer that is learned.'),
  hidden: size.max(4096).default(128).describe('Width of the residual stream.'),
  layers: size.max(64).default(4).describe('Blocks of attention and gated layer.'),
  heads: size.max(128).default(8).describe('Heads of queries; they divide `hidden`.'),
  kvHeads: size.max(128).default(2).describe('Heads of keys and values, each shared by heads / kvHeads of queries.'),
  context: z.int().min(64).max(8192).default(512).describe('Most tokens of a prompt and its command together.'),
  historyTurns: z
    .int()
    .min(0)
    .max(200)
    .default(16)
    .describe(
      'Most turns of an episode that are read; the older half is dropped at once, so that prompts share beginnings.',
    ),
  rows: size
    .max(256)
    .default(4)
    .describe('Rows of `context` tokens of a gradient step; episodes are packed into them.'),
  choices: z
    .int()
    .min(2)
    .max(1024)
    .default(128)
    .describe('Most tokens that the commands of a situation ever leave open at once.'),
  written: z
    .int()
    .min(16)
    .max(4096)
    .optional()
    .describe(
      'Worlds of tools: most tokens of an action, which it then writes itself under the JSON Schemas of the tools. Absent: it chooses among actions that are listed for it.',
    ),
});

/** The same as a checkpoint keeps them: with what the decoder was made of, so that it needs nothing else. */
export const keptDecoderSchema = decoderPolicySchema.extend({
  made: z
    .strictObject({ config: z.custom<DecoderConfig>(isObject), tokenizer: z.string(), critic: z.boolean() })
    .optional(),
});

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

export type DecoderPolicySettings = z.infer<typeof decoderPolicySchema>;

/** A decoder of these settings for a tokenizer. Heads are narrow, so that a whole context is one chain of a product (`chainLength`). */
export function policyDecoderConfig(
  { hidden, layers, heads, kvHeads, context }: DecoderPolicySettings,
  vocabSize: number,
): DecoderConfigInput {
  const intermediateSize = Math.max(16, Math.round((hidden * 8) / 3 / 16) * 16);
  const sizes = { hiddenSize: hidden, intermediateSize, layers, heads, kvHeads };
  return { ...sizes, vocabSize, headDim: Math.floor(hidden / heads), contextLength: context };
}
