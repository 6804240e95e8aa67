// Controllers written by hand, as policies: experts to clone, and to evaluate.

import type { Policy } from '../../src/core/policy.js';

type Script = (obs: Float32Array, at: number) => number;

function scripted(version: string, obsDim: number, script: Script) {
  const act = (obs: Float32Array, rows: number) => ({
    action: Float32Array.from({ length: rows }, (_, row) => script(obs, row * obsDim)),
  });
  return { version, act } satisfies Policy;
}

/** Torque towards upright for Pendulum's observation [cos, sin, speed]; bounded by +-2. */
export const pendulumController = scripted('pendulum', 3, (obs, at) =>
  Math.max(-2, Math.min(2, -1.5 * obs[at + 1] - 0.5 * obs[at + 2])),
);

/** Push to the side a CartPole's pole falls to. */
export const cartpoleController = scripted('cartpole', 4, (obs, at) => (obs[at + 2] + 0.5 * obs[at + 3] > 0 ? 1 : 0));
