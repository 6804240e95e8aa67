// Networks, gradients and optimisers on ONNX Runtime.

import type { Graph, Tensor } from '../../src/nn/graph.js';
import { InferenceSession } from '../../src/nn/runtime.js';

export { DIFFERENTIABLE_OPS, gradients } from '../../src/nn/autodiff.js';
export {
  type CudaStatus,
  cudaStatus,
  DeviceEnsemble,
  type DeviceRollout,
  type DeviceStep,
  type DeviceTarget,
  deviceFit,
  deviceTrial,
  isKnownToDevices,
  nativeWidth,
  nativeWidths,
  requireDevice,
} from '../../src/nn/cuda.js';
export type {
  ActorCriticShape,
  AddonRollout,
  DeviceFit,
  EnsembleWeights,
  GpuDescription,
  LayerWeights,
  MemberWeights,
  PolicyWeights,
  Precision,
} from '../../src/nn/cuda-addon.js';
export { type DecoderConfig, type DecoderConfigInput, decoderConfig } from '../../src/nn/decoder/config.js';
export { Decoder, DecoderSessions } from '../../src/nn/decoder/decoder.js';
export { loadDecoder, resumeTraining, saveDecoder, saveTraining } from '../../src/nn/decoder/folder.js';
export type {
  Generated,
  GenerateOptions,
  TokenSequence,
} from '../../src/nn/decoder/generation.js';
export { Tokenizer, trainTokenizer } from '../../src/nn/decoder/tokenizer.js';
export type { DecoderTrainingInput, DecoderTrainingSettings } from '../../src/nn/decoder/trainer.js';
export {
  DecoderTrainer,
  type DecoderTrainerOptions,
  type DecoderTrainingState,
  type PackedBatch,
  PackedCorpus,
  type PackedShape,
  packAll,
  type TrainingDocument,
} from '../../src/nn/decoder/trainer.js';
export {
  type CustomGradient,
  type Dim,
  type DType,
  elementCount,
  float32,
  Graph,
  int32,
  type Tensor,
  type TensorData,
  Value,
  withGradient,
} from '../../src/nn/graph.js';
export { modelWeights } from '../../src/nn/model-weights.js';
export * from '../../src/nn/ops.js';
export {
  alongAxis,
  concat,
  expand,
  expandLike,
  gather,
  gemm,
  linear,
  logSoftmax,
  matMul,
  oneHot,
  reduceMax,
  reduceMean,
  reduceSum,
  reshape,
  rmsNorm,
  scatterAdd,
  scatterAddRows,
  slice,
  softmax,
  split,
  squeeze,
  swapLast,
  takeAlongAxis,
  transpose,
  unsqueeze,
} from '../../src/nn/ops.js';
export * from '../../src/nn/parameters.js';
export {
  type Activation,
  type Init,
  type MlpInit,
  mlp,
  mlpSpecs,
  ParamLayout,
  type ParamSpec,
} from '../../src/nn/parameters.js';
export { hasExactRows } from '../../src/nn/row-trial.js';
export { InferenceSession, type SessionOptions } from '../../src/nn/runtime.js';
export { decodeTensors, encodeTensors } from '../../src/nn/safetensors.js';
export {
  buildTrainer,
  type FeedData,
  nativeActorCriticTrainers,
  nativeMemberTrainer,
  type Trainer,
  type TrainerResult,
  type TrainerRun,
  type TrainerSpec,
  type TrainingDevice,
  trainingGraph,
} from '../../src/nn/trainer.js';

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
