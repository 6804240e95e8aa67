import { copyFile, cp, link, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { boxSpace, unboundedSpace } from '../../src/env/space-values.js';
import { Graph } from '../../src/nn/graph.js';
import { add, mul, reduceSum } from '../../src/nn/ops.js';
import { Dream } from '../../src/worldmodel/dream.js';
import { loadWorldModel } from '../../src/worldmodel/kinds.js';
import { OnnxDynamics } from '../../src/worldmodel/onnx/onnx-dynamics.js';
import { temporaryFolder } from '../temporary-folder.js';
import { oneStep } from './one-step.js';
import { ownManifest, ownModel, writeOwn } from './own-dynamics.js';

describe('ONNX dynamics of one’s own', () => {
  let folder: string;
  beforeEach(async () => {
    folder = temporaryFolder('own');
  });

  it('computes what the model computes', async () => {
    const model = await OnnxDynamics.load(await writeOwn(folder));
    const obs = Float32Array.of(1, 2, 3);
    const { nextObs, reward } = await oneStep(model, obs, Float32Array.of(0.5, -0.5), Rng.fromSeed(1), {
      deterministic: true,
    });
    const weight = (i: number) => 0.1 * Math.sin(i + 1);
    const change = [0, 1, 2].map((j) => {
      const fromObs = [0, 1, 2].reduce((sum, i) => sum + obs[i] * weight(3 * i + j), 0);
      return fromObs + 0.5 * weight(j) - 0.5 * weight(3 + j);
    });
    change.forEach((delta, j) => {
      expect(nextObs[j]).toBeCloseTo(obs[j] + delta, 5);
    });
    expect(reward[0]).toBeCloseTo(change[0] + change[1] + change[2], 5);
    await model.close();
  });

  it('takes one-hot and plain discrete actions', async () => {
    for (const width of [1, 3]) {
      const graph = new Graph('discrete');
      const action = graph.input('action', 'float32', ['batch', width]);
      const obs = graph.input('obs', 'float32', ['batch', width]);
      graph.output('next', add(obs, action));
      const spaces = { observationSpace: unboundedSpace(width), actionSpace: { type: 'discrete', n: 3, start: 0 } };
      const manifest = { ...ownManifest, ...spaces, outputs: { nextObs: 'next' }, env: { id: 'cartpole' } };
      const model = await OnnxDynamics.load(await writeOwn(folder, manifest, graph.toModel()));
      const obs0 = new Float32Array(2 * width);
      const { nextObs } = await oneStep(model, obs0, Float32Array.of(2, 1), Rng.fromSeed(1));
      expect([...nextObs]).toEqual(width === 1 ? [2, 1] : [0, 0, 1, 0, 1, 0]);
      await model.close();
    }
  });

  it('finds the body of its known reward beside its manifest, wherever it is saved', async () => {
    await copyFile('scenarios/bring-your-own-mjcf/ball-beam.xml', join(folder, 'beam.xml'));
    const graph = new Graph('still');
    graph.output(
      'next',
      add(graph.input('obs', 'float32', ['batch', 4]), graph.input('action', 'float32', ['batch', 1])),
    );
    const observation = [{ qpos: 'all' }, { qvel: 'all' }];
    const env = { mjcf: '../beam.xml', observation, reward: [{ name: 'r', of: { sumSquares: { qpos: 'all' } } }] };
    const spaces = { observationSpace: unboundedSpace(4), actionSpace: boxSpace([-1], [1]) };
    const manifest = { ...ownManifest, ...spaces, outputs: { nextObs: 'next' }, env };
    await mkdir(join(folder, 'model'));
    const model = await OnnxDynamics.load(await writeOwn(join(folder, 'model'), manifest, graph.toModel()));
    const elsewhere = join(temporaryFolder('elsewhere'), 'a', 'b');
    await model.save(elsewhere);
    const again = await OnnxDynamics.load(elsewhere);
    const other = temporaryFolder('moved');
    await cp(folder, other, { recursive: true });
    const moved = await OnnxDynamics.load(join(other, 'model'));
    for (const one of [model, again, moved]) {
      const { reward } = await oneStep(one, Float32Array.of(1, 2, 0, 0), Float32Array.of(1), Rng.fromSeed(1));
      expect(reward[0]).toBe(13);
      await one.close();
    }
    expect([again.modelVersion, moved.modelVersion]).toEqual([model.modelVersion, model.modelVersion]);
  });

  it('answers one of the states where these are counted, whichever way it tells them', async () => {
    const observationSpace = { type: 'discrete', n: 4, start: 1 };
    for (const outputs of [{ nextObs: 'told' }, { delta: 'told' }]) {
      const graph = new Graph('counted');
      const obs = graph.input('obs', 'float32', ['batch', 1]);
      const moved = mul(graph.input('action', 'float32', ['batch', 1]), 0.7);
      graph.output('told', 'delta' in outputs ? moved : add(obs, moved));
      graph.output('reward', reduceSum(obs, [1]));
      const own = { observationSpace, actionSpace: boxSpace([-9], [9]), outputs: { ...outputs, reward: 'reward' } };
      const manifest = { ...ownManifest, ...own };
      const model = await OnnxDynamics.load(await writeOwn(folder, manifest, graph.toModel()));
      const dream = new Dream({ model, starts: Float32Array.of(1) });
      await dream.reset({ seed: 1 });
      const seen: number[] = [];
      for (const push of [1, -9, 9, -0.5]) seen.push((await dream.step(Float32Array.of(push))).observation[0]);
      expect(seen).toEqual([2, 1, 4, 4]);
      await model.close();
    }
  });

  const wrongs: [string, object, RegExp][] = [
    ['an output is missing', { outputs: { ...ownManifest.outputs, reward: 'gain' } }, /no output "gain".*"reward"/],
    ['an input is missing', { inputs: { obs: 'state' } }, /no input "state".*"obs"/],
    [
      'the observation has another width',
      { observationSpace: unboundedSpace(4) },
      /"obs" is float32\[batch, 3\].*\[batch, 4\]/,
    ],
    [
      'a bound lies above the other',
      { observationSpace: boxSpace([-1, 1, null], [1, -1, 0]) },
      /observationSpace: no number lies between a low of 1 and a high of -1/,
    ],
    ['both nextObs and delta are given', { outputs: { nextObs: 'delta', delta: 'delta' } }, /one of nextObs and delta/],
    ['the model lies outside its folder', { model: '../dynamics.onnx' }, /plain name/],
    ['the hash is another', { sha256: '0'.repeat(64) }, /damaged/],
  ];
  it.each(wrongs)('refuses a manifest that does not fit: %s', async (_, change, message) => {
    const loading = loadWorldModel(await writeOwn(folder, { ...ownManifest, ...change }));
    await expect(loading).rejects.toMatchObject({ code: 'MODEL_FILE_INVALID' });
    await expect(loading).rejects.toThrow(message);
  });

  it.each([
    [-0.5, -0.5],
    [1.5, 1.5],
    [3e38, Infinity],
    [0, 0],
    [1, 1],
  ])('takes an end by its probability alone: a model that answers %d', async (bias, told) => {
    const graph = new Graph('raw');
    const obs = graph.input('obs', 'float32', ['batch', 3]);
    graph.input('action', 'float32', ['batch', 2]);
    graph.output('delta', obs);
    graph.output('reward', reduceSum(obs, [1]));
    const raw = add(reduceSum(obs, [1]), bias);
    graph.output('end', bias > 1e38 ? add(raw, bias) : raw);
    const model = await OnnxDynamics.load(await writeOwn(folder, ownManifest, graph.toModel()));
    const step = oneStep(model, new Float32Array(3), new Float32Array(2), Rng.fromSeed(1));
    if (told === 0 || told === 1) expect([...(await step).terminated]).toEqual([told]);
    else
      await expect(step).rejects.toMatchObject({
        code: 'MODEL_FILE_INVALID',
        message: expect.stringMatching(new RegExp(`answered ${told} as "end", where a probability`)),
        hint: expect.stringContaining('sigmoid'),
      });
    await model.close();
  });

  it('refuses a fixed batch size and an input that nothing feeds', async () => {
    await expect(loadWorldModel(await writeOwn(folder, ownManifest, ownModel(1)))).rejects.toThrow(/free batch size/);
    const manifest = { ...ownManifest, inputs: { obs: 'obs', action: 'obs' }, actionSpace: unboundedSpace(3) };
    await expect(loadWorldModel(await writeOwn(folder, manifest))).rejects.toThrow(/also takes "action"/);
  });

  it('refuses a model that draws at random, with the way out', async () => {
    const graph = new Graph('noisy');
    const obs = graph.input('obs', 'float32', ['batch', 3]);
    graph.input('action', 'float32', ['batch', 2]);
    graph.output('delta', graph.add('RandomNormalLike', [obs], {}, [obs])[0]);
    await expect(loadWorldModel(await writeOwn(folder, ownManifest, graph.toModel()))).rejects.toMatchObject({
      code: 'MODEL_FILE_INVALID',
      message: expect.stringMatching(/dynamics\.onnx" .*RandomNormalLike.*draws at random/),
      hint: expect.stringContaining('model.eval()'),
    });
  });

  it('refuses weights outside the model, also behind a hard link, and bytes that are no model', async () => {
    const external = withExternalData(ownModel());
    await writeOwn(folder, ownManifest, external);
    await writeFile(join(folder, 'secret.bin'), 'secret');
    await link(join(folder, 'secret.bin'), join(folder, 'weights.bin'));
    await expect(loadWorldModel(folder)).rejects.toMatchObject({ code: 'MODEL_FILE_INVALID' });
    await writeOwn(folder, ownManifest, new TextEncoder().encode('not a model at all'));
    await expect(loadWorldModel(folder)).rejects.toMatchObject({ code: 'MODEL_FILE_INVALID' });
  });
});

/** Appends a graph with one more weight, kept in weights.bin: repeated messages merge in protobuf. */
function withExternalData(model: Uint8Array): Uint8Array {
  const field = (number: number, bytes: number[]) => [(number << 3) | 2, bytes.length, ...bytes];
  const text = (value: string) => [...new TextEncoder().encode(value)];
  const entry = field(13, [...field(1, text('location')), ...field(2, text('weights.bin'))]);
  const tensor = [0x08, 1, 0x10, 1, ...field(8, text('w')), ...entry, 0x70, 1];
  return Uint8Array.from([...model, ...field(7, field(5, tensor))]);
}
