// Gradient steps at the addon's border: what does not fit is a TypeError of the caller and never a crash.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Addon } from '../../src/nn/cuda-addon.js';
import { BUILD, lacksCompiler, make } from './native-build.js';

const SAC = {
  ...{ obsDim: 2, actionDim: 1, batchSize: 3, hidden: [4], activation: 'relu' as const, criticLayerNorm: true },
  isResidual: false,
  ...{ tau: 0.1, rewardScale: 1, targetEntropy: -1 },
  ...{ isJoint: true, critics: 2, drawn: 2, dropout: 0 },
  ...{ scale: Float32Array.of(1), bias: Float32Array.of(0) },
};
const REDQ = { ...SAC, isJoint: false, critics: 3 };
/** 3 · 4 weights and 4 biases, 4 and 1, three times; of the policy 2 · 4 and 4, 4 · 2 and 2, and the log temperature. */
const [CRITICS_SIZE, THETA_SIZE] = [63, 23];
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

  const runCritics = (changes: { learner?: object; state?: object; theta?: Float32Array; batches?: object }) => {
    const { learner = addon.makeActorCritic(REDQ, 'plain'), theta = floats(THETA_SIZE) } = changes;
    const critics = { critics: floats(CRITICS_SIZE), m: floats(CRITICS_SIZE), v: floats(CRITICS_SIZE) };
    const state = { ...critics, target: floats(CRITICS_SIZE), ...changes.state };
    const rows = { obs: floats(6), action: floats(3), reward: floats(3), discount: floats(3), nextObs: floats(6) };
    const drawn = { weight: floats(3), nextNoise: floats(3), drawn: Int32Array.of(2, 0) };
    const adam = { adamAlpha: floats(1), adamEpsilon: floats(1).fill(1) };
    const batches = { ...rows, ...drawn, ...adam, ...changes.batches };
    return addon.runActorCritic(learner, 1, state, { theta }, batches, { criticLoss: floats(1), q: floats(1) });
  };

  it('takes what fits', async () => {
    await runMember({});
    await runCritics({});
    const learner = addon.makeActorCritic({ ...REDQ, dropout: 0.5 }, 'plain');
    const masks = { ownMask0: new Uint8Array(3 * 3 * 4), nextMask0: new Uint8Array(2 * 3 * 4) };
    await runCritics({ learner, batches: masks });
  });

  it.each([
    ['a critic that is not there', () => ({ batches: { drawn: Int32Array.of(0, 3) } })],
    ['a critic before the first', () => ({ batches: { drawn: Int32Array.of(0, -1) } })],
    ['a critic too few', () => ({ batches: { drawn: Int32Array.of(0) } })],
    ['targets of fewer critics', () => ({ state: { target: floats(CRITICS_SIZE - 1) } })],
    ['another policy', () => ({ theta: floats(THETA_SIZE + 1) })],
    ['dropout without masks', () => ({ learner: addon.makeActorCritic({ ...REDQ, dropout: 0.5 }, 'plain') })],
    ['a learner of two critics', () => ({ learner: addon.makeActorCritic(SAC, 'plain') })],
  ])('refuses critics with %s', (_, changes) => {
    expect(() => runCritics(changes())).toThrow(TypeError);
  });

  it.each([
    ['no critic', { critics: 0 }],
    ['more drawn than there are', { drawn: 4 }],
    ['none drawn', { drawn: 0 }],
    ['more critics than learn together', { isJoint: true }],
    ['all units left out', { dropout: 1 }],
  ])('refuses an ensemble of critics with %s', (_, change) => {
    expect(() => addon.makeActorCritic({ ...REDQ, ...change }, 'plain')).toThrow(TypeError);
  });

  it.each([
    ['a learner of another kind', () => ({ learner: addon.makeActorCritic(SAC, 'plain') })],
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
    expect(() => addon.makeActorCritic({ ...SAC, ...change } as typeof SAC, 'plain')).toThrow(TypeError);
  });

  it('refuses a width that the processor has not', () => {
    expect(() => addon.makeActorCritic(SAC, 'mmx')).toThrow(/mmx/);
    expect(() => addon.makeMember({ ...MEMBER, outputDim: -1 }, 'plain')).toThrow(TypeError);
  });
});
