// The checker finds what is wrong: each test breaks one promise and expects the check of that name to fail.

import { expect, test } from 'vitest';
import type { Environment, SyncVectorEnvironment } from '../../src/core/environment.js';
import { type CheckName, checkEnvironment, describeReport } from '../../src/env/check-environment.js';
import { makeEnvironment } from '../../src/env/environments.js';
import { boxSpace, requireAction } from '../../src/env/space-values.js';

type Broken = (env: SyncVectorEnvironment) => Partial<Record<keyof SyncVectorEnvironment, unknown>>;

/** An environment with some members replaced. */
async function broken(change: Broken, id = 'pendulum'): Promise<Environment> {
  const env = await makeEnvironment({ id, maxEpisodeSteps: 40 });
  const changes = change(env);
  return new Proxy(env, {
    get(target, key) {
      if (key in changes) return changes[key as keyof SyncVectorEnvironment];
      const value = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  }) as Environment;
}

async function failures(change: Broken): Promise<CheckName[]> {
  const report = await checkEnvironment(() => broken(change));
  return report.checks.filter((check) => !check.passed).map((check) => check.name);
}

const stepping =
  (change: object): Broken =>
  (env) => ({ step: (a: Float32Array) => ({ ...env.step(a), ...change }) });
const CASES: [CheckName, string, Broken][] = [
  ['steps', 'a reward that is not finite', stepping({ reward: Number.NaN })],
  ['steps', 'a reward beyond a float32', stepping({ reward: 1e300 })],
  [
    'steps',
    'an observation outside the space',
    (env) => ({ reset: (o: object) => ({ ...env.reset(o), observation: Float32Array.of(9, 0, 0) }) }),
  ],
  ['seed-determinism', 'a seed that is ignored', (env) => ({ reset: () => env.reset() })],
  ['snapshot-restore', 'a restore that does nothing', (env) => ({ restore: () => env.reset().observation })],
  ['fork', 'a restore that does nothing', (env) => ({ restore: () => env.reset().observation })],
  ['snapshot-restore', 'a snapshot that JSON cannot carry', (env) => holdingSnapshots(env)],
  ['clock', 'a clock that never strikes', stepping({ truncated: false })],
  [
    'action-out-of-space',
    'an action taken as it comes',
    (env) => ({ step: (a: Float32Array) => env.step(Float32Array.of(Math.min(Math.max(a[0] || 0, -2), 2))) }),
  ],
  ['not-reset', 'a step before reset', (env) => ({ step: (a: Float32Array) => stepAnyway(env, a) })],
  ['spaces', 'bounds of the wrong number', () => ({ actionSpace: { type: 'box', shape: [1], low: [], high: [] } })],
  ['spaces', 'actions of no element', () => ({ actionSpace: { type: 'box', shape: [0], low: [], high: [] } })],
];

test.each(CASES)('%s finds %s', async (check, _, change) => {
  expect(await failures(change)).toContain(check);
});

test.each([
  [1e7, 2e7],
  [5, null],
  [null, -5],
  [-1, 1e8],
  [-1e38, 1e38],
  [3, 3],
])('tries actions from %s to %s within their bounds and beyond', async (low, high) => {
  const bounded: Broken = (env) => {
    const actionSpace = boxSpace([low], [high]);
    const step = (action: Float32Array) => {
      requireAction(actionSpace, action);
      return env.step(new Float32Array(1));
    };
    return { actionSpace, step };
  };
  expect(await failures(bounded)).toEqual([]);
});

test('works for asynchronous environments too', async () => {
  const report = await checkEnvironment(() =>
    broken((env) => ({
      reset: async (o: object) => env.reset(o),
      step: async (a: Float32Array) => env.step(a),
      snapshot: async () => env.snapshot(),
      restore: async (s: never) => env.restore(s),
    })),
  );
  expect(report.passed, describeReport(report)).toBe(true);
});

test('an instance is checked without a second one, and the report says what was skipped', async () => {
  const report = await checkEnvironment(await makeEnvironment({ id: 'cartpole' }));
  expect(report.passed).toBe(true);
  expect(report.checks.filter((check) => check.skipped).map((check) => check.name)).toEqual(['not-reset', 'fork']);
  expect(describeReport(report)).toMatch(/cartpole: sound[\s\S]*fork +skipped: give a function/);
});

function stepAnyway(env: SyncVectorEnvironment, action: Float32Array) {
  try {
    return env.step(action);
  } catch {
    env.reset();
    return env.step(action);
  }
}

function holdingSnapshots(env: SyncVectorEnvironment) {
  return {
    snapshot: () => ({ env: env.id, state: new Map([['held', env.snapshot()]]) }),
    restore: (snapshot: { state: Map<string, never> }) => env.restore(snapshot.state.get('held')!),
  };
}
