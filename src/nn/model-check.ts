// Looks at a model's bytes before ONNX Runtime sees them: is it ONNX, does it keep data in other files, what does it take.
// The wire format is walked rather than the decoded object, because repeated fields of one message merge in some readers.

import protobuf from 'protobufjs/light.js';
import { reverieError } from '../core/errors.js';
import { type Dim, type DType, decodeModel, dtypeOf, ELEMENT_TYPE, type Message, messageType } from './graph.js';
import { worksRowByRow } from './row-operators.js';

/** A tensor a model takes or gives. */
export interface TensorSignature {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly Dim[];
}

export interface ModelSignature {
  readonly inputs: readonly TensorSignature[];
  readonly outputs: readonly TensorSignature[];
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether its operators answer a row alike in any batch. */
  readonly isRowwise: boolean;
}

/** Operators whose answers are drawn, whatever their seed: it counts from one run of the model to the next. */
const DRAWING = [
  ...['RandomNormal', 'RandomNormalLike', 'RandomUniform', 'RandomUniformLike', 'Multinomial', 'Bernoulli'],
  'Sampling',
];

/** `TensorProto.DataType` in words. */
const ELEMENT_TYPES = [
  ...['undefined', 'float32', 'uint8', 'int8', 'uint16', 'int16', 'int32', 'int64', 'string', 'bool', 'float16'],
  ...['double (float64)', 'uint32', 'uint64', 'complex64', 'complex128', 'bfloat16', 'float8e4m3fn', 'float8e4m3fnuz'],
  ...['float8e5m2', 'float8e5m2fnuz', 'uint4', 'int4', 'float4e2m1'],
];

const MAX_DEPTH = 64;
const WIRE_VARINT = 0;
const WIRE_BYTES = 2;
const WIRE_GROUP = 3;

/** MODEL_FILE_INVALID for what is no model that can be run. */
export function unusable(origin: string, problem: string, cause?: unknown): Error {
  const hint = 'Give an ONNX model whose inputs and outputs are float32, int32, int64, bool or uint8 tensors.';
  return reverieError('MODEL_FILE_INVALID', { problem: `Model "${origin}" cannot be used: ${problem}.`, hint }, cause);
}

/**
 * Inputs and outputs of an ONNX model.
 * @param origin where the model came from, for messages
 * @throws MODEL_FILE_INVALID if it is not an ONNX model of supported types, any tensor lies outside it, or it draws at random
 */
export function checkModel(bytes: Uint8Array, origin: string): ModelSignature {
  let model: Message;
  try {
    refuseExternalData(protobuf.Reader.create(bytes), bytes.length, messageType('ModelProto'), origin, 0);
    model = decodeModel(bytes);
  } catch (error) {
    if (error instanceof Error && 'code' in error) throw error;
    throw unusable(origin, `it is not protobuf (${(error as Error).message})`, error);
  }
  return signatureOf(model, origin);
}

function refuseExternalData(
  reader: protobuf.Reader,
  end: number,
  type: protobuf.Type,
  origin: string,
  depth: number,
): void {
  if (depth > MAX_DEPTH) throw unusable(origin, `it is nested deeper than ${MAX_DEPTH}`);
  while (reader.pos < end) {
    const tag = reader.uint32();
    const wire = tag & 7;
    const field = type.fieldsById[tag >>> 3];
    if (wire >= WIRE_GROUP && wire !== 5) throw unusable(origin, 'it has protobuf groups');
    if (
      field?.name === 'externalData' ||
      (field?.name === 'dataLocation' && !(wire === WIRE_VARINT && reader.uint32() === 0))
    ) {
      throw reverieError('MODEL_FILE_INVALID', {
        problem: `Model "${origin}" keeps tensors in other files, which are not read.`,
        hint: 'Save it with all weights inside: torch.onnx.export(..., external_data=False), or onnx.save(model, path, save_as_external_data=False).',
      });
    }
    if (field?.name === 'dataLocation') continue;
    if (wire === WIRE_BYTES && field?.resolvedType instanceof protobuf.Type) {
      const length = reader.uint32();
      if (reader.pos + length > end) throw new Error('a message ends outside its parent');
      refuseExternalData(reader, reader.pos + length, field.resolvedType, origin, depth + 1);
    } else reader.skipType(wire);
  }
  if (reader.pos !== end) throw new Error('a field ends outside its message');
}

interface DecodedTensorType {
  tensorType?: { elemType?: number; shape?: { dim?: { dimValue?: number; dimParam?: string }[] } };
}

interface DecodedTensor {
  dataType?: number;
  rawData?: Iterable<number>;
  int32Data?: number[];
}

interface DecodedNode {
  name?: string;
  opType?: string;
  domain?: string;
  input?: string[];
  output?: string[];
  attribute?: { t?: DecodedTensor; g?: DecodedGraph; graphs?: DecodedGraph[] }[];
}

interface DecodedGraph {
  node?: DecodedNode[];
  initializer?: (DecodedTensor & { name: string })[];
  input?: { name: string; type?: DecodedTensorType }[];
  output?: { name: string; type?: DecodedTensorType }[];
}

function signatureOf(model: Message, origin: string): ModelSignature {
  const graph = model.graph as DecodedGraph | undefined;
  if (graph?.output === undefined || graph.output.length === 0) throw unusable(origin, 'it has no graph with outputs');
  for (const body of [graph, ...((model.functions ?? []) as DecodedGraph[])]) refuseDraws(body, origin, new Set());
  const stored = new Set((graph.initializer ?? []).map(({ name }) => name));
  const pairs = (model.metadataProps ?? []) as { key: string; value?: string }[];
  return {
    inputs: (graph.input ?? []).filter(({ name }) => !stored.has(name)).map((info) => tensorSignature(info, origin)),
    outputs: graph.output.map((info) => tensorSignature(info, origin)),
    metadata: Object.fromEntries(pairs.map(({ key, value }) => [key, value ?? ''])),
    isRowwise: worksRowByRow(graph),
  };
}

/** Refuses operators that draw at random. `off`: names of tensors around the graph that are stored as false. */
function refuseDraws({ node = [], initializer = [] }: DecodedGraph, origin: string, off: ReadonlySet<string>): void {
  const isFalse = ({ dataType, rawData = [], int32Data = [] }: DecodedTensor) =>
    dataType === ELEMENT_TYPE.bool && [...rawData, ...int32Data].every((one) => one === 0);
  const known = new Set([...off, ...initializer.filter(isFalse).map(({ name }) => name)]);
  for (const { name, opType = '', domain = '', input = [], output = [], attribute = [] } of node) {
    const value = attribute[0]?.t;
    if (opType === 'Constant' && value !== undefined && isFalse(value)) known.add(output[0]);
    const trainingMode = opType === 'Dropout' ? input[2] : undefined;
    const isDrawn = DRAWING.includes(opType) || (trainingMode && !known.has(trainingMode));
    if (isDrawn && ['', 'ai.onnx', 'com.microsoft'].includes(domain)) {
      const which = `${opType}${trainingMode ? ' in training mode' : ''}`;
      throw reverieError('MODEL_FILE_INVALID', {
        problem: `Model "${origin}" cannot be used: its node "${name || output[0]}" (${which}) draws at random, so one seed would give different results.`,
        hint: 'Export the model without it: in evaluation mode (model.eval() in PyTorch), giving the mean in place of a sample.',
      });
    }
    for (const { g, graphs = [] } of attribute) {
      for (const inner of g === undefined ? graphs : [g, ...graphs]) refuseDraws(inner, origin, known);
    }
  }
}

function tensorSignature(info: { name: string; type?: DecodedTensorType }, origin: string): TensorSignature {
  const elementType = info.type?.tensorType?.elemType ?? 0;
  const dtype = dtypeOf(elementType);
  if (dtype === undefined) {
    const given =
      info.type?.tensorType === undefined
        ? 'is no tensor'
        : `has elements of ${ELEMENT_TYPES[elementType] ?? `type ${elementType}`}`;
    const problem = `"${info.name}" ${given}; float32, int32, int64, bool and uint8 are supported`;
    throw unusable(origin, problem);
  }
  const dims = info.type?.tensorType?.shape?.dim ?? [];
  return { name: info.name, dtype, shape: dims.map((dim, i) => dim.dimValue ?? (dim.dimParam || `${info.name}.${i}`)) };
}
