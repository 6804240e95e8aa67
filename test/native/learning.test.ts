// Gradient steps at the addon's border: what does not fit is a TypeError of the caller and never a crash.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Addon } from '../../src/nn/cuda-addon.js';
import { BUILD, lacksCompiler, make } from './native-build.js';

const SAC = {
  ...{ obsDim: 2, actionDim: 1, batchSize: 3, hidden: [4], activation: 'relu' as const, criticLayerNorm: true },
  ...{ tau: 0.1, rewardScale: 1, targetEntropy: -1, actorRate: 1, temperatureRate: 1 },
  ...{ scale: Float32Array.of(1), bias: Float32Array.of(0) },
};
const MEMBER = { inputDim: 3, outputDim: 2, batchSize: 4, hidden: [5], termination: false, logVarPenalty: 0.01 };
/** 3 · 5 weights and 5 biases, 5 · 4 and 4, and two bounds an output. */
const MEMBER_SIZE = 48;

const floats = (length: number) => new Float32Array(length);

describe.skipIf(lacksCompiler('learning.test.ts'))('the border of learners', () => {
  let addon: Addon;
  beforeAll(() => {
    make('addon');
    addon = createRequire(import.meta.url)(join(BUILD, 'reverie_cuda.node')) as Addon;
  });

  const runMember = (changes: { learner?: object; steps?: number; state?: object; rows?: object; chosen?: object }) => {
    const { learner = addon.makeMember(MEMBER, 'plain'), steps = 1 } = changes;
    const state = { theta: floats(MEMBER_SIZE), m: floats(MEMBER_SIZE), v: floats(MEMBER_SIZE), ...changes.state };
    const rows = {
      inputs: floats(30),
      targets: floats(20),
      terminated: floats(10),
      weights: floats(2),
      ...changes.rows,
    };
    const chosen = { rows: Int32Array.of(0, 9, 1, 1), alpha: floats(1), epsilon: floats(1).fill(1), ...changes.chosen };
    const all = { ...rows, decay: floats(MEMBER_SIZE) };
    return addon.runMember(learner, steps, state, all, chosen, { nll: floats(1) });
  };

  it('takes what fits', async () => {
    await runMember({});
  });

  it.each([
    ['a learner of another kind', () => ({ learner: addon.makeSac(SAC, 'plain') })],
    ['no learner', () => ({ learner: {} })],
    ['no steps', () => ({ steps: 0 })],
    ['more steps than batches', () => ({ steps: 2 })],
    ['parameters of another network', () => ({ state: { theta: floats(MEMBER_SIZE - 1) } })],
    ['a row that is not there', () => ({ chosen: { rows: Int32Array.of(0, 10, 1, 1) } })],
    ['a row before the first', () => ({ chosen: { rows: Int32Array.of(0, -1, 1, 1) } })],
    ['rows as floats', () => ({ chosen: { rows: floats(4) } })],
    ['inputs of another width', () => ({ rows: { inputs: floats(40) } })],
    ['no targets', () => ({ rows: { targets: undefined } })],
  ])('refuses %s', (_, changes) => {
    expect(() => runMember(changes())).toThrow(TypeError);
  });

  it.each([
    ['no hidden layer', { hidden: [] }],
    ['a layer of no units', { hidden: [4, 0] }],
    ['a bound too many', { scale: floats(2) }],
    ['another activation', { activation: 'gelu' }],
    ['a batch of no rows', { batchSize: 0 }],
    ['a part of a row', { batchSize: 1.5 }],
  ])('refuses a learner with %s', (_, change) => {
    expect(() => addon.makeSac({ ...SAC, ...change } as typeof SAC, 'plain')).toThrow(TypeError);
  });

  it('refuses a width that the processor has not', () => {
    expect(() => addon.makeSac(SAC, 'mmx')).toThrow(/mmx/);
    expect(() => addon.makeMember({ ...MEMBER, outputDim: -1 }, 'plain')).toThrow(TypeError);
  });
});
