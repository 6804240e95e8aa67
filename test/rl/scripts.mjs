// Hand-written controllers, in a module that a worker can import.

/** Torque towards upright for Pendulum's observation [cos, sin, speed]; bounded by +-2. */
export function pendulumController({ gain }) {
  return (obs, at) => [Math.max(-2, Math.min(2, -gain * obs[at + 1] - 0.5 * obs[at + 2]))];
}

/** Push to the side a CartPole's pole falls to. */
export function cartpoleController() {
  return (obs, at) => [obs[at + 2] + 0.5 * obs[at + 3] > 0 ? 1 : 0];
}
