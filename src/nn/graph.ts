// A computation graph under construction: values with inferred shapes and types, and its export as an ONNX model.
// Identical nodes are built once, so that repeated subexpressions cost nothing; operators live in the ops-* files.

import protobuf from 'protobufjs/light.js';
import { reverieError } from '../core/errors.js';

// Tensors at the border: element types, dimensions, and typed arrays with a shape.

export type DType = 'float32' | 'int32' | 'int64' | 'bool' | 'uint8';

/** A size, or the name of a size known only when the graph runs, e.g. `'batch'`. */
export type Dim = number | string;

/** Values of every tensor: `bool` and `uint8` in a Uint8Array, `int64` in a BigInt64Array. */
type TensorData = Float32Array | Int32Array | BigInt64Array | Uint8Array;

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

const ARRAYS = {
  float32: Float32Array,
  int32: Int32Array,
  int64: BigInt64Array,
  bool: Uint8Array,
  uint8: Uint8Array,
} as const;

/** Whether `data` is the typed array that holds elements of `dtype`. */
export function holds(data: unknown, dtype: DType): data is TensorData {
  return data instanceof ARRAYS[dtype];
}

/** A typed array for `dtype` holding `values`. */
function typedData(dtype: DType, values: readonly number[]): TensorData {
  return dtype === 'int64'
    ? BigInt64Array.from(values, (value) => BigInt(value))
    : (ARRAYS[dtype] as typeof Float32Array).from(values);
}

/** `float32[batch, 3]`: how shapes are written in messages. */
export function describe(dtype: DType, shape: readonly Dim[]): string {
  return `${dtype}[${shape.join(', ')}]`;
}

/** An ONNX attribute: an integer, a list of integers, a string, a subgraph, or a float where the operator wants one. */
type Attribute = number | readonly number[] | string | Graph | { readonly float: number };

export interface Node {
  readonly op: string;
  readonly inputs: readonly (Value | undefined)[];
  readonly outputs: readonly Value[];
  readonly attributes: Readonly<Record<string, Attribute>>;
}

/** A gradient given for a whole expression in place of its nodes' own rules: cotangent in, one cotangent per input out. */
interface CustomGradient {
  readonly inputs: readonly Value[];
  readonly rule: (cotangent: Value) => readonly (Value | undefined)[];
}

/** One tensor of a graph. */
export class Value {
  producer: Node | undefined;
  /** Set for constants only: their values, which simplifications may use. */
  literal: Tensor | undefined;
  customGradient: CustomGradient | undefined;

  constructor(
    readonly graph: Graph,
    readonly name: string,
    readonly dtype: DType,
    readonly shape: readonly Dim[],
  ) {}
}

/** What an operator yields: element type and shape. */
interface OutputType {
  readonly dtype: DType;
  readonly shape: readonly Dim[];
}

export class Graph {
  readonly nodes: Node[] = [];
  readonly inputs: Value[] = [];
  readonly outputs = new Map<string, Value>();
  readonly initializers = new Map<string, { value: Value; tensor: Tensor }>();
  private readonly known = new Map<string, readonly Value[]>();
  private readonly taken = new Set<string>();
  private counter = 0;

  constructor(readonly name: string) {}

  /** Declares a fed tensor. */
  input(name: string, dtype: DType, shape: readonly Dim[]): Value {
    const value = new Value(this, this.claim(name), dtype, [...shape]);
    this.inputs.push(value);
    return value;
  }

  /** A named weight stored in the model; `data` is copied when the model is written, not before. */
  initializer(name: string, shape: readonly number[], data: Float32Array | Int32Array): Value {
    const dtype = data instanceof Float32Array ? 'float32' : 'int32';
    if (elementCount(shape) !== data.length) {
      throw this.mismatch(`initializer "${name}"`, `${data.length} values do not fill ${describe(dtype, shape)}`, []);
    }
    return this.store(this.claim(name), { dtype, dims: [...shape], data });
  }

  /** A float32 constant; a number without `shape` is a scalar, a list without `shape` a vector. */
  constant(value: number | readonly number[], shape?: readonly number[]): Value {
    const values = typeof value === 'number' ? [value] : value;
    return this.literal('float32', values, shape ?? (typeof value === 'number' ? [] : [value.length]));
  }

  /** A constant of any type; equal small constants are one value. */
  literal(dtype: DType, values: readonly number[], shape: readonly number[] = [values.length]): Value {
    if (elementCount(shape) !== values.length) {
      throw this.mismatch('constant', `${values.length} values do not fill ${describe(dtype, shape)}`, []);
    }
    const key =
      values.length <= 16 ? `${dtype}[${shape}]${values.map((v) => (Object.is(v, -0) ? '-0' : v))}` : undefined;
    const existing = key === undefined ? undefined : this.known.get(key);
    if (existing !== undefined) return existing[0];
    const tensor: Tensor = { dtype, dims: [...shape], data: typedData(dtype, values) };
    const value = this.store(this.fresh('const'), tensor);
    value.literal = tensor;
    if (key !== undefined) this.known.set(key, [value]);
    return value;
  }

  /** Names a result of the graph. */
  output(name: string, value: Value): void {
    if (value.graph !== this) throw this.mismatch(`output "${name}"`, 'the value belongs to another graph', [value]);
    this.outputs.set(this.claim(name), value);
  }

  /** A value of the enclosing graph, seen from this graph when it is the body of a Loop. */
  capture(outer: Value): Value {
    return new Value(this, outer.name, outer.dtype, outer.shape);
  }

  /** Adds a node of any ONNX operator, or finds the equal one; callers state the types of its outputs. */
  add(
    op: string,
    inputs: readonly (Value | undefined)[],
    attributes: Readonly<Record<string, Attribute>>,
    outputs: readonly OutputType[],
  ): readonly Value[] {
    for (const input of inputs) {
      if (input !== undefined && input.graph !== this)
        throw this.mismatch(op, 'an input belongs to another graph', inputs);
    }
    const hasBody = Object.values(attributes).some((attribute) => attribute instanceof Graph);
    const key = `${op}(${inputs.map((input) => input?.name ?? '').join()})${hasBody ? this.counter : JSON.stringify(attributes)}`;
    const existing = this.known.get(key);
    if (existing !== undefined) return existing;
    const values = outputs.map(({ dtype, shape }) => new Value(this, this.fresh(op), dtype, shape));
    const node: Node = { op, inputs, outputs: values, attributes };
    for (const value of values) value.producer = node;
    this.nodes.push(node);
    this.known.set(key, values);
    return values;
  }

  /** The error for inputs an operator cannot take. */
  mismatch(op: string, problem: string, inputs: readonly (Value | undefined)[]): Error {
    const given = inputs.map((input) =>
      input === undefined ? '-' : `${input.name} ${describe(input.dtype, input.shape)}`,
    );
    return reverieError('DATA_MISMATCH', {
      problem: `Graph "${this.name}", ${op}: ${problem}.`,
      hint: `Its inputs were: ${given.join(', ') || 'none'}.`,
    });
  }

  /**
   * The graph as a self-contained .onnx file (opset 17): standard operators, weights inside, unused nodes left out.
   * @param metadata string pairs stored as the model's `metadata_props`
   */
  toModel(metadata: Record<string, string> = {}): Uint8Array {
    return encodeModel({
      irVersion: IR_VERSION,
      producerName: 'reverie',
      graph: this.toMessage(),
      opsetImport: [{ domain: '', version: OPSET }],
      metadataProps: Object.entries(metadata).map(([key, value]) => ({ key, value })),
    });
  }

  /** The nodes the outputs depend on, in order of execution. */
  liveNodes(): Node[] {
    const live = new Set<Value>(this.outputs.values());
    const kept: Node[] = [];
    for (let i = this.nodes.length - 1; i >= 0; i--) {
      const node = this.nodes[i];
      if (!node.outputs.some((value) => live.has(value))) continue;
      kept.push(node);
      for (const input of node.inputs) if (input !== undefined) live.add(input);
    }
    return kept.reverse();
  }

  /** The graph as a GraphProto. */
  toMessage(): Message {
    const names = this.outputNames();
    const nodes = this.liveNodes();
    const nameOf = (value: Value | undefined) => (value === undefined ? '' : (names.get(value) ?? value.name));
    const messages = nodes.map((node) => ({
      opType: node.op,
      input: node.inputs.map(nameOf),
      output: node.outputs.map(nameOf),
      attribute: Object.entries(node.attributes).map(([name, value]) => attributeMessage(name, value)),
    }));
    for (const [name, value] of this.outputs) {
      if (names.get(value) !== name)
        messages.push({ opType: 'Identity', input: [nameOf(value)], output: [name], attribute: [] });
    }
    const used = new Set(nodes.flatMap((node) => node.inputs));
    const isUsed = (value: Value) => used.has(value) || [...this.outputs.values()].includes(value);
    return {
      name: this.name,
      node: messages,
      initializer: [...this.initializers.values()].filter(({ value }) => isUsed(value)).map(initializerMessage),
      input: this.inputs.map((value) => valueInfo(value.name, value)),
      output: [...this.outputs].map(([name, value]) => valueInfo(name, value)),
    };
  }

  /** Outputs computed by a node take their public name directly, which spares a copying Identity node. */
  private outputNames(): Map<Value, string> {
    const names = new Map<Value, string>();
    for (const [name, value] of this.outputs)
      if (value.producer !== undefined && !names.has(value)) names.set(value, name);
    return names;
  }

  private store(name: string, tensor: Tensor): Value {
    const value = new Value(this, name, tensor.dtype, tensor.dims);
    this.initializers.set(name, { value, tensor });
    return value;
  }

  private claim(name: string): string {
    if (this.taken.has(name)) throw this.mismatch(`"${name}"`, 'the name is taken', []);
    this.taken.add(name);
    return name;
  }

  private fresh(hint: string): string {
    // The graph's own name keeps a Loop body's values apart from those of the graph around it.
    return `${this.name}/${hint}_${this.counter++}`;
  }
}

/**
 * Gives `value` a gradient of its own as a function of `inputs`; its nodes' rules are then not used.
 * Equal expressions are one value, so the rule must be the true gradient, only in fewer nodes.
 */
export function withGradient(value: Value, inputs: readonly Value[], rule: CustomGradient['rule']): Value {
  value.customGradient = { inputs, rule };
  return value;
}

function attributeMessage(name: string, value: Attribute): Message {
  if (typeof value === 'number') return { name, type: ATTRIBUTE_TYPE.int, i: value };
  if (typeof value === 'string') return { name, type: ATTRIBUTE_TYPE.string, s: new TextEncoder().encode(value) };
  if (value instanceof Graph) return { name, type: ATTRIBUTE_TYPE.graph, g: value.toMessage() };
  if ('float' in value) return { name, type: ATTRIBUTE_TYPE.float, f: value.float };
  return { name, type: ATTRIBUTE_TYPE.ints, ints: value };
}

function initializerMessage({ value, tensor }: { value: Value; tensor: Tensor }): Message {
  const { data } = tensor;
  return {
    name: value.name,
    dims: tensor.dims,
    dataType: ELEMENT_TYPE[tensor.dtype],
    rawData: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
  };
}

function valueInfo(name: string, { dtype, shape }: OutputType): Message {
  const dim = shape.map((size) => (typeof size === 'number' ? { dimValue: size } : { dimParam: size }));
  return { name, type: { tensorType: { elemType: ELEMENT_TYPE[dtype], shape: { dim } } } };
}

/** Opset and IR version written; every runtime since 2022 reads them. */
const OPSET = 17;
const IR_VERSION = 8;

/** `name: [number, type]`, with a leading `*` for repeated fields. */
const MESSAGES: Record<string, Record<string, readonly [number, string]>> = {
  ModelProto: {
    irVersion: [1, 'int64'],
    producerName: [2, 'string'],
    producerVersion: [3, 'string'],
    domain: [4, 'string'],
    modelVersion: [5, 'int64'],
    docString: [6, 'string'],
    graph: [7, 'GraphProto'],
    opsetImport: [8, '*OperatorSetIdProto'],
    metadataProps: [14, '*StringStringEntryProto'],
    trainingInfo: [20, '*TrainingInfoProto'],
    functions: [25, '*FunctionProto'],
  },
  OperatorSetIdProto: { domain: [1, 'string'], version: [2, 'int64'] },
  StringStringEntryProto: { key: [1, 'string'], value: [2, 'string'] },
  TrainingInfoProto: { initialization: [1, 'GraphProto'], algorithm: [2, 'GraphProto'] },
  FunctionProto: {
    name: [1, 'string'],
    input: [4, '*string'],
    output: [5, '*string'],
    attribute: [6, '*string'],
    node: [7, '*NodeProto'],
    opsetImport: [9, '*OperatorSetIdProto'],
    domain: [10, 'string'],
    attributeProto: [11, '*AttributeProto'],
  },
  GraphProto: {
    node: [1, '*NodeProto'],
    name: [2, 'string'],
    initializer: [5, '*TensorProto'],
    docString: [10, 'string'],
    input: [11, '*ValueInfoProto'],
    output: [12, '*ValueInfoProto'],
    valueInfo: [13, '*ValueInfoProto'],
    sparseInitializer: [15, '*SparseTensorProto'],
  },
  NodeProto: {
    input: [1, '*string'],
    output: [2, '*string'],
    name: [3, 'string'],
    opType: [4, 'string'],
    attribute: [5, '*AttributeProto'],
    docString: [6, 'string'],
    domain: [7, 'string'],
  },
  AttributeProto: {
    name: [1, 'string'],
    f: [2, 'float'],
    i: [3, 'int64'],
    s: [4, 'bytes'],
    t: [5, 'TensorProto'],
    g: [6, 'GraphProto'],
    floats: [7, '*float'],
    ints: [8, '*int64'],
    strings: [9, '*bytes'],
    tensors: [10, '*TensorProto'],
    graphs: [11, '*GraphProto'],
    docString: [13, 'string'],
    type: [20, 'int32'],
    refAttrName: [21, 'string'],
    sparseTensor: [22, 'SparseTensorProto'],
    sparseTensors: [23, '*SparseTensorProto'],
  },
  TensorProto: {
    dims: [1, '*int64'],
    dataType: [2, 'int32'],
    floatData: [4, '*float'],
    int32Data: [5, '*int32'],
    stringData: [6, '*bytes'],
    int64Data: [7, '*int64'],
    name: [8, 'string'],
    rawData: [9, 'bytes'],
    doubleData: [10, '*double'],
    uint64Data: [11, '*uint64'],
    docString: [12, 'string'],
    externalData: [13, '*StringStringEntryProto'],
    dataLocation: [14, 'int32'],
  },
  SparseTensorProto: { values: [1, 'TensorProto'], indices: [2, 'TensorProto'], dims: [3, '*int64'] },
  ValueInfoProto: { name: [1, 'string'], type: [2, 'TypeProto'], docString: [3, 'string'] },
  TypeProto: { tensorType: [1, 'TensorTypeProto'], denotation: [6, 'string'] },
  TensorTypeProto: { elemType: [1, 'int32'], shape: [2, 'TensorShapeProto'] },
  TensorShapeProto: { dim: [1, '*DimensionProto'] },
  DimensionProto: { dimValue: [1, 'int64'], dimParam: [2, 'string'] },
};

const root = protobuf.Root.fromJSON({
  nested: Object.fromEntries(
    Object.entries(MESSAGES).map(([name, fields]) => [name, { fields: messageFields(fields) }]),
  ),
});
root.resolveAll();

function messageFields(fields: Record<string, readonly [number, string]>): Record<string, protobuf.IField> {
  const entries = Object.entries(fields).map(([name, [id, type]]): [string, protobuf.IField] => {
    const repeated = type.startsWith('*');
    return [name, { id, type: repeated ? type.slice(1) : type, ...(repeated ? { rule: 'repeated' } : {}) }];
  });
  return Object.fromEntries(entries);
}

/** The protobuf type of a message listed above. */
export function messageType(name: string): protobuf.Type {
  return root.lookupType(name);
}

/** `TensorProto.DataType` of the element types used here. */
export const ELEMENT_TYPE: Record<DType, number> = { float32: 1, uint8: 2, int32: 6, int64: 7, bool: 9 };

/** `AttributeProto.AttributeType` of the attribute kinds used here. */
const ATTRIBUTE_TYPE = { float: 1, int: 2, string: 3, graph: 5, ints: 7 } as const;

/** The element type behind a `TensorProto.DataType`, or undefined if it is none of ours. */
export function dtypeOf(elementType: number): DType | undefined {
  return (Object.keys(ELEMENT_TYPE) as DType[]).find((dtype) => ELEMENT_TYPE[dtype] === elementType);
}

export type Message = Record<string, unknown>;

/** Serialises a ModelProto given as a plain object with the field names above. */
export function encodeModel(model: Message): Uint8Array {
  const type = messageType('ModelProto');
  return type.encode(type.create(model)).finish();
}

/** Parses a ModelProto; 64-bit integers become numbers and tensors' raw data views of `bytes`. Throws on malformed input. */
export function decodeModel(bytes: Uint8Array): Message {
  const type = messageType('ModelProto');
  return type.toObject(type.decode(bytes), { longs: Number, arrays: true });
}
