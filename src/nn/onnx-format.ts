// The ONNX file format: the protobuf messages this project reads and writes, and their encoding.
// Field numbers are those of the public onnx.proto; messages are listed in full so that checks can walk any model.

import protobuf from 'protobufjs/light.js';
import type { DType } from './tensor.js';

/** Opset and IR version written; every runtime since 2022 reads them. */
export const OPSET = 17;
export const IR_VERSION = 8;

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
export const ATTRIBUTE_TYPE = { float: 1, int: 2, string: 3, graph: 5, ints: 7 } as const;

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
