// `env: { gymnasium: Humanoid-v5 }`: any environment of Python's Gymnasium, in a Python process that we start.

import { z } from 'zod';
import type { EnvironmentEntry } from '../clocked-environment.js';

export const gymnasiumKeys = z.strictObject({
  gymnasium: z.string().min(1).describe("gymnasium: an id of Python's Gymnasium, e.g. Humanoid-v5"),
  kwargs: z.record(z.string(), z.json()).optional().describe('gymnasium: keyword arguments of `gymnasium.make`'),
  import: z.string().min(1).optional().describe('gymnasium: a Python module that registers environments when imported'),
  timeoutSeconds: z
    .number()
    .positive()
    .optional()
    .describe('gymnasium: longest time for one answer before the process counts as hung; 120'),
});

export const gymnasium: EnvironmentEntry = {
  name: 'gymnasium',
  namedBy: 'gymnasium',
  summary: "An environment of Python's Gymnasium, in a process of its own.",
  schema: gymnasiumKeys,
  make: async () => {
    const { openGymnasium } = await import('./gymnasium-environment.js');
    return async (settings) => {
      const { gymnasium: id, kwargs = {}, timeoutSeconds = 120, ...rest } = gymnasiumKeys.strip().parse(settings);
      const clock = settings.maxEpisodeSteps === undefined ? {} : { maxEpisodeSteps: settings.maxEpisodeSteps };
      return openGymnasium({ id, kwargs, timeoutSeconds, ...rest, ...clock });
    };
  },
};

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
export function gymnasiumSpecOf(spec: object, maxEpisodeSteps: number | undefined): string | undefined {
  const {
    id,
    maxEpisodeSteps: _clock,
    ...settings
  } = spec as { readonly id?: string; readonly maxEpisodeSteps?: number };
  const isChanged = Object.values(settings).some((value) => value !== undefined);
  const same = Object.hasOwn(SAME, id ?? '') ? SAME[id!] : undefined;
  if (same === undefined || isChanged) return undefined;
  return JSON.stringify({
    ...{ id: same[0], entry_point: same[1], reward_threshold: null, nondeterministic: false },
    ...{ max_episode_steps: maxEpisodeSteps ?? null, order_enforce: true, disable_env_checker: false },
    ...{ kwargs: {}, additional_wrappers: [], vector_entry_point: null },
  });
}
