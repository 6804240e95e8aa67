// Networks, gradients and optimisers on ONNX Runtime.

export { DIFFERENTIABLE_OPS, gradients } from '../../src/nn/autodiff.js';
export {
  type CudaStatus,
  cudaStatus,
  DeviceEnsemble,
  type DeviceRollout,
  type DeviceStep,
  type DeviceTarget,
  deviceFit,
  isKnownToDevices,
  nativePeak,
  nativeWidth,
  nativeWidths,
  requireDevice,
} from '../../src/nn/cuda.js';
export type {
  AddonRollout,
  DeviceFit,
  EnsembleWeights,
  GpuDescription,
  LayerWeights,
  MemberWeights,
  PolicyWeights,
  Precision,
  SacShape,
} from '../../src/nn/cuda-addon.js';
export {
  type DecoderConfig,
  type DecoderConfigInput,
  decoderConfig,
  type SpecialIds,
} from '../../src/nn/decoder/config.js';
export { Decoder, type ScoreOptions } from '../../src/nn/decoder/decoder.js';
export { DECODER_FILES, loadDecoder, resumeTraining, saveDecoder, saveTraining } from '../../src/nn/decoder/folder.js';
export type {
  Generated,
  GenerateOptions,
  GenerateRequest,
  TokenSequence,
} from '../../src/nn/decoder/generation.js';
export {
  type PackedBatch,
  PackedCorpus,
  type PackedShape,
  packAll,
  type TrainingDocument,
} from '../../src/nn/decoder/packing.js';
export type { SamplingOptions } from '../../src/nn/decoder/sampling.js';
export { DecoderSessions } from '../../src/nn/decoder/sessions.js';
export { SPECIAL_TOKENS, Tokenizer } from '../../src/nn/decoder/tokenizer.js';
export { type TokenizerTraining, trainTokenizer } from '../../src/nn/decoder/train-tokenizer.js';
export {
  DecoderTrainer,
  type DecoderTrainerOptions,
  type DecoderTrainingState,
} from '../../src/nn/decoder/trainer.js';
export type { DecoderTrainingInput, DecoderTrainingSettings } from '../../src/nn/decoder/training-settings.js';
export { deviceTrial } from '../../src/nn/device-trial.js';
export * from '../../src/nn/distributions.js';
export { type CustomGradient, Graph, Value, withGradient } from '../../src/nn/graph.js';
export { type Activation, type MlpInit, mlp, mlpSpecs } from '../../src/nn/mlp.js';
export { modelWeights } from '../../src/nn/model-weights.js';
export {
  nativeMemberTrainer,
  nativeRedqTrainers,
  nativeSacTrainer,
  type TrainingDevice,
} from '../../src/nn/native-trainer.js';
export * from '../../src/nn/ops-elementwise.js';
export { alongAxis, gather, oneHot, scatterAdd, scatterAddRows, takeAlongAxis } from '../../src/nn/ops-index.js';
export { gemm, linear, matMul } from '../../src/nn/ops-matmul.js';
export { logSoftmax, reduceMax, reduceMean, reduceSum, rmsNorm, softmax } from '../../src/nn/ops-reduce.js';
export {
  concat,
  expand,
  expandLike,
  reshape,
  slice,
  split,
  squeeze,
  swapLast,
  transpose,
  unsqueeze,
} from '../../src/nn/ops-shape.js';
export * from '../../src/nn/optimiser.js';
export { type Init, ParamLayout, type ParamSpec } from '../../src/nn/parameters.js';
export { evaluateReference, type RefArray } from '../../src/nn/reference.js';
export { hasExactRows } from '../../src/nn/row-trial.js';
export { InferenceSession, type SessionOptions } from '../../src/nn/runtime.js';
export { decodeTensors, encodeTensors } from '../../src/nn/safetensors.js';
export {
  type Dim,
  type DType,
  elementCount,
  float32,
  int32,
  type Tensor,
  type TensorData,
} from '../../src/nn/tensor.js';
export {
  buildTrainer,
  type FeedData,
  type OpenSession,
  type Trainer,
  type TrainerResult,
  type TrainerRun,
  type TrainerSpec,
  trainingGraph,
} from '../../src/nn/trainer.js';
