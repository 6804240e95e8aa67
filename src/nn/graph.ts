// A computation graph under construction: values with inferred shapes and types, and its export as an ONNX model.
// Identical nodes are built once, so that repeated subexpressions cost nothing; operators live in the ops-* files.

import { reverieError } from '../core/errors.js';
import { ATTRIBUTE_TYPE, ELEMENT_TYPE, encodeModel, IR_VERSION, type Message, OPSET } from './onnx-format.js';
import { type Dim, type DType, describe, elementCount, type Tensor, typedData } from './tensor.js';

/** An ONNX attribute: an integer, a list of integers, a string, a subgraph, or a float where the operator wants one. */
export type Attribute = number | readonly number[] | string | Graph | { readonly float: number };

export interface Node {
  readonly op: string;
  readonly inputs: readonly (Value | undefined)[];
  readonly outputs: readonly Value[];
  readonly attributes: Readonly<Record<string, Attribute>>;
}

/** A gradient given for a whole expression in place of its nodes' own rules: cotangent in, one cotangent per input out. */
export interface CustomGradient {
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
export interface OutputType {
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
