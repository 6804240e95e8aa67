// Known functions follow from the data: which there are, and that they are right where random play seldom goes.

import { expect, test } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { makeEnvironment } from '../../src/env/environments.js';
import type { MujocoEnvironment } from '../../src/env/mujoco/mujoco-environment.js';
import { rowSize } from '../../src/env/space-values.js';

test.each(['inverted-pendulum', 'inverted-double-pendulum', 'hopper', 'walker2d'])(
  '%s: the known end agrees with the real one from hundreds of scattered states',
  async (id) => {
    const env = (await makeEnvironment({ id })) as MujocoEnvironment;
    const rng = Rng.fromSeed(5);
    const action = new Float32Array(rowSize(env.actionSpace));
    let ended = 0;
    let wrong = 0;
    for (let i = 0; i < 400; i++) {
      env.reset({ seed: i });
      const { qpos, qvel } = env.jointState();
      env.setJointState(
        qpos.map((value) => value + 0.3 * rng.normal()),
        qvel.map((value) => value + 2 * rng.normal()),
      );
      const result = env.step(rng.fillUniform(action, -1, 1));
      ended += Number(result.terminated);
      wrong += Number(env.known!.terminated!(result.observation, 0) !== result.terminated);
    }
    expect(ended).toBeGreaterThan(20);
    expect(ended).toBeLessThan(380);
    // The double pendulum's tip lags its joints by a part of a substep: see its known function.
    expect(wrong).toBeLessThanOrEqual(id === 'inverted-double-pendulum' ? 5 : 0);
    env.close();
  },
);

test('the end of a body is known as long as what is observed and what ends it are its own', async () => {
  const reward = [{ name: 'one', of: { constant: 1 } }];
  for (const id of ['hopper', 'inverted-double-pendulum'] as const) {
    const [own, paid] = [await makeEnvironment({ id }), await makeEnvironment({ id, reward })];
    expect(paid.known?.terminated).toBe(own.known?.terminated);
    const other = await makeEnvironment({ id, termination: [{ of: { qvel: 'all' }, below: 50 }] });
    expect(other.known?.terminated).toBeUndefined();
  }
});
