// The weights that lie in a model file, by name: for code that computes with them outside of ONNX Runtime.

import { decodeModel, ELEMENT_TYPE, elementCount, float32, type Tensor } from './graph.js';
import { checkModel, unusable } from './model-check.js';

interface DecodedTensor {
  readonly name: string;
  readonly dims?: readonly number[];
  readonly dataType?: number;
  readonly rawData?: Uint8Array;
  readonly floatData?: readonly number[];
}

/**
 * The float32 initializers of an ONNX model; those of other types are left out.
 * @param origin where the model came from, for messages
 * @throws MODEL_FILE_INVALID
 */
export function modelWeights(bytes: Uint8Array, origin: string): ReadonlyMap<string, Tensor> {
  checkModel(bytes, origin);
  const graph = decodeModel(bytes)['graph'] as { readonly initializer?: readonly DecodedTensor[] };
  const floats = (graph.initializer ?? []).filter(({ dataType }) => dataType === ELEMENT_TYPE.float32);
  return new Map(floats.map((tensor) => [tensor.name, weightOf(tensor, origin)]));
}

function weightOf({ name, dims = [], rawData, floatData = [] }: DecodedTensor, origin: string): Tensor {
  const data =
    rawData === undefined || rawData.length === 0
      ? Float32Array.from(floatData)
      : // Raw data may start anywhere in the file; floats need an aligned start. A Buffer's slice would be no copy.
        new Float32Array(new Uint8Array(rawData).buffer, 0, Math.floor(rawData.length / 4));
  if (data.length === elementCount(dims)) return float32(data, dims);
  throw unusable(origin, `"${name}" has ${data.length} values for [${dims}]`);
}
