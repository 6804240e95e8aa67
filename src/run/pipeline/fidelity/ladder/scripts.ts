// Controllers written by hand for environments whose physics is well known: a rung near the top that needs no training.

import type { Actor } from './recipes.js';

/**
 * Swings up by pumping energy, then holds upright by proportional-derivative control (Åström & Furuta 2000, Automatica 36).
 * Gymnasium's pendulum: mass and length 1, gravity 10, torque within 2, and as a rod a third of the inertia of a point.
 */
const pendulum: Actor = (obs) => {
  const [cos, sin, speed] = obs;
  const angle = Math.atan2(sin, cos);
  const energy = speed ** 2 / 6 + 5 * (cos - 1);
  const isNear = cos > 0.9 && Math.abs(speed) < 2.5;
  const torque = isNear ? -10 * angle - 2 * speed : -2 * energy * Math.sign(speed || 1);
  return Float32Array.of(Math.min(Math.max(torque, -2), 2));
};

/** Pushes to where the pole is falling, with a slight pull back to the middle. */
const cartpole: Actor = (obs) => {
  const [x, xDot, angle, angleDot] = obs;
  return Float32Array.of(angle + 0.5 * angleDot + 0.05 * x + 0.1 * xDot > 0 ? 1 : 0);
};

const SCRIPTS: Readonly<Record<string, Actor>> = { pendulum, cartpole };

/** The controller for an environment; undefined where none is known. */
export function scriptFor(environment: string): Actor | undefined {
  return Object.hasOwn(SCRIPTS, environment) ? SCRIPTS[environment] : undefined;
}
