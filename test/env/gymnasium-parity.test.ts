// Our environments against the real Gymnasium, step by step from the same state under the same actions.
// Needs a Python with gymnasium and mujoco, named by REVERIE_PYTHON.

import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { unpackNumbers } from '../../src/env/exact-numbers.js';
import { makeEnvironment } from '../../src/env/make-environment.js';
import type { MujocoEnvironment } from '../../src/env/mujoco/mujoco-environment.js';
import { rowSize } from '../../src/env/space-values.js';
import { randomAction } from './environment.contract.js';

const python = process.env.REVERIE_PYTHON;
const script = fileURLToPath(new URL('./gymnasium-trace.py', import.meta.url));

const TWINS = {
  'inverted-pendulum': 'InvertedPendulum-v5',
  'inverted-double-pendulum': 'InvertedDoublePendulum-v5',
  reacher: 'Reacher-v5',
  hopper: 'Hopper-v5',
  'half-cheetah': 'HalfCheetah-v5',
  walker2d: 'Walker2d-v5',
};
/** How far physics may drift in STEPS steps: contacts amplify the last bit in which native code and WebAssembly differ. */
const DRIFT: Record<string, number> = { 'half-cheetah': 1e-5 };
const EPISODES = 12;
const STEPS = 60;

interface Trace {
  observations: number[][];
  rewards: number[];
  terminations: boolean[];
  qpos: number[][];
}

function gymnasiumTraces(id: string, episodes: unknown[]): Trace[] {
  const input = JSON.stringify({ id, episodes });
  return JSON.parse(
    execFileSync(python!, [script], {
      input,
      // Where MuJoCo writes its log.
      cwd: tmpdir(),
      maxBuffer: 1 << 28,
      stdio: ['pipe', 'pipe', 'ignore'],
    }).toString(),
  );
}

describe.skipIf(python === undefined)('parity with Gymnasium v5 (skipped without REVERIE_PYTHON)', () => {
  test.each(Object.entries(TWINS))('%s', async (id, gymnasiumId) => {
    const env = (await makeEnvironment({ id, maxEpisodeSteps: null })) as MujocoEnvironment;
    const rng = Rng.fromSeed(7);
    const episodes = Array.from({ length: EPISODES }, (_, episode) => {
      env.reset({ seed: episode });
      const { qpos, qvel } = env.jointState();
      const actions = Array.from({ length: STEPS }, () =>
        Array.from(rng.fillUniform(new Float32Array(rowSize(env.actionSpace)), -1, 1)),
      );
      return { qpos: Array.from(qpos), qvel: Array.from(qvel), actions };
    });
    const worst = { observation: 0, reward: 0, qpos: 0, steps: 0, terminations: 0 };
    gymnasiumTraces(gymnasiumId, episodes).forEach((trace, episode) => {
      env.reset();
      env.setJointState(episodes[episode].qpos, episodes[episode].qvel);
      trace.rewards.forEach((reward, step) => {
        const ours = env.step(Float32Array.from(episodes[episode].actions[step]));
        expect(ours.terminated).toBe(trace.terminations[step]);
        worst.terminations += Number(ours.terminated);
        worst.steps += 1;
        worst.reward = Math.max(worst.reward, Math.abs(ours.reward - reward));
        worst.qpos = Math.max(worst.qpos, furthest(env.jointState().qpos, trace.qpos[step]));
        worst.observation = Math.max(
          worst.observation,
          furthest(ours.observation, trace.observations[step].map(Math.fround)),
        );
      });
    });
    console.info(`${id} against ${gymnasiumId}: ${JSON.stringify(worst)}`);
    const drift = DRIFT[id] ?? 1e-9;
    expect(worst.qpos).toBeLessThan(drift);
    expect(worst.observation).toBeLessThan(drift * 100);
    expect(worst.reward).toBeLessThan(drift * 100);
    expect(worst.steps).toBeGreaterThan(EPISODES);
    env.close();
  });
});

describe.skipIf(python === undefined)('parity with classic Gymnasium (skipped without REVERIE_PYTHON)', () => {
  test.each([
    ['cartpole', 'CartPole-v1'],
    ['pendulum', 'Pendulum-v1'],
  ])('%s', async (id, gymnasiumId) => {
    const env = await makeEnvironment({ id });
    const rng = Rng.fromSeed(3);
    const episodes = Array.from({ length: EPISODES }, (_, episode) => {
      env.reset({ seed: episode });
      const qpos = Array.from(
        unpackNumbers((env.snapshot().state as { world: string }).world, id === 'cartpole' ? 4 : 2),
      );
      return { qpos, actions: Array.from({ length: STEPS }, () => Array.from(randomAction(env, rng))) };
    });
    gymnasiumTraces(gymnasiumId, episodes).forEach((trace, episode) => {
      env.reset({ seed: episode });
      trace.rewards.forEach((reward, step) => {
        const ours = env.step(Float32Array.from(episodes[episode].actions[step]));
        expect(ours.terminated).toBe(trace.terminations[step]);
        expect(ours.reward).toBeCloseTo(reward, 9);
        expect(furthest(ours.observation, trace.observations[step])).toBeLessThan(1e-6);
      });
    });
  });
});

function furthest(a: ArrayLike<number>, b: ArrayLike<number>): number {
  expect(a.length).toBe(b.length);
  return Math.max(...Array.from(a, (value, i) => Math.abs(value - b[i])));
}
