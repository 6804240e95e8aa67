// Planning over any dynamics: here a point on a line that is to stand at a target, by sequences of actions.

import { describe, expect, it } from 'vitest';
import type { Carry, Dynamics, NumberRows } from '../../src/core/dynamics.js';
import { Rng } from '../../src/core/rng.js';
import { boxSpace } from '../../src/env/space-values.js';
import { ColouredNoise, IcemPlanner, PlannerPolicy } from '../../src/rl/icem.js';

interface Point extends Carry {
  readonly x: Float32Array;
}

const TARGET = 3;

/** x' = x + action; reward −|x' − target|. */
const line: Dynamics<Point, NumberRows> = {
  ...{ backend: 'line', modelVersion: '1' },
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

const SMALL = { horizon: 6, candidates: 64, elites: 8, rounds: 4, gamma: 0.99 };

async function drive(seed: number, steps: number): Promise<number[]> {
  const planner = new IcemPlanner(line, SMALL);
  const seen = [0];
  let plan: Awaited<ReturnType<typeof planner.decide>> | undefined;
  for (let t = 0; t < steps; t++) {
    const carry = line.begin(Float32Array.of(seen[t]), []) as Point;
    plan = await planner.decide(carry, plan?.next, Rng.fromSeed(seed).split('step', t));
    seen.push(seen[t] + plan.action[0]);
  }
  return seen;
}

describe('a plan', () => {
  it('goes to the target as fast as it may, and stays', async () => {
    const seen = await drive(1, 8);
    expect(seen[3]).toBeGreaterThan(2.6);
    expect(Math.abs(seen[8] - TARGET)).toBeLessThan(0.2);
  });

  it('is the same for the same seed, and warm: the plan before is where the next begins', async () => {
    expect(await drive(2, 3)).toEqual(await drive(2, 3));
    const planner = new IcemPlanner(line, { ...SMALL, rounds: 1, candidates: 16 });
    const carry = line.begin(Float32Array.of(0), []) as Point;
    const cold = await planner.decide(carry, undefined, Rng.fromSeed(1));
    const warm = await planner.decide(carry, cold.next, Rng.fromSeed(1));
    expect(await planner.decide(carry, undefined, Rng.fromSeed(1))).toEqual(cold);
    expect(warm.action).not.toEqual(cold.action);
  });
});

describe('a planner as a policy', () => {
  const policy = new PlannerPolicy(line, SMALL);

  it('goes on with what it remembers, kept as JSON, to the same bytes', async () => {
    const first = await policy.act(Float32Array.of(0, 5), 2, Rng.fromSeed(1));
    const frozen = JSON.parse(JSON.stringify(policy.memory.freeze(first.carry!)));
    const obs = Float32Array.of(0.9, 4.1);
    const next = await policy.act(obs, 2, Rng.fromSeed(2), { carry: first.carry });
    const again = await policy.act(obs, 2, Rng.fromSeed(2), { carry: policy.memory.revive(frozen) });
    expect(again.action).toEqual(next.action);
    expect(next.action[0]).toBeGreaterThan(0.5);
    expect(next.action[1]).toBeLessThan(-0.5);
    expect(() => policy.memory.revive({ ...frozen, version: 'other' })).toThrow(
      expect.objectContaining({ code: 'SNAPSHOT_MISMATCH' }),
    );
  });
});

describe('coloured noise', () => {
  it('has variance 1 at every step, and neighbours the more alike the slower it is', () => {
    const likeness = [0, 1, 3].map((colour) => {
      const noise = new ColouredNoise(12, colour);
      const rng = Rng.fromSeed(1);
      let square = 0;
      let product = 0;
      for (let i = 0; i < 4000; i++) {
        const drawn = noise.draw(2, rng);
        square += drawn[4] ** 2;
        product += drawn[4] * drawn[6];
      }
      expect(square / 4000).toBeCloseTo(1, 0.9);
      return product / square;
    });
    expect(Math.abs(likeness[0])).toBeLessThan(0.1);
    expect(likeness[1]).toBeGreaterThan(0.3);
    expect(likeness[2]).toBeGreaterThan(likeness[1]);
  });
});
