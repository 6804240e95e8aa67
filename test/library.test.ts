// The public API by itself, as a program of one's own uses it: record, fit, dream, check the dream, branch rollouts.

import { describe, expect, it } from 'vitest';
import * as reverie from '../src/index.js';

const { checkEnvironment, Dream, evaluatePolicy, fitEnsemble, makeEnvironment, RandomPolicy, Rng, RolloutPool } =
  reverie;

describe('the public API', () => {
  it('has at most 25 values', () => {
    expect(Object.keys(reverie).length).toBeLessThanOrEqual(25);
  });

  it('takes a program from a real environment to rollouts in a dream of it', async () => {
    const rng = Rng.fromSeed(1);
    const env = await makeEnvironment({ id: 'pendulum' });
    const seen = await recorded(env, 400, rng.split('record'));
    const config = { members: 2, elites: 2, hidden: [32], maxEpochs: 5 };
    const { model } = await fitEnsemble(seen, env, config, { rng: rng.split('fit') });

    const dream = new Dream({ model, starts: seen.obs, maxEpisodeSteps: 50 });
    const report = await checkEnvironment(dream);
    expect(report.checks.flatMap(({ problems }) => problems)).toEqual([]);
    expect(report.passed).toBe(true);

    const policy = new RandomPolicy(env.actionSpace);
    const { meanReturn } = await evaluatePolicy(dream, policy, { episodes: 2, seed: 3 });
    expect(Number.isFinite(meanReturn)).toBe(true);

    const pool = new RolloutPool({ workers: 1 });
    const starts = seen.obs.slice(0, 10 * 3);
    const { batch, provenance } = await pool.branchedRollouts({
      model: model.snapshot(),
      policy: policy.snapshot(),
      starts,
      startIds: Array.from({ length: 10 }, (_, row) => row),
      horizon: 4,
      rng: rng.split('rollouts'),
    });
    expect(batch.rows).toBe(40);
    expect(provenance).toMatchObject({ source: 'synthetic', backend: 'ensemble', modelVersion: model.modelVersion });
    await pool.close();
  });
});

async function recorded(env: reverie.VectorEnvironment, rows: number, rng: reverie.Rng) {
  const policy = new RandomPolicy(env.actionSpace);
  const obs = new Float32Array(rows * 3);
  const action = new Float32Array(rows);
  const reward = new Float32Array(rows);
  const nextObs = new Float32Array(rows * 3);
  let { observation } = await env.reset({ seed: 1 });
  for (let row = 0; row < rows; row++) {
    obs.set(observation, row * 3);
    action[row] = policy.act(observation, 1, rng).action[0];
    const result = await env.step(action.slice(row, row + 1));
    reward[row] = result.reward;
    nextObs.set(result.observation, row * 3);
    observation = result.truncated ? (await env.reset()).observation : result.observation;
  }
  return { rows, obs, action, reward, terminated: new Uint8Array(rows), truncated: new Uint8Array(rows), nextObs };
}
