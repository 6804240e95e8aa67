// The decoder's weights: how they lie in one vector, how they start, and their names and shapes in Hugging Face's files.

import { reverieError } from '../../core/errors.js';
import { ParamLayout, type ParamSpec } from '../parameters.js';
import { float32, type Tensor } from '../tensor.js';
import type { DecoderConfig } from './config.js';

/** Of the embedding; small, so that a tied output layer starts with nearly equal logits. */
const EMBEDDING_DEVIATION = 0.1;

/**
 * All parameters in one vector. Matrices are kept [in, out], as x · w takes them; those that meet the same input lie side by
 * side in one: `qkv` has the columns of queries, keys and values, `gateUp` those of the gate and of what it lets through.
 * They start normal with deviation 1 / sqrt(in).
 */
export function decoderLayout(config: DecoderConfig): ParamLayout {
  const { hiddenSize: d, intermediateSize: f, vocabSize, heads, kvHeads, headDim } = config;
  const matrix = (name: string, rows: number, columns: number): ParamSpec => ({
    name,
    shape: [rows, columns],
    init: { kind: 'normal', deviation: 1 / Math.sqrt(rows) },
  });
  const table = (name: string): ParamSpec => ({
    name,
    shape: [vocabSize, d],
    init: { kind: 'normal', deviation: EMBEDDING_DEVIATION },
  });
  const norm = (name: string): ParamSpec => ({ name, shape: [d], init: { kind: 'constant', value: 1 } });
  const blocks = Array.from({ length: config.layers }, (_, i) => [
    norm(`layer${i}.attentionNorm`),
    matrix(`layer${i}.qkv`, d, (heads + 2 * kvHeads) * headDim),
    matrix(`layer${i}.attentionOut`, heads * headDim, d),
    norm(`layer${i}.mlpNorm`),
    matrix(`layer${i}.gateUp`, d, 2 * f),
    matrix(`layer${i}.down`, f, d),
  ]);
  return new ParamLayout([
    table('embedding'),
    ...blocks.flat(),
    norm('norm'),
    ...(config.tieEmbeddings ? [] : [table('head')]),
  ]);
}

/** One for each element of theta that weight decay shrinks (matrices), zero for the others (norms). */
export function decayMask(layout: ParamLayout): Float32Array {
  const mask = new Float32Array(layout.size);
  for (const { name, shape } of layout.specs) if (shape.length > 1) layout.view(mask, name).fill(1);
  return mask;
}

/** A tensor of Hugging Face's file: [out, in], the transpose of these columns of one of our matrices; or the whole of ours. */
interface FilePart {
  readonly file: string;
  readonly own: string;
  readonly columns?: readonly [from: number, to: number];
}

function fileParts(config: DecoderConfig): FilePart[] {
  const { heads, kvHeads, headDim, intermediateSize: f, hiddenSize: d } = config;
  const q = heads * headDim;
  const k = kvHeads * headDim;
  const blocks = Array.from({ length: config.layers }, (_, i): FilePart[] => {
    const [file, own] = [`model.layers.${i}`, `layer${i}`];
    return [
      { file: `${file}.input_layernorm.weight`, own: `${own}.attentionNorm` },
      { file: `${file}.self_attn.q_proj.weight`, own: `${own}.qkv`, columns: [0, q] },
      { file: `${file}.self_attn.k_proj.weight`, own: `${own}.qkv`, columns: [q, q + k] },
      { file: `${file}.self_attn.v_proj.weight`, own: `${own}.qkv`, columns: [q + k, q + 2 * k] },
      { file: `${file}.self_attn.o_proj.weight`, own: `${own}.attentionOut`, columns: [0, d] },
      { file: `${file}.post_attention_layernorm.weight`, own: `${own}.mlpNorm` },
      { file: `${file}.mlp.gate_proj.weight`, own: `${own}.gateUp`, columns: [0, f] },
      { file: `${file}.mlp.up_proj.weight`, own: `${own}.gateUp`, columns: [f, 2 * f] },
      { file: `${file}.mlp.down_proj.weight`, own: `${own}.down`, columns: [0, d] },
    ];
  });
  return [
    { file: 'model.embed_tokens.weight', own: 'embedding' },
    ...blocks.flat(),
    { file: 'model.norm.weight', own: 'norm' },
    ...(config.tieEmbeddings ? [] : [{ file: 'lm_head.weight', own: 'head' }]),
  ];
}

/** The weights as tensors with Hugging Face's names and shapes; copies. */
export function huggingFaceTensors(config: DecoderConfig, theta: Float32Array): Record<string, Tensor> {
  const layout = decoderLayout(config);
  const shapes = new Map(layout.specs.map(({ name, shape }) => [name, shape]));
  const entries = fileParts(config).map(({ file, own, columns }): [string, Tensor] => {
    const shape = shapes.get(own)!;
    const values = layout.view(theta, own);
    if (columns === undefined) return [file, float32(values.slice(), shape)];
    const [from, to] = columns;
    const [rows, width] = shape;
    const out = new Float32Array((to - from) * rows);
    for (let c = from; c < to; c++) for (let r = 0; r < rows; r++) out[(c - from) * rows + r] = values[r * width + c];
    return [file, float32(out, [to - from, rows])];
  });
  return Object.fromEntries(entries);
}

/**
 * Theta from tensors with Hugging Face's names and shapes.
 * @param path where they came from, for messages
 * @throws MODEL_FILE_INVALID if one is missing or of another shape
 */
export function thetaOfTensors(
  config: DecoderConfig,
  tensors: Readonly<Record<string, Tensor>>,
  path: string,
): Float32Array {
  const layout = decoderLayout(config);
  const theta = new Float32Array(layout.size);
  const shapes = new Map(layout.specs.map(({ name, shape }) => [name, shape]));
  for (const { file, own, columns } of fileParts(config)) {
    const [rows, width] = shapes.get(own)!;
    const dims = columns === undefined ? shapes.get(own)! : [columns[1] - columns[0], rows];
    const tensor = tensors[file];
    if (String(tensor?.dims) !== String(dims)) {
      const found = tensor === undefined ? 'is missing' : `has shape [${tensor.dims}]`;
      const problem = `tensor "${file}" ${found} where [${dims}] is needed`;
      throw reverieError('MODEL_FILE_INVALID', {
        problem: `Decoder "${path}" cannot be loaded: ${problem}.`,
        hint: 'Give a folder with config.json, model.safetensors and tokenizer.json that belong together, as `saveDecoder` writes it.',
      });
    }
    const target = layout.view(theta, own);
    const source = tensor.data as Float32Array;
    if (columns === undefined) target.set(source);
    else
      for (let i = 0; i < source.length; i++)
        target[(i % rows) * width + columns[0] + Math.floor(i / rows)] = source[i];
  }
  return theta;
}
