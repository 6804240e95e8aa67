// Our environments against the real Gymnasium, step by step from the same state under the same actions.
// Needs a Python with gymnasium and mujoco, named by REVERIE_PYTHON.

import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { unpackNumbers } from '../../src/env/clocked-environment.js';
import { makeEnvironment } from '../../src/env/environments.js';
import type { MujocoEnvironment } from '../../src/env/mujoco/mujoco-environment.js';
import { rowSize } from '../../src/env/space-values.js';
import { randomAction } from './environment.contract.js';

const python = process.env.REVERIE_PYTHON;
const script = fileURLToPath(new URL('./gymnasium-trace.py', import.meta.url));

const TWINS: Readonly<Record<string, string>> = {
  'inverted-pendulum': 'InvertedPendulum-v5',
  'inverted-double-pendulum': 'InvertedDoublePendulum-v5',
  reacher: 'Reacher-v5',
  hopper: 'Hopper-v5',
  'half-cheetah': 'HalfCheetah-v5',
  walker2d: 'Walker2d-v5',
};
const CLASSIC: Readonly<Record<string, string>> = { cartpole: 'CartPole-v1', pendulum: 'Pendulum-v1' };
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

/** Traces of all environments, by one process: Gymnasium takes long to load. */
function gymnasiumTraces(requests: { id: string; episodes: unknown[] }[]): Trace[][] {
  const options = { input: JSON.stringify(requests), cwd: tmpdir(), maxBuffer: 1 << 28 };
  // In the working directory MuJoCo writes its log.
  return JSON.parse(execFileSync(python!, [script], { ...options, stdio: ['pipe', 'pipe', 'ignore'] }).toString());
}

async function mujocoEpisodes(id: string) {
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
  return { env, episodes };
}

async function classicEpisodes(id: string) {
  const env = await makeEnvironment({ id });
  const rng = Rng.fromSeed(3);
  const episodes = Array.from({ length: EPISODES }, (_, episode) => {
    env.reset({ seed: episode });
    const { world } = env.snapshot().state as { world: string };
    const qpos = Array.from(unpackNumbers(world, id === 'cartpole' ? 4 : 2));
    return { qpos, actions: Array.from({ length: STEPS }, () => Array.from(randomAction(env, rng))) };
  });
  return { env, episodes };
}

describe.skipIf(python === undefined)('parity with Gymnasium (skipped without REVERIE_PYTHON)', () => {
  const traces = new Map<string, Trace[]>();
  beforeAll(async () => {
    const ids = [...Object.keys(TWINS), ...Object.keys(CLASSIC)];
    const requests = await Promise.all(
      ids.map(async (id) => {
        const { env, episodes } = await (id in TWINS ? mujocoEpisodes(id) : classicEpisodes(id));
        env.close();
        return { id: { ...TWINS, ...CLASSIC }[id]!, episodes };
      }),
    );
    for (const [i, found] of gymnasiumTraces(requests).entries()) traces.set(ids[i], found);
  });

  test.each(Object.entries(TWINS))('%s, as %s', async (id, gymnasiumId) => {
    const { env, episodes } = await mujocoEpisodes(id);
    const worst = { observation: 0, reward: 0, qpos: 0, steps: 0, terminations: 0 };
    traces.get(id)!.forEach((trace, episode) => {
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

  test.each(Object.entries(CLASSIC))('%s, as %s', async (id) => {
    const { env, episodes } = await classicEpisodes(id);
    traces.get(id)!.forEach((trace, episode) => {
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
