// Networks, gradients and optimisers on ONNX Runtime.

import type { Graph, Tensor } from '../../src/nn/graph.js';
import { InferenceSession } from '../../src/nn/runtime.js';

export { DIFFERENTIABLE_OPS, gradients } from '../../src/nn/autodiff.js';
export { Decoder, type Generated, type GenerateOptions } from '../../src/nn/decoder/decoder.js';
export { loadDecoder, resumeTraining, saveDecoder, saveTraining } from '../../src/nn/decoder/folder.js';
export type { DecoderConfig } from '../../src/nn/decoder/network.js';
export { Tokenizer, trainTokenizer } from '../../src/nn/decoder/tokenizer.js';
export {
  DecoderTrainer,
  type DecoderTraining,
  layOut,
  PackedCorpus,
  planRows,
  type TrainingDocument,
} from '../../src/nn/decoder/trainer.js';
export { type Dim, elementCount, float32, Graph, type Tensor, type Value } from '../../src/nn/graph.js';
export * from '../../src/nn/ops.js';
export * from '../../src/nn/parameters.js';
export { InferenceSession } from '../../src/nn/runtime.js';
export { buildTrainer, type TrainerSpec, trainingGraph } from '../../src/nn/trainer.js';

/** The outputs of a graph, by ONNX Runtime. */
export async function evaluated(
  graph: Graph,
  feeds: Readonly<Record<string, Tensor>> = {},
): Promise<Record<string, Tensor>> {
  const session = await InferenceSession.fromBytes(graph.toModel());
  const results = await session.run(feeds);
  await session.release();
  return results;
}
