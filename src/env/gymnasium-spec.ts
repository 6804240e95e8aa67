// Environments of ours that behave as one of Gymnasium's: by which name, and as what, a Python program makes that one.

import type { EnvSpec } from './env-spec.js';

/** By our id: Gymnasium's id, and where its class lies. The tests of parity hold one against the other. */
const SAME: Readonly<Record<string, readonly [id: string, entryPoint: string]>> = {
  pendulum: ['Pendulum-v1', 'gymnasium.envs.classic_control.pendulum:PendulumEnv'],
  cartpole: ['CartPole-v1', 'gymnasium.envs.classic_control.cartpole:CartPoleEnv'],
  'inverted-pendulum': ['InvertedPendulum-v5', 'gymnasium.envs.mujoco.inverted_pendulum_v5:InvertedPendulumEnv'],
  'inverted-double-pendulum': [
    'InvertedDoublePendulum-v5',
    'gymnasium.envs.mujoco.inverted_double_pendulum_v5:InvertedDoublePendulumEnv',
  ],
  reacher: ['Reacher-v5', 'gymnasium.envs.mujoco.reacher_v5:ReacherEnv'],
  hopper: ['Hopper-v5', 'gymnasium.envs.mujoco.hopper_v5:HopperEnv'],
  'half-cheetah': ['HalfCheetah-v5', 'gymnasium.envs.mujoco.half_cheetah_v5:HalfCheetahEnv'],
  walker2d: ['Walker2d-v5', 'gymnasium.envs.mujoco.walker2d_v5:Walker2dEnv'],
};

/**
 * The specification that `gymnasium.envs.registration.EnvSpec.from_json` reads, of the environment of Gymnasium's that behaves as
 * this one; undefined for one that has no such twin, or whose settings differ from its defaults.
 */
export function gymnasiumSpecOf(spec: EnvSpec, maxEpisodeSteps: number | undefined): string | undefined {
  const { id, maxEpisodeSteps: _clock, ...settings } = spec as EnvSpec & { readonly maxEpisodeSteps?: number };
  const isChanged = Object.values(settings).some((value) => value !== undefined);
  const same = Object.hasOwn(SAME, id ?? '') ? SAME[id as string] : undefined;
  if (same === undefined || isChanged) return undefined;
  return JSON.stringify({
    ...{ id: same[0], entry_point: same[1], reward_threshold: null, nondeterministic: false },
    ...{ max_episode_steps: maxEpisodeSteps ?? null, order_enforce: true, disable_env_checker: false },
    ...{ kwargs: {}, additional_wrappers: [], vector_entry_point: null },
  });
}
