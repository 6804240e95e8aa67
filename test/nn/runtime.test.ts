// Sessions: what they report, run and refuse; models that try to reach other files.

import { describe, expect, test } from 'vitest';
import { encodeModel, float32, Graph, int32, messageType } from '../../src/nn/graph.js';
import { cast, gather, linear, oneHot, tanh } from '../../src/nn/ops.js';
import { InferenceSession } from '../../src/nn/runtime.js';

function dense(): Graph {
  const graph = new Graph('dense');
  const x = graph.input('x', 'float32', ['batch', 2]);
  const w = graph.initializer('w', [2, 2], Float32Array.of(1, 2, 3, 4));
  const b = graph.initializer('b', [2], Float32Array.of(1, -1));
  graph.output('y', tanh(linear(x, w, b)));
  return graph;
}

describe('sessions', () => {
  test('report their signature, and run', async () => {
    const session = await InferenceSession.fromBytes(dense().toModel({ policy: 'dense' }));
    expect(session.inputs).toEqual([{ name: 'x', dtype: 'float32', shape: ['batch', 2] }]);
    expect(session.outputs).toEqual([{ name: 'y', dtype: 'float32', shape: ['batch', 2] }]);
    const { y } = await session.run({ x: float32(Float32Array.of(0, 0, 1, -1), [2, 2]) });
    expect(y.dims).toEqual([2, 2]);
    expect(y.data[3]).toBeCloseTo(Math.tanh(-3), 5);
  });

  test('take and give every element type', async () => {
    const graph = new Graph('types');
    const i = graph.input('i', 'int32', [2]);
    const flags = graph.input('flags', 'bool', [2]);
    graph.output('hot', oneHot(i, 3));
    graph.output('long', cast(i, 'int64'));
    graph.output('same', graph.add('Not', [flags], {}, [flags])[0]);
    const session = await InferenceSession.fromBytes(graph.toModel());
    const out = await session.run({
      i: int32(Int32Array.of(2, 0)),
      flags: { dtype: 'bool', dims: [2], data: Uint8Array.of(1, 0) },
    });
    expect(out.hot).toEqual(float32(Float32Array.of(0, 0, 1, 1, 0, 0), [2, 3]));
    expect(out.long).toEqual({ dtype: 'int64', dims: [2], data: BigInt64Array.of(2n, 0n) });
    expect(out.same).toEqual({ dtype: 'bool', dims: [2], data: Uint8Array.of(0, 1) });
  });

  test.each([
    ['nothing', {}, /nothing for "x"/],
    [
      'an unknown name',
      { x: float32(new Float32Array(2), [1, 2]), z: float32(new Float32Array(1)) },
      /unknown input "z"/,
    ],
    ['another width', { x: float32(new Float32Array(3), [1, 3]) }, /float32\[1, 3\]/],
    ['another type', { x: int32(new Int32Array(2), [1, 2]) }, /int32\[1, 2\]/],
  ])('refuse %s', async (_, feeds, message) => {
    const session = await InferenceSession.fromBytes(dense().toModel());
    await expect(session.run(feeds as never)).rejects.toMatchObject({
      code: 'DATA_MISMATCH',
      message: expect.stringMatching(message),
      hint: expect.stringContaining('x float32[batch, 2]'),
    });
  });

  test('refuse memory shared between threads, which the runtime cannot read', async () => {
    const session = await InferenceSession.fromBytes(dense().toModel());
    const shared = new Float32Array(new SharedArrayBuffer(8));
    await expect(session.run({ x: float32(shared, [1, 2]) })).rejects.toMatchObject({
      code: 'DATA_MISMATCH',
      message: expect.stringContaining('SharedArrayBuffer'),
    });
  });

  test('name the model when an operator fails', async () => {
    const graph = new Graph('picker');
    graph.output('y', gather(graph.input('x', 'float32', [3]), graph.input('i', 'int32', [1])));
    const session = await InferenceSession.fromBytes(graph.toModel(), {}, 'picker.onnx');
    const feeds = { x: float32(new Float32Array(3)), i: int32(Int32Array.of(3)) };
    await expect(session.run(feeds)).rejects.toMatchObject({
      code: 'MODEL_FILE_INVALID',
      message: expect.stringMatching(/picker\.onnx.*out of/s),
    });
  });

  test('refuse to run after release', async () => {
    const session = await InferenceSession.fromBytes(dense().toModel());
    await session.release();
    await session.release();
    await expect(session.run({})).rejects.toMatchObject({ code: 'SESSION_RELEASED' });
  });
});

type Proto = Record<string, unknown>;

const external: Proto = {
  name: 'w',
  dims: [1],
  dataType: 1,
  dataLocation: 1,
  externalData: [{ key: 'location', value: 'secret.bin' }],
};
const vector = (name: string): Proto => ({
  name,
  type: { tensorType: { elemType: 1, shape: { dim: [{ dimValue: 1 }] } } },
});
const modelOf = (graph: Proto, more: Proto = {}): Uint8Array =>
  encodeModel({
    irVersion: 8,
    opsetImport: [{ domain: '', version: 17 }],
    graph: { name: 'g', input: [], output: [vector('y')], ...graph },
    ...more,
  });
const identity = (input: string): Proto => ({ opType: 'Identity', input: [input], output: ['y'] });
const constant = (attribute: Proto): Proto => ({ opType: 'Constant', output: ['w'], attribute: [attribute] });

/** A Constant whose tensor is written twice: one reader takes the last, another merges both. */
function splitTensor(): Uint8Array {
  const clean = { dims: [1], dataType: 1, rawData: new Uint8Array(4) };
  const encoded = (tensor: Proto) =>
    messageType('TensorProto').encode(messageType('TensorProto').create(tensor)).finish();
  const field = (number: number, payload: Uint8Array) => [(number << 3) | 2, payload.length, ...payload];
  const attribute = Uint8Array.from([
    ...field(1, Buffer.from('value')),
    ...field(5, encoded(external)),
    ...field(5, encoded(clean)),
    ...[0xa0, 1, 4],
  ]);
  const node = Uint8Array.from([
    ...field(2, Buffer.from('w')),
    ...field(4, Buffer.from('Constant')),
    ...field(5, attribute),
  ]);
  const graph = Uint8Array.from(field(1, node));
  return Buffer.concat([modelOf({ node: [identity('w')] }), Uint8Array.from(field(7, graph))]);
}

describe('models that keep data elsewhere are refused', () => {
  const body = { name: 'b', node: [constant({ name: 'value', type: 4, t: external })], output: [vector('w')] };
  const cases: [string, Uint8Array][] = [
    ['an initialiser', modelOf({ node: [identity('w')], initializer: [external] })],
    [
      'a location without the flag',
      modelOf({ node: [identity('w')], initializer: [{ ...external, dataLocation: 0 }] }),
    ],
    [
      'the flag without a location',
      modelOf({ node: [identity('w')], initializer: [{ ...external, externalData: [] }] }),
    ],
    ['a sparse initialiser', modelOf({ node: [identity('w')], sparseInitializer: [{ values: external, dims: [1] }] })],
    ['a Constant', modelOf({ node: [constant({ name: 'value', type: 4, t: external }), identity('w')] })],
    [
      'a list of tensors',
      modelOf({ node: [constant({ name: 'value', type: 9, tensors: [external] }), identity('w')] }),
    ],
    [
      'a sparse Constant',
      modelOf({
        node: [constant({ name: 'sparse_value', type: 11, sparseTensor: { values: external } }), identity('w')],
      }),
    ],
    [
      'a subgraph',
      modelOf({ node: [{ opType: 'If', output: ['y'], attribute: [{ name: 'then_branch', type: 5, g: body }] }] }),
    ],
    ['a function', modelOf({ node: [identity('w')] }, { functions: [{ name: 'f', node: body.node }] })],
    ['training information', modelOf({ node: [identity('w')] }, { trainingInfo: [{ algorithm: body }] })],
    ['a tensor written twice', splitTensor()],
  ];

  test.each(cases)('%s', async (_, model) => {
    await expect(InferenceSession.fromBytes(model)).rejects.toMatchObject({ code: 'MODEL_FILE_INVALID' });
  });
});

describe('models that draw at random are refused, as a seed would not tell what they answer', () => {
  const draw = (more: Proto = {}): Proto => ({
    opType: 'RandomNormalLike',
    name: 'noise',
    input: ['x'],
    output: ['y'],
    ...more,
  });
  const flag = (name: string, value: number): Proto => ({ name, dataType: 9, dims: [], int32Data: [value] });
  const dropout = (...inputs: string[]): Proto => ({ opType: 'Dropout', input: ['x', ...inputs], output: ['y'] });
  const on = constant({ name: 'value', type: 4, t: { dataType: 9, dims: [], rawData: Uint8Array.of(1) } });
  const branch = (node: Proto[]): Proto => ({
    opType: 'If',
    input: ['c'],
    output: ['y'],
    attribute: [{ name: 'then_branch', type: 5, g: { name: 'b', node, output: [vector('y')] } }],
  });
  const of = (node: Proto[], graph: Proto = {}, more: Proto = {}) =>
    modelOf({ input: [vector('x')], node, ...graph }, more);

  test.each<[string, Uint8Array, RegExp]>([
    ...['RandomNormal', 'RandomUniform', 'RandomUniformLike', 'Multinomial', 'Bernoulli'].map(
      (opType): [string, Uint8Array, RegExp] => [
        opType,
        of([draw({ opType })]),
        new RegExp(`"noise" \\(${opType}\\) draws`),
      ],
    ),
    ['one with a seed', of([draw({ attribute: [{ name: 'seed', type: 1, f: 7 }] })]), /"noise" \(RandomNormalLike\)/],
    ['one without a name', of([draw({ name: '' })]), /"y" \(RandomNormalLike\)/],
    ['a subgraph', of([branch([draw()])]), /"noise" \(RandomNormalLike\)/],
    ['a function', of([identity('x')], {}, { functions: [{ name: 'f', node: [draw()] }] }), /"noise"/],
    [
      'dropout switched on',
      of([dropout('', 't')], { initializer: [flag('t', 1)] }),
      /"y" \(Dropout in training mode\)/,
    ],
    ['dropout switched on by a Constant', of([on, dropout('', 'w')]), /Dropout in training mode/],
    [
      'dropout switched by a computed value',
      of([{ opType: 'IsNaN', input: ['x'], output: ['t'] }, dropout('', 't')]),
      /Dropout/,
    ],
  ])('%s', async (_, model, message) => {
    await expect(InferenceSession.fromBytes(model)).rejects.toMatchObject({
      code: 'MODEL_FILE_INVALID',
      message: expect.stringMatching(message),
      hint: expect.stringContaining('evaluation mode'),
    });
  });

  test.each<[string, Uint8Array]>([
    ['dropout without a switch', of([dropout()])],
    ['dropout switched off', of([dropout('', 't')], { initializer: [flag('t', 0)] })],
  ])('%s is none', async (_, model) => {
    const session = await InferenceSession.fromBytes(model);
    const { y } = await session.run({ x: float32(Float32Array.of(3), [1]) });
    expect([...y.data]).toEqual([3]);
  });
});

describe('things that are no models are refused', () => {
  test.each<[string, () => Uint8Array]>([
    ['text', () => Buffer.from('not a model at all, only a sentence of some length')],
    ['an empty file', () => new Uint8Array(0)],
    ['a truncated model', () => dense().toModel().subarray(0, -40)],
    ['random bytes', () => Uint8Array.from({ length: 500 }, (_, i) => (i * 7919) % 251)],
    ['an unknown operator', () => modelOf({ node: [{ opType: 'Frobnicate', output: ['y'] }] })],
    [
      'doubles',
      () => modelOf({ node: [identity('x')], input: [{ name: 'x', type: { tensorType: { elemType: 11 } } }] }),
    ],
    ['nesting without end', () => modelOf(nested(25))],
  ])('%s', async (name, make) => {
    const message = name === 'doubles' ? /"x" has elements of double \(float64\); float32, / : /./;
    const expected = { code: 'MODEL_FILE_INVALID', message: expect.stringMatching(message) };
    await expect(InferenceSession.fromBytes(make())).rejects.toMatchObject(expected);
  });
});

function nested(depth: number): Proto {
  if (depth === 0) return {};
  return {
    node: [{ opType: 'If', output: ['y'], attribute: [{ name: 'then_branch', type: 5, g: nested(depth - 1) }] }],
  };
}
