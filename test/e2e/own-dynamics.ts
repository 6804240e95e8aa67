// ONNX dynamics for the pendulum's spaces as a user would bring them, with what is to be wrong with them.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Graph } from '../../src/nn/graph.js';
import { add, concat, matMul, mul, reduceSum, square } from '../../src/nn/ops.js';

const MANIFEST = {
  format: 'reverie-onnx-dynamics',
  formatVersion: 1,
  observationSpace: { type: 'box', shape: [3], low: [-1, -1, -8], high: [1, 1, 8] },
  actionSpace: { type: 'box', shape: [1], low: [-2], high: [2] },
  outputs: { delta: 'delta', reward: 'reward' },
};

export interface DynamicsChange {
  /** Keys laid over those of the manifest. */
  readonly manifest?: object;
  /** Where one more weight is said to lie. */
  readonly externalData?: string;
}

/** Writes manifest.json and dynamics.onnx: a linear change of the observation, and a quadratic reward. */
export function writeDynamics(folder: string, { manifest, externalData }: DynamicsChange = {}): void {
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ ...MANIFEST, ...manifest }));
  const model = linearModel();
  const bytes = externalData === undefined ? model : withExternalData(model, externalData);
  writeFileSync(join(folder, 'dynamics.onnx'), bytes);
}

function linearModel(): Uint8Array {
  const graph = new Graph('linear');
  const obs = graph.input('obs', 'float32', ['batch', 3]);
  const action = graph.input('action', 'float32', ['batch', 1]);
  const weights = Float32Array.from({ length: 12 }, (_, i) => 0.05 * Math.sin(i + 1));
  const delta = matMul(concat([obs, action], 1), graph.initializer('weights', [4, 3], weights));
  graph.output('delta', delta);
  graph.output('reward', mul(add(reduceSum(square(obs), [1]), reduceSum(square(action), [1])), -1));
  return graph.toModel();
}

/** Appends a graph with one more weight, kept at `location`: repeated messages merge in protobuf. */
function withExternalData(model: Uint8Array, location: string): Uint8Array {
  const field = (number: number, bytes: number[]) => [(number << 3) | 2, bytes.length, ...bytes];
  const text = (value: string) => [...new TextEncoder().encode(value)];
  const entry = field(13, [...field(1, text('location')), ...field(2, text(location))]);
  const tensor = [0x08, 1, 0x10, 1, ...field(8, text('w')), ...entry, 0x70, 1];
  return Uint8Array.from([...model, ...field(7, field(5, tensor))]);
}
