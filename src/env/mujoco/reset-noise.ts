// The random part of a start. Distributions are Gymnasium's; the draws come from our generator, not numpy's.

import type { Rng } from '../../core/rng.js';
import type { ResetNoise } from './body-spec.js';
import { addressesOf } from './expression.js';
import type { Simulation } from './simulation.js';

/** Applies one entry of `resetNoise` to the state. */
export function applyNoise(entry: ResetNoise, simulation: Simulation, rng: Rng): void {
  const of = entry.qpos !== undefined ? 'qpos' : 'qvel';
  const addresses = addressesOf((entry.qpos ?? entry.qvel)!, of, simulation);
  const values = simulation.arrays[of];
  if (entry.disc !== undefined) {
    const [x, y] = pointInDisc(entry.disc, rng);
    values[addresses[0]] = x;
    values[addresses[1]] = y;
    return;
  }
  for (const address of addresses) {
    if (entry.value !== undefined) values[address] = entry.value;
    else if (entry.normal !== undefined) values[address] += entry.normal * rng.normal();
    else if (entry.uniform !== undefined) values[address] += between(entry.uniform, rng);
  }
}

function between([low, high]: readonly [number, number], rng: Rng): number {
  return low + (high - low) * rng.uniform();
}

function pointInDisc(radius: number, rng: Rng): [number, number] {
  for (;;) {
    const x = between([-radius, radius], rng);
    const y = between([-radius, radius], rng);
    if (Math.hypot(x, y) < radius) return [x, y];
  }
}
