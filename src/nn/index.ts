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
} from './cuda-addon.js';
export { deviceTrial } from './device-trial.js';
export * from './distributions.js';
export { type CustomGradient, Graph, Value, withGradient } from './graph.js';
export { type Activation, type MlpInit, mlp, mlpSpecs } from './mlp.js';
export { modelWeights } from './model-weights.js';
export * from './ops-elementwise.js';
export { alongAxis, gather, oneHot, scatterAdd, takeAlongAxis } from './ops-index.js';
export { gemm, linear, matMul } from './ops-matmul.js';
export { logSoftmax, reduceMax, reduceMean, reduceSum, softmax } from './ops-reduce.js';
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
export { type Dim, type DType, elementCount, float32, int32, type Tensor, type TensorData } from './tensor.js';
export * from './trainer.js';
