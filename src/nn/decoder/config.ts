// What a decoder is made of: the Llama architecture (Touvron et al. 2023) in the words of this house, and as the
// `config.json` of Hugging Face's LlamaForCausalLM.

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
