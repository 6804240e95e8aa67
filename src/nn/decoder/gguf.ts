// The decoder as one GGUF file (version 3), which llama.cpp and what is built on it open: settings, tokenizer, float32 weights.

import type { DecoderConfig } from './config.js';
import { huggingFaceTensors } from './parameters.js';
import type { Tokenizer } from './tokenizer.js';

const VERSION = 3;
const ALIGNMENT = 32;

/** `gguf_metadata_value_type` of the types written. */
const TYPE = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const;
/** `llama_token_type`. */
const TOKEN_TYPE = { normal: 1, control: 3 } as const;
/** `ggml_type` of float32. */
const F32 = 0;

class Writer {
  private readonly parts: Uint8Array[] = [];
  length = 0;

  bytes(bytes: Uint8Array): void {
    this.parts.push(bytes);
    this.length += bytes.length;
  }

  uint32(value: number): void {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, value, true);
    this.bytes(bytes);
  }

  float32(value: number): void {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    this.bytes(bytes);
  }

  uint64(value: number): void {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true);
    this.bytes(bytes);
  }

  string(text: string): void {
    const bytes = new TextEncoder().encode(text);
    this.uint64(bytes.length);
    this.bytes(bytes);
  }

  padTo(alignment: number): void {
    this.bytes(new Uint8Array((alignment - (this.length % alignment)) % alignment));
  }

  finish(): Uint8Array {
    const whole = new Uint8Array(this.length);
    let at = 0;
    for (const part of this.parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
}

type Entry = readonly [key: string, write: (writer: Writer) => void];

const uint32 = (key: string, value: number): Entry => [
  key,
  (writer) => {
    writer.uint32(TYPE.uint32);
    writer.uint32(value);
  },
];
const float32 = (key: string, value: number): Entry => [
  key,
  (writer) => {
    writer.uint32(TYPE.float32);
    writer.float32(value);
  },
];
const string = (key: string, value: string): Entry => [
  key,
  (writer) => {
    writer.uint32(TYPE.string);
    writer.string(value);
  },
];
const bool = (key: string, value: boolean): Entry => [
  key,
  (writer) => {
    writer.uint32(TYPE.bool);
    writer.bytes(Uint8Array.of(Number(value)));
  },
];
const list = <T>(key: string, type: number, values: readonly T[], write: (writer: Writer, value: T) => void): Entry => [
  key,
  (writer) => {
    writer.uint32(TYPE.array);
    writer.uint32(type);
    writer.uint64(values.length);
    for (const value of values) write(writer, value);
  },
];

function settings(config: DecoderConfig, tokenizer: Tokenizer, name: string): Entry[] {
  const { tokens, merges, specials } = tokenizer.parts;
  const { begin, end, pad } = tokenizer.special;
  const control = new Set(specials);
  const types = tokens.map((_, id) => (control.has(id) ? TOKEN_TYPE.control : TOKEN_TYPE.normal));
  const pairs = merges.map(([left, right]) => `${tokens[left]} ${tokens[right]}`);
  const writeString = (writer: Writer, value: string) => writer.string(value);
  return [
    string('general.architecture', 'llama'),
    string('general.name', name),
    uint32('general.file_type', 0),
    uint32('general.alignment', ALIGNMENT),
    uint32('llama.context_length', config.contextLength),
    uint32('llama.embedding_length', config.hiddenSize),
    uint32('llama.block_count', config.layers),
    uint32('llama.feed_forward_length', config.intermediateSize),
    uint32('llama.attention.head_count', config.heads),
    uint32('llama.attention.head_count_kv', config.kvHeads),
    uint32('llama.attention.key_length', config.headDim),
    uint32('llama.attention.value_length', config.headDim),
    float32('llama.attention.layer_norm_rms_epsilon', config.normEpsilon),
    uint32('llama.rope.dimension_count', config.headDim),
    float32('llama.rope.freq_base', config.ropeTheta),
    uint32('llama.vocab_size', config.vocabSize),
    string('tokenizer.ggml.model', 'gpt2'),
    string('tokenizer.ggml.pre', 'gpt-2'),
    list('tokenizer.ggml.tokens', TYPE.string, tokens, writeString),
    list('tokenizer.ggml.token_type', TYPE.int32, types, (writer, value) => writer.uint32(value)),
    list('tokenizer.ggml.merges', TYPE.string, pairs, writeString),
    uint32('tokenizer.ggml.bos_token_id', begin),
    uint32('tokenizer.ggml.eos_token_id', end),
    uint32('tokenizer.ggml.padding_token_id', pad),
    bool('tokenizer.ggml.add_bos_token', false),
    bool('tokenizer.ggml.add_eos_token', false),
    bool('tokenizer.ggml.add_space_prefix', false),
  ];
}

const BLOCK_NAMES: Readonly<Record<string, string>> = {
  input_layernorm: 'attn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  post_attention_layernorm: 'ffn_norm',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
};
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'model.embed_tokens.weight': 'token_embd.weight',
  'model.norm.weight': 'output_norm.weight',
  'lm_head.weight': 'output.weight',
};

function ggufName(name: string): string {
  const block = /^model\.layers\.(\d+)\.(.+)\.weight$/.exec(name);
  return block === null ? OTHER_NAMES[name] : `blk.${block[1]}.${BLOCK_NAMES[block[2]]}.weight`;
}

/** Rows of queries and keys as llama.cpp turns them: neighbours (2i, 2i + 1), where Hugging Face turns (i, i + n/2). */
function asNeighbours(data: Float32Array, headDim: number, columns: number): Float32Array {
  const out = new Float32Array(data.length);
  const rows = data.length / columns;
  for (let row = 0; row < rows; row++) {
    const within = row % headDim;
    const source = row - within + (within % 2) * (headDim / 2) + (within >> 1);
    out.set(data.subarray(source * columns, (source + 1) * columns), row * columns);
  }
  return out;
}

/** The file's bytes. @param name of the model, as programs show it */
export function encodeGguf(config: DecoderConfig, theta: Float32Array, tokenizer: Tokenizer, name: string): Uint8Array {
  const tensors = Object.entries(huggingFaceTensors(config, theta)).map(([key, { dims, data }]) => {
    const isTurned = /\.(q|k)_proj\.weight$/.test(key);
    const values = data as Float32Array;
    return { name: ggufName(key), dims, data: isTurned ? asNeighbours(values, config.headDim, dims[1]) : values };
  });
  const entries = settings(config, tokenizer, name);
  const writer = new Writer();
  writer.bytes(new TextEncoder().encode('GGUF'));
  writer.uint32(VERSION);
  writer.uint64(tensors.length);
  writer.uint64(entries.length);
  for (const [key, write] of entries) {
    writer.string(key);
    write(writer);
  }
  let offset = 0;
  for (const { name: tensor, dims, data } of tensors) {
    writer.string(tensor);
    writer.uint32(dims.length);
    for (const size of [...dims].reverse()) writer.uint64(size);
    writer.uint32(F32);
    writer.uint64(offset);
    offset += Math.ceil(data.byteLength / ALIGNMENT) * ALIGNMENT;
  }
  writer.padTo(ALIGNMENT);
  for (const { data } of tensors) {
    writer.bytes(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    writer.padTo(ALIGNMENT);
  }
  return writer.finish();
}
