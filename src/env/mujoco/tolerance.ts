// A smooth bonus for being within bounds, as in dm_control (dm_control/utils/rewards.py, `tolerance`).

import type { Sigmoid } from './expression-schema.js';

export interface ToleranceShape {
  readonly bounds: readonly [number, number];
  readonly margin: number;
  readonly sigmoid: Sigmoid;
  readonly valueAtMargin: number;
}

/** 1 for values within bounds; outside it falls with the distance, to `valueAtMargin` at distance `margin`. */
export function toleranceOf(shape: ToleranceShape): (value: number) => number {
  const [low, high] = shape.bounds;
  const { margin } = shape;
  const fall = sigmoidOf(shape.sigmoid, shape.valueAtMargin);
  return (value) => {
    if (Number.isNaN(value)) return value;
    const distance = Math.max(low - value, value - high);
    if (distance <= 0) return 1;
    return margin === 0 ? 0 : fall(distance / margin);
  };
}

function sigmoidOf(sigmoid: Sigmoid, atOne: number): (x: number) => number {
  switch (sigmoid) {
    case 'gaussian': {
      const scale = -Math.log(atOne);
      return (x) => Math.exp(-scale * x * x);
    }
    case 'linear':
      return (x) => Math.max(0, 1 - x * (1 - atOne));
    case 'quadratic':
      return (x) => Math.max(0, 1 - x * x * (1 - atOne));
    case 'cosine': {
      const scale = Math.acos(2 * atOne - 1) / Math.PI;
      return (x) => (x * scale < 1 ? (1 + Math.cos(Math.PI * x * scale)) / 2 : 0);
    }
    case 'tanhSquared': {
      const scale = Math.atanh(Math.sqrt(1 - atOne));
      return (x) => 1 - Math.tanh(x * scale) ** 2;
    }
  }
}
