// Networks, gradients and optimisers on ONNX Runtime.

export { DIFFERENTIABLE_OPS, gradients } from './autodiff.js';
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
} from './cuda.js';
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
} from './cuda-addon.js';
export type { ChoiceRows, Choices } from './decoder/choices.js';
export { type DecoderConfig, type DecoderConfigInput, decoderConfig, type SpecialIds } from './decoder/config.js';
export { choicesAlong, type TokenConstraint, type TokenLanguage } from './decoder/constraint.js';
export { type Continued, type ContinuedRow, type ContinueOptions, tokenSizeOf } from './decoder/continuation.js';
export { Decoder, type ScoreOptions } from './decoder/decoder.js';
export { DeviceDecoder, decoderFit, decoderPrecision } from './decoder/device-decoder.js';
export { DECODER_FILES, loadDecoder, resumeTraining, saveDecoder, saveTraining } from './decoder/folder.js';
export type {
  Generated,
  GenerateOptions,
  GenerateRequest,
  TokenGenerator,
  TokenSequence,
} from './decoder/generation.js';
export { type DecoderLoss, type LossValues, nextTokenLoss, weightedMean } from './decoder/losses.js';
export {
  layOut,
  type PackedBatch,
  PackedCorpus,
  type PackedShape,
  type Place,
  packAll,
  planRows,
  spread,
  spreadChoices,
  type TrainingDocument,
} from './decoder/packing.js';
export type { SamplingOptions } from './decoder/sampling.js';
export { SchemaLanguage } from './decoder/schema/schema-language.js';
export { DecoderSessions } from './decoder/sessions.js';
export { SPECIAL_TOKENS, Tokenizer } from './decoder/tokenizer.js';
export { type TokenizerTraining, trainTokenizer } from './decoder/train-tokenizer.js';
export {
  DecoderTrainer,
  type DecoderTrainerOptions,
  type DecoderTrainingState,
  type TrainingBatch,
} from './decoder/trainer.js';
export type { DecoderTrainingInput, DecoderTrainingSettings } from './decoder/training-settings.js';
export { TokenTrie } from './decoder/trie.js';
export { deviceTrial } from './device-trial.js';
export * from './distributions.js';
export { type CustomGradient, Graph, Value, withGradient } from './graph.js';
export { type Activation, type MlpInit, mlp, mlpSpecs } from './mlp.js';
export { modelWeights } from './model-weights.js';
export {
  nativeMemberTrainer,
  nativeRedqTrainers,
  nativeSacTrainer,
  nativeTd3BcTrainer,
  type TrainingDevice,
} from './native-trainer.js';
export * from './ops-elementwise.js';
export { alongAxis, gather, oneHot, scatterAdd, scatterAddRows, takeAlongAxis } from './ops-index.js';
export { gemm, linear, matMul } from './ops-matmul.js';
export { logSoftmax, reduceMax, reduceMean, reduceSum, rmsNorm, softmax } from './ops-reduce.js';
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
} from './ops-shape.js';
export * from './optimiser.js';
export { type Init, ParamLayout, type ParamSpec } from './parameters.js';
export { evaluateReference, type RefArray } from './reference.js';
export { hasExactRows } from './row-trial.js';
export { InferenceSession, type SessionOptions } from './runtime.js';
export { decodeTensors, encodeTensors } from './safetensors.js';
export { type Dim, type DType, elementCount, float32, int32, type Tensor, type TensorData } from './tensor.js';
export {
  buildTrainer,
  type FeedData,
  type OpenSession,
  type Trainer,
  type TrainerResult,
  type TrainerRun,
  type TrainerSpec,
  trainingGraph,
} from './trainer.js';
