// Whether a model works each row of a batch by itself, operator by operator. Measured with onnxruntime 1.30 on x64 (batches
// of 1 to 65 rows at many widths): products with stored weights, and what its own kernels compute (tanh, sigmoid, exp),
// give a row the same bytes alone and in a batch. What Eigen computes in packets does not, as the rows at the end of a batch
// take another path (Softplus, Log, Sin, Elu, Atan); nor do sums along a row, whose path depends on where the row lies in
// memory, nor products of two computed matrices.

export interface DecodedTensor {
  readonly name: string;
  readonly dataType?: number;
  readonly rawData?: Iterable<number>;
  readonly int32Data?: readonly number[];
}

interface DecodedAttribute {
  readonly name: string;
  readonly i?: unknown;
  readonly t?: DecodedTensor;
  readonly g?: DecodedGraph;
  readonly graphs?: readonly DecodedGraph[];
}

interface DecodedNode {
  readonly name?: string;
  readonly opType?: string;
  readonly input?: readonly string[];
  readonly output?: readonly string[];
  readonly domain?: string;
  readonly attribute?: readonly DecodedAttribute[];
}

export interface DecodedGraph {
  readonly node?: readonly DecodedNode[];
  readonly initializer?: readonly DecodedTensor[];
}

/** Exactly rounded, or computed by kernels that treat every element alike. */
const ELEMENTWISE = [
  ...['Add', 'Sub', 'Mul', 'Div', 'Neg', 'Abs', 'Sqrt', 'Min', 'Max', 'Clip', 'Relu', 'LeakyRelu'],
  ...['Tanh', 'Sigmoid', 'HardSigmoid', 'Exp'],
];
const MOVING = [
  'Identity',
  'Constant',
  'Concat',
  'Slice',
  'Split',
  'Squeeze',
  'Unsqueeze',
  'Reshape',
  'Flatten',
  'Cast',
];
const PRODUCTS = ['MatMul', 'Gemm'];

const ROWWISE: ReadonlySet<string> = new Set([...ELEMENTWISE, ...MOVING]);

/** Whether every operator of the decoded `graph` is one whose answer to a row has the same bytes in any batch. */
export function worksRowByRow({ node = [], initializer = [] }: DecodedGraph): boolean {
  const stored = new Set(initializer.map(({ name }) => name));
  return node.every(({ opType = '', input = [], domain = '', attribute = [] }) => {
    if (domain !== '' && domain !== 'ai.onnx') return false;
    if (!PRODUCTS.includes(opType)) return ROWWISE.has(opType);
    return stored.has(input[1]) && !attribute.some(({ name, i }) => name === 'transA' && Number(i ?? 0) !== 0);
  });
}
