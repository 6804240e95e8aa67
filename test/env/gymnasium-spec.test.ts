// What a dataset says of the environment it is of, for Python to make it.

import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { environmentIds } from '../../src/env/environments.js';
import { gymnasiumSpecOf } from '../../src/env/gymnasium/entry.js';
import { makeEnvironment } from '../../src/env/make-environment.js';

const python = process.env.REVERIE_PYTHON;

async function specOf(id: string): Promise<string | undefined> {
  const env = await makeEnvironment({ id });
  const spec = gymnasiumSpecOf({ id }, env.maxEpisodeSteps);
  await env.close();
  return spec;
}

describe('a specification for Gymnasium', () => {
  it('is that of the environment that ours behaves as, with its clock', async () => {
    expect(JSON.parse((await specOf('hopper'))!)).toMatchObject({
      id: 'Hopper-v5',
      entry_point: 'gymnasium.envs.mujoco.hopper_v5:HopperEnv',
      max_episode_steps: 1000,
    });
    expect(JSON.parse(gymnasiumSpecOf({ id: 'pendulum', maxEpisodeSteps: 50 }, 50)!).max_episode_steps).toBe(50);
  });

  it('is none of an environment that has no twin, or has other settings', async () => {
    expect(await specOf('cartpole-swingup')).toBeUndefined();
    expect(gymnasiumSpecOf({ id: 'hopper', mjcf: 'own.xml' } as never, 1000)).toBeUndefined();
    expect(gymnasiumSpecOf({ id: 'constructor' }, 1)).toBeUndefined();
  });

  it.skipIf(python === undefined)('is what Gymnasium itself has under that name', async () => {
    const specs = (await Promise.all(environmentIds.map(specOf))).filter((spec) => spec !== undefined);
    expect(specs).toHaveLength(8);
    const script = `
import json, sys, gymnasium
for text in json.load(sys.stdin):
    ours = gymnasium.envs.registration.EnvSpec.from_json(text)
    theirs = gymnasium.spec(ours.id)
    assert (ours.entry_point, ours.max_episode_steps) == (theirs.entry_point, theirs.max_episode_steps), ours
    if "classic_control" in ours.entry_point:
        gymnasium.make(ours).reset(seed=0)
print("same")`;
    const said = execFileSync(python!, ['-c', script], { input: JSON.stringify(specs), cwd: tmpdir() });
    expect(said.toString().trim()).toBe('same');
  });
});
