// Planning by cross-entropy over any dynamics: here a point on a line that is to stand at a target.

import { describe, expect, it } from 'vitest';
import type { Carry, Dynamics, NumberRows } from '../../src/core/dynamics.js';
import { Rng } from '../../src/core/rng.js';
import { boxSpace, discreteSpace } from '../../src/env/index.js';
import { CemPlanner } from '../../src/rl/index.js';

interface Point extends Carry {
  readonly x: Float32Array;
}

const TARGET = 3;

/** x' = x + action; reward −|x' − target|. */
const line: Dynamics<Point, NumberRows> = {
  ...{ backend: 'line', modelVersion: '1', context: 0 },
  ...{ observationSpace: boxSpace([-10], [10]), actionSpace: boxSpace([-1], [1]) },
  begin: (x) => ({ rows: x.length, x }),
  follow: (_, __, x) => ({ rows: x.length, x }),
  imagine: ({ x }, action) => {
    const next = x.map((value, row) => value + action[row]);
    const reward = next.map((value) => -Math.abs(value - TARGET));
    const terminated = new Uint8Array(x.length);
    return { carry: { rows: x.length, x: next }, observation: next, reward, terminated };
  },
  pick: ({ x }, rows) => ({ rows: rows.length, x: Float32Array.from(rows, (row) => x[row]) }),
  join: (carries) => {
    const x = Float32Array.from(carries.flatMap((carry) => [...carry.x]));
    return { rows: x.length, x };
  },
  freeze: ({ x }) => ({ version: '1', state: [...x] }),
  revive: ({ state }) => line.begin(Float32Array.from(state as number[]), []) as Point,
  close: async () => {},
};

async function drive(seed: number, steps: number): Promise<number[]> {
  const planner = new CemPlanner(line, { horizon: 6, candidates: 64, elites: 8, rounds: 4 });
  const seen = [0];
  for (let t = 0; t < steps; t++) {
    const carry = line.begin(Float32Array.of(seen[t]), []) as Point;
    const action = await planner.plan(carry, Rng.fromSeed(seed).split('step', t));
    seen.push(seen[t] + action[0]);
  }
  return seen;
}

describe('a plan', () => {
  it('goes to the target as fast as it may, and stays', async () => {
    const seen = await drive(1, 8);
    expect(seen[3]).toBeGreaterThan(2.7);
    expect(Math.abs(seen[8] - TARGET)).toBeLessThan(0.15);
  });

  it('is the same for the same seed', async () => {
    expect(await drive(2, 3)).toEqual(await drive(2, 3));
  });

  it('needs a box of actions with bounds', () => {
    const model = { ...line, actionSpace: discreteSpace(3) };
    expect(() => new CemPlanner(model)).toThrow(expect.objectContaining({ code: 'SPACE_UNSUPPORTED' }));
  });
});
