// Small ONNX dynamics as a user would bring them: x' = x + A x + B u, with its manifest, written to a folder.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { boxSpace, unboundedSpace } from '../../src/env/space-values.js';
import { Graph, type Value } from '../../src/nn/graph.js';
import { add, matMul, reduceSum, sigmoid } from '../../src/nn/ops.js';

export const ownSpaces = { observationSpace: unboundedSpace(3), actionSpace: boxSpace([-1, -1], [1, 1]) };

export const ownManifest = {
  format: 'reverie-onnx-dynamics',
  formatVersion: 1,
  ...ownSpaces,
  outputs: { delta: 'delta', reward: 'reward', terminated: 'end' },
};

/** A model with outputs delta [batch, 3], reward [batch] and end [batch, 1]. */
export function ownModel(batch: number | string = 'batch'): Uint8Array {
  const graph = new Graph('own');
  const obs = graph.input('obs', 'float32', [batch, 3]);
  const action = graph.input('action', 'float32', [batch, 2]);
  const weights = (name: string, shape: number[]): Value =>
    graph.initializer(
      name,
      shape,
      Float32Array.from({ length: shape[0] * shape[1] }, (_, i) => 0.1 * Math.sin(i + 1)),
    );
  const delta = add(matMul(obs, weights('a', [3, 3])), matMul(action, weights('b', [2, 3])));
  graph.output('delta', delta);
  graph.output('reward', reduceSum(delta, [1]));
  graph.output('end', sigmoid(add(matMul(obs, weights('e', [3, 1])), -0.5)));
  return graph.toModel();
}

export async function writeOwn(folder: string, manifest: object = ownManifest, model = ownModel()): Promise<string> {
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
  await writeFile(join(folder, 'dynamics.onnx'), model);
  return folder;
}
