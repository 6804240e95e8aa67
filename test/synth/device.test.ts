// Rollouts on a device: the same branches, ends and counts as on the processor, and rows that differ by rounding alone.
// Here the device is the emulation, which runs the kernels as they are.

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { VectorEnvironment } from '../../src/core/environment.js';
import type { PolicySnapshot } from '../../src/core/policy.js';
import { Rng } from '../../src/core/rng.js';
import { makeEnvironment } from '../../src/env/environments.js';
import { DeviceEnsemble } from '../../src/nn/cuda.js';
import { allocateBatch } from '../../src/replay/columns.js';
import { RandomPolicy } from '../../src/rl/policy-net.js';
import { makePpo } from '../../src/rl/ppo.js';
import { makeSac } from '../../src/rl/soft-actor-critic.js';
import type { FrozenRolloutRequest, RolloutResult } from '../../src/synth/rollout/plan.js';
import { RolloutPool } from '../../src/synth/rollout/pool.js';
import type { Spaces, WorldModelSnapshot } from '../../src/worldmodel/dynamics.js';
import type { EnsembleModel } from '../../src/worldmodel/ensemble/ensemble-model.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';
import { lacksCompiler, make } from '../native/native-build.js';
import { linearSpaces, linearTransitions, smallConfig } from '../worldmodel/linear-system.js';

const isSkipped = lacksCompiler('device.test.ts');
if (!isSkipped) make('addon');

const DEVICE = { kind: 'emulated', precision: 'fp32' } as const;
const brief = { ...smallConfig, hidden: [16, 16], maxEpochs: 5 };
const STARTS = 90;

/** Revived from the sources of this run, not from a build. */
const LOADER = new URL('../../src/rl/policy-net.ts', import.meta.url).href;

const sacPolicy = (spaces: Spaces) => makeSac({ hidden: [24, 24] }, spaces, Rng.fromSeed(4));
const ppoPolicy = (spaces: Spaces) => makePpo({ hidden: [24, 24] }, spaces, Rng.fromSeed(4));

async function snapshotOf(
  learner: ReturnType<typeof sacPolicy> | ReturnType<typeof ppoPolicy>,
): Promise<PolicySnapshot> {
  const made = await learner;
  const snapshot = made.policySnapshot();
  await made.close();
  return { ...snapshot, loader: LOADER };
}

interface Subject {
  readonly spaces: Spaces;
  readonly model: WorldModelSnapshot;
  readonly starts: Float32Array;
}

async function linearSubject(): Promise<Subject> {
  const data = linearTransitions(600, Rng.fromSeed(1));
  const { model } = await fitEnsemble(data, linearSpaces, brief, { rng: Rng.fromSeed(2) });
  await model.close();
  return { spaces: linearSpaces, model: model.snapshot(), starts: data.obs.slice(0, 2 * STARTS) };
}

/** Reward and end are the known functions of the environment, its actions are discrete. */
async function cartpoleSubject(): Promise<Subject> {
  const env: VectorEnvironment = await makeEnvironment({ id: 'cartpole' });
  const data = allocateBatch(600, 4, 1);
  const rng = Rng.fromSeed(5);
  let { observation } = await env.reset({ seed: 1 });
  for (let row = 0; row < data.rows; row++) {
    const action = Float32Array.of(rng.int(2));
    const step = await env.step(action);
    data.obs.set(observation, 4 * row);
    data.action[row] = action[0];
    data.nextObs.set(step.observation, 4 * row);
    data.reward[row] = step.reward;
    data.terminated[row] = step.terminated ? 1 : 0;
    observation = step.terminated || step.truncated ? (await env.reset()).observation : step.observation;
  }
  const config = { ...brief, learnReward: false };
  const options = { rng: Rng.fromSeed(2), known: env.known, env: { id: 'cartpole' } };
  const { model } = await fitEnsemble(data, env, config, options);
  const { observationSpace, actionSpace } = env;
  await Promise.all([model.close(), env.close()]);
  return { spaces: { observationSpace, actionSpace }, model: model.snapshot(), starts: data.obs.slice(0, 4 * STARTS) };
}

const CASES: readonly (readonly [name: string, overrides: Partial<FrozenRolloutRequest>])[] = [
  ['plain', {}],
  ['by the mean', { propagation: 'mean' }],
  ['doubted rows dropped', { disagreementLimit: 0.12 }],
];

describe.skipIf(isSkipped)('rollouts on a device', () => {
  const whole = vi.spyOn(DeviceEnsemble.prototype, 'rollout');
  beforeEach(() => {
    whole.mockClear();
  });

  const onProcessor = new RolloutPool({ workers: 0 });
  const onDevice = new RolloutPool({ workers: 3, device: DEVICE });
  afterAll(() => Promise.all([onProcessor.close(), onDevice.close()]));

  it('take no threads', () => {
    expect(onDevice.workers).toBe(0);
    expect(onDevice['pool']['threads']).toBeUndefined();
  });

  describe.each([
    ['learned dynamics and a squashed policy', linearSubject, sacPolicy],
    ['learned dynamics and a gaussian policy', linearSubject, ppoPolicy],
    ['known reward and end, and a categorical policy', cartpoleSubject, ppoPolicy],
  ] as const)('of %s', (_, subjectOf, policyOf) => {
    let request: FrozenRolloutRequest;
    beforeAll(async () => {
      const { model, starts, spaces } = await subjectOf();
      const policy = await snapshotOf(policyOf(spaces));
      const startIds = Float64Array.from({ length: STARTS }, (__, row) => 10 + row);
      request = { model, policy, starts, startIds, horizon: 6, chunkSize: 40, rng: Rng.fromSeed(9), firstEpisode: 5 };
    });

    it.each(CASES)('are those of the processor: %s', async (__, overrides) => {
      const asked = { ...request, ...overrides };
      const [wanted, got] = [await onProcessor.branchedRollouts(asked), await onDevice.branchedRollouts(asked)];
      expectSame(got, wanted);
      expect(wanted.counts.rows).toBeGreaterThan(STARTS);
      expect(whole).toHaveBeenCalledTimes(Math.ceil(STARTS / 40));
    });

    it('are stepped where the policy is no network, to the same end', async () => {
      const random = new RandomPolicy((await modelSpaces(request.model)).actionSpace).snapshot();
      const asked = { ...request, policy: { ...random, loader: LOADER } };
      expectSame(await onDevice.branchedRollouts(asked), await onProcessor.branchedRollouts(asked));
      expect(whole).not.toHaveBeenCalled();
    });
  });
});

async function modelSpaces(snapshot: WorldModelSnapshot): Promise<Spaces> {
  return (snapshot.payload as { description: EnsembleModel['description'] }).description;
}

/** Everything that is counted or chosen is equal; what is computed is near. */
function expectSame(got: RolloutResult, wanted: RolloutResult): void {
  expect(got.counts).toEqual(wanted.counts);
  expect(got.batch.terminated).toEqual(wanted.batch.terminated);
  expect(got.batch.truncated).toEqual(wanted.batch.truncated);
  const { confidence, logProb, ...exact } = wanted.provenance;
  expect(got.provenance).toMatchObject(exact);
  for (const key of ['obs', 'action', 'reward', 'nextObs'] as const) expectNear(got.batch[key], wanted.batch[key], key);
  expectNear(got.provenance.confidence, confidence, 'confidence');
  expectNear(got.provenance.logProb, logProb, 'logProb');
}

function expectNear(got: Float32Array | undefined, wanted: Float32Array | undefined, what: string): void {
  expect(got?.length, what).toBe(wanted?.length);
  const worst = (got ?? new Float32Array(0)).reduce((most, value, i) => {
    return Math.max(most, Math.abs(value - wanted![i]) / (1 + Math.abs(wanted![i])));
  }, 0);
  expect(worst, what).toBeLessThan(1e-3);
}
