// Tensors at the border: element types, dimensions, and typed arrays with a shape.

export type DType = 'float32' | 'int32' | 'int64' | 'bool' | 'uint8';

/** A size, or the name of a size known only when the graph runs, e.g. `'batch'`. */
export type Dim = number | string;

/** Values of every tensor: `bool` and `uint8` in a Uint8Array, `int64` in a BigInt64Array. */
export type TensorData = Float32Array | Int32Array | BigInt64Array | Uint8Array;

/** A dense row-major tensor. */
export interface Tensor {
  readonly dtype: DType;
  readonly dims: readonly number[];
  readonly data: TensorData;
}

/** A float32 tensor over `data`, which is not copied; without `dims` a vector. */
export function float32(data: Float32Array, dims: readonly number[] = [data.length]): Tensor {
  return { dtype: 'float32', dims, data };
}

/** An int32 tensor over `data`, which is not copied; without `dims` a vector. */
export function int32(data: Int32Array, dims: readonly number[] = [data.length]): Tensor {
  return { dtype: 'int32', dims, data };
}

/** Number of elements of a static shape. */
export function elementCount(dims: readonly number[]): number {
  let count = 1;
  for (const dim of dims) count *= dim;
  return count;
}

/** Whether `data` is the typed array that holds elements of `dtype`. */
export function holds(data: unknown, dtype: DType): data is TensorData {
  switch (dtype) {
    case 'float32':
      return data instanceof Float32Array;
    case 'int32':
      return data instanceof Int32Array;
    case 'int64':
      return data instanceof BigInt64Array;
    default:
      return data instanceof Uint8Array;
  }
}

/** A typed array for `dtype` holding `values`. */
export function typedData(dtype: DType, values: readonly number[]): TensorData {
  switch (dtype) {
    case 'float32':
      return Float32Array.from(values);
    case 'int32':
      return Int32Array.from(values);
    case 'int64':
      return BigInt64Array.from(values, (value) => BigInt(value));
    default:
      return Uint8Array.from(values);
  }
}

/** `float32[batch, 3]`: how shapes are written in messages. */
export function describe(dtype: DType, shape: readonly Dim[]): string {
  return `${dtype}[${shape.join(', ')}]`;
}
