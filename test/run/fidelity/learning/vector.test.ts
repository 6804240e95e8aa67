// Learners on real, dreamt and mixed rows: rows that differ in nothing but what the model says, and learners that begin alike.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../../src/core/rng.js';
import { makeEnvironment } from '../../../../src/env/make-environment.js';
import { discreteSpace } from '../../../../src/env/space-values.js';
import { dreamtRows, mixedRows, vectorLearningInstrument } from '../../../../src/fidelity/vector/learning.js';
import { allocateBatch } from '../../../../src/replay/batch.js';
import type { TransitionBatch } from '../../../../src/replay/transition.js';

import { loadScenario } from '../../../../src/run/scenario.js';
import { pendulumModel } from '../pendulum-model.js';

const EPISODES = [0, 1, 2].map((i) => ({ first: 30 * i, rows: 30 }));

/** Three episodes of a pendulum pushed at random. */
async function recorded(): Promise<TransitionBatch> {
  const env = await makeEnvironment({ id: 'pendulum', maxEpisodeSteps: 30 });
  const rng = Rng.fromSeed(8);
  const rows = allocateBatch(90, 3, 1);
  for (const { first } of EPISODES) {
    let { observation } = env.reset({ seed: first });
    for (let row = first; row < first + 30; row++) {
      const action = rng.fillUniform(new Float32Array(1), -2, 2);
      const result = env.step(action);
      rows.obs.set(observation, 3 * row);
      rows.action.set(action, row);
      rows.nextObs.set(result.observation, 3 * row);
      rows.reward[row] = result.reward;
      observation = result.observation;
    }
  }
  return rows;
}

const request = { propagation: 'ts1', episodes: EPISODES, length: 7, rng: Rng.fromSeed(0) } as const;

describe('dreamt rows', () => {
  it('are the real ones again where the model is exact', async () => {
    const real = await recorded();
    const dreamt = await dreamtRows({ ...request, real, model: pendulumModel() });
    expect(dreamt.action).toEqual(real.action);
    dreamt.nextObs.forEach((value, i) => {
      expect(Math.abs(value - real.nextObs[i])).toBeLessThan(1e-4);
    });
    dreamt.reward.forEach((value, i) => {
      expect(Math.abs(value - real.reward[i])).toBeLessThan(1e-3);
    });
  });

  it('go on from dreamt states within a branch, and begin at real ones', async () => {
    const real = await recorded();
    const dreamt = await dreamtRows({ ...request, real, model: pendulumModel({ torque: -1 }) });
    const obs = (rows: TransitionBatch, row: number) => rows.obs.slice(3 * row, 3 * row + 3);
    for (const row of [0, 7, 28, 30, 37, 88]) expect(obs(dreamt, row)).toEqual(obs(real, row));
    for (const row of [1, 6, 29, 31]) {
      expect(obs(dreamt, row)).toEqual(dreamt.nextObs.slice(3 * row - 3, 3 * row));
      expect(obs(dreamt, row)).not.toEqual(obs(real, row));
    }
  });

  it('begin at the real state again where the dream ends', async () => {
    const real = await recorded();
    const model = pendulumModel();
    const imagine = model.imagine.bind(model);
    model.imagine = async (...given) => {
      const answer = await imagine(...given);
      return { ...answer, terminated: answer.terminated.map(() => 1) };
    };
    const dreamt = await dreamtRows({ ...request, real, model });
    expect(dreamt.obs).toEqual(real.obs);
    expect(dreamt.terminated.every((flag) => flag === 1)).toBe(true);
  });

  it('are mixed in exactly the share that was asked for', async () => {
    const real = await recorded();
    const dreamt = await dreamtRows({ ...request, real, model: pendulumModel({ bonus: 100 }) });
    for (const ratio of [0, 0.25, 0.5, 1]) {
      const mixed = mixedRows(real, dreamt, ratio, Rng.fromSeed(1));
      expect(mixed.reward.filter((reward) => reward > 50)).toHaveLength(Math.round(90 * ratio));
    }
    expect(real.reward.some((reward) => reward > 50)).toBe(false);
  });
});

describe('learners', () => {
  const set = ['rows=60', 'updates=60', 'seeds=1', 'episodes=1', 'ratios=[0, 1]'].map(
    (one) => `fidelity.learning.${one}`,
  );
  const given = async () => ({
    scenario: await loadScenario('pendulum', { set: [...set, 'rl.hidden=[8]'] }),
    seed: 1,
    inputs: {},
    out: '',
  });

  it('of one seed differ by nothing but their rows: an exact model teaches what the real rows do', async () => {
    const rows = await recorded();
    const { actionSpace } = pendulumModel();
    const constant = { ...rows, reward: rows.reward.map(() => 0) };
    const same = pendulumModel();
    same.imagine = async (carry) => ({
      carry,
      observation: carry.obs,
      reward: new Float32Array(carry.rows),
      terminated: new Uint8Array(carry.rows),
    });
    const still = { ...constant, nextObs: constant.obs };
    const instrument = vectorLearningInstrument(
      await given(),
      { rows: still, episodes: single(60), actionSpace },
      same,
    );
    const [[untrained], [real], [dreamt]] = await Promise.all([0, 1, 2].map((chunk) => instrument.measure(chunk)));
    expect(real).toMatchObject({ ratio: 0, seed: 0 });
    expect(dreamt).toMatchObject({ ratio: 1, returns: (real as { returns: number[] }).returns });
    expect((untrained as { returns: number[] }).returns).not.toEqual((real as { returns: number[] }).returns);
  });

  it('cannot learn choices, nor from a model that has no states: the section says so', async () => {
    const rows = await recorded();
    const discrete = vectorLearningInstrument(
      await given(),
      { rows, episodes: EPISODES, actionSpace: discreteSpace(2) },
      pendulumModel(),
    );
    expect(discrete.conclude([]).section.notes.join()).toMatch(/real numbers; here they are choices/);
    const served = vectorLearningInstrument(
      await given(),
      { rows, episodes: EPISODES, actionSpace: pendulumModel().actionSpace },
      undefined,
    );
    expect(served.chunks).toBe(0);
  });
});

/** Episodes of one row each: every dreamt row begins at its real state. */
function single(count: number) {
  return Array.from({ length: count }, (_, first) => ({ first, rows: 1 }));
}
