// What is drawn of a body: its parts, where they are, and where an observation alone would have them.

import { afterAll, describe, expect, it } from 'vitest';
import { makeEnvironment } from '../../src/env/make-environment.js';
import type { MujocoEnvironment } from '../../src/env/mujoco/mujoco-environment.js';
import { rowSize } from '../../src/env/space-values.js';

const made: MujocoEnvironment[] = [];
afterAll(() => {
  for (const env of made) env.close();
});

async function body(id: string): Promise<MujocoEnvironment> {
  const env = (await makeEnvironment({ id })) as MujocoEnvironment;
  made.push(env);
  return env;
}

const row = (env: MujocoEnvironment, value: number) => new Float32Array(rowSize(env.actionSpace)).fill(value);

describe('the parts of a body', () => {
  it('stand where the model puts them', async () => {
    const hopper = await body('hopper');
    hopper.reset({ seed: 1 });
    expect(hopper.geoms.map(({ shape }) => shape)).toEqual(['plane', 'capsule', 'capsule', 'capsule', 'capsule']);
    expect(hopper.geoms[1].size.slice(0, 2)).toEqual([0.05, expect.closeTo(0.2)]);
    const poses = hopper.geomPoses();
    expect(poses).toHaveLength(7 * 5);
    expect(Array.from(poses.slice(0, 7))).toEqual([0, 0, 0, 1, 0, 0, 0]);
    for (let part = 0; part < 5; part++) {
      expect(Math.hypot(...poses.slice(7 * part + 3, 7 * part + 7))).toBeCloseTo(1, 9);
    }
  });

  it('can be looked at without changing what follows', async () => {
    const [watched, alone] = [await body('hopper'), await body('hopper')];
    for (const env of [watched, alone]) env.reset({ seed: 5 });
    for (let i = 0; i < 12; i++) {
      watched.geomPoses();
      const [seen, unseen] = [watched, alone].map((env) => env.step(row(env, 0.3)).observation);
      expect(seen).toEqual(unseen);
    }
  });
});

describe('a body put where its observations say it is', () => {
  it.each(['cartpole-swingup', 'reacher', 'inverted-double-pendulum'])('stands as the real one: %s', async (id) => {
    const [real, drawn] = [await body(id), await body(id)];
    let { observation } = real.reset({ seed: 2 });
    drawn.reset({ seed: 9 });
    for (let i = 0; i < 5; i++) {
      expect(drawn.placeAsSeen(observation, i === 0 ? 0 : real.stepSeconds)).toBe(true);
      const [here, there] = [real.geomPoses(), drawn.geomPoses()];
      // A quaternion and its negative turn alike.
      here.forEach((value, k) => {
        expect(Math.abs(there[k]), `${id} ${k}`).toBeCloseTo(Math.abs(value), 4);
      });
      observation = real.step(row(real, 0.2)).observation;
    }
  });

  it('goes forward by the velocity it shows where it hides its place', async () => {
    const cheetah = await body('half-cheetah');
    cheetah.reset({ seed: 1 });
    const observation = new Float32Array(17);
    expect(cheetah.placeAsSeen(observation, 0)).toBe(true);
    const start = cheetah.geomPoses()[7];
    observation[8] = 2;
    expect(cheetah.placeAsSeen(observation, 0.5)).toBe(true);
    expect(cheetah.geomPoses()[7] - start).toBeCloseTo(1, 5);
  });
});
