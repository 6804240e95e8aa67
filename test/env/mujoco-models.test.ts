// Simulations beside one another; that they are those of the reference models, gymnasium-parity.test.ts tests.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { makeEnvironment } from '../../src/env/environments.js';
import { builtInBody } from '../../src/env/mujoco/mujoco-environment.js';
import { Simulation } from '../../src/env/mujoco/simulation.js';
import { temporaryFolder } from '../temporary-folder.js';

test('arrays stay valid when the memory grows and moves', async () => {
  const { file } = builtInBody('hopper');
  const first = await Simulation.load({ file });
  first.step(10);
  const before = first.arrays.qpos.slice();
  const held = first.arrays.qpos;
  const others: Simulation[] = [];
  const large = path.join(temporaryFolder('large'), 'large.xml');
  writeFileSync(large, readFileSync(file, 'utf8').replace('memory="2M"', 'memory="40M"'));
  while (held.byteLength > 0 && others.length < 60) others.push(await Simulation.load({ file: large }));
  expect(held.byteLength).toBe(0);
  expect(Array.from(first.arrays.qpos)).toEqual(Array.from(before));
  for (const simulation of [first, ...others]) simulation.delete();
});

test('an environment lives on unchanged while others are made and freed', async () => {
  const [alone, among] = [await makeEnvironment({ id: 'walker2d' }), await makeEnvironment({ id: 'walker2d' })];
  const action = new Float32Array(6).fill(0.3);
  alone.reset({ seed: 4 });
  const expected = Array.from({ length: 8 }, () => alone.step(action).observation);
  among.reset({ seed: 4 });
  for (const observation of expected) {
    const others = [];
    for (let i = 0; i < 2; i++) others.push(await makeEnvironment({ id: 'half-cheetah' }));
    expect(among.step(action).observation).toEqual(observation);
    if (observation === expected[3]) for (const other of others) other.close();
  }
});
