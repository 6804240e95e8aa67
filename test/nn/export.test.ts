// Exported models in other hands: the onnx checker and Python's ONNX Runtime, where a Python with both is at hand.

import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { temporaryFolder } from '../temporary-folder.js';
import * as nn from './nn.js';
import { OP_CASES } from './op-cases.js';
import { leastSquares, trainerSpec } from './regression.js';

const CHECK = fileURLToPath(new URL('check-onnx.py', import.meta.url));
const python = process.env.REVERIE_PYTHON;
if (python === undefined)
  console.warn('export.test.ts skips: REVERIE_PYTHON names no Python with onnx and onnxruntime.');

/** A squashed Gaussian policy as users export it: observations and noise in, actions out. */
function policyGraph(): nn.Graph {
  const layout = new nn.ParamLayout(nn.mlpSpecs('pi', [3, 8, 8, 4]));
  const theta = layout.init(Rng.fromSeed(4));
  const graph = new nn.Graph('policy');
  const obs = graph.input('obs', 'float32', ['batch', 3]);
  const noise = graph.input('noise', 'float32', ['batch', 2]);
  const weights = layout.specs.map(({ name, shape }) => [
    name,
    graph.initializer(name, shape, layout.view(theta, name)),
  ]);
  const [mean, logStd] = nn.split(nn.mlp(Object.fromEntries(weights), 'pi', obs, 3, 'swish'), 1, [2, 2]);
  graph.output('action', nn.tanhNormalSample(mean, nn.clip(logStd, -5, 2), noise).action);
  return graph;
}

function opGraph({ name, inputs, build }: (typeof OP_CASES)[number]): nn.Graph {
  const graph = new nn.Graph(name);
  const values = Object.fromEntries(
    Object.entries(inputs).map(([input, shape]) => [input, graph.input(input, 'float32', shape)]),
  );
  const y = build(values, graph);
  graph.output('y', y);
  nn.gradients(nn.reduceMean(nn.square(y)), Object.values(values)).forEach((gradient, i) => {
    graph.output(`gradient${i}`, gradient);
  });
  return graph;
}

test.skipIf(python === undefined)('pass the onnx checker, and Python computes the same policy', async () => {
  const folder = temporaryFolder('export');
  const policy = policyGraph().toModel({ kind: 'policy' });
  const models = [
    policy,
    nn.trainingGraph(trainerSpec('regression', leastSquares())).toModel(),
    // Decoders, which alone have an operator of ONNX Runtime's own, are given to others as safetensors and GGUF.
    ...OP_CASES.filter(({ isOwn }) => !isOwn).map((c) => opGraph(c).toModel()),
  ];
  const paths = models.map((model, i) => {
    const path = join(folder, `${i}.onnx`);
    writeFileSync(path, model);
    return path;
  });
  const obs = [
    [0.1, -0.2, 0.3],
    [1, 2, 3],
  ];
  const noise = [
    [0.5, -0.5],
    [0, 1],
  ];
  const { stdout, stderr } = spawnSync(python!, [CHECK, JSON.stringify({ obs, noise }), ...paths], {
    encoding: 'utf8',
  });
  rmSync(folder, { recursive: true });
  expect(stdout, stderr).not.toBe('');
  const { out, meta } = JSON.parse(stdout) as { out: number[][][]; meta: Record<string, string> };
  const session = await nn.InferenceSession.fromBytes(policy);
  const flat = (rows: number[][]) => nn.float32(Float32Array.from(rows.flat()), [rows.length, rows[0].length]);
  const { action } = await session.run({ obs: flat(obs), noise: flat(noise) });
  out[0].flat().forEach((value, i) => {
    expect(Number(action.data[i])).toBeCloseTo(value, 5);
  });
  expect(meta).toEqual({ kind: 'policy' });
});
