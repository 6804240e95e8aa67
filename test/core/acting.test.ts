// Policies with a memory, wherever environments are stepped: what they remember is of one episode, and of its own row.

import { describe, expect, it } from 'vitest';
import type { Carry } from '../../src/core/dynamics.js';
import { Acting, type Policy } from '../../src/core/policy.js';
import { Rng } from '../../src/core/rng.js';
import { evaluatePolicy } from '../../src/rl/evaluate.js';
import { Collector } from '../../src/training/collector.js';
import { Gridworld, gridDynamics, TabularModel } from '../controlled/gridworld.js';
import { branchedRollouts } from '../synth/fixtures.js';

interface Counts extends Carry {
  readonly steps: readonly number[];
}

/** Its action is the number of its step in the episode, modulo 4. */
function counting(version = 'counting'): Policy & { readonly acted: number[][] } {
  const acted: number[][] = [];
  const stepsOf = (carry: Carry) => (carry as Counts).steps;
  const memory = {
    begin: (rows: number): Counts => ({ rows, steps: new Array<number>(rows).fill(0) }),
    pick: (carry: Carry, rows: Uint32Array): Counts => ({
      rows: rows.length,
      steps: Array.from(rows, (row) => stepsOf(carry)[row]),
    }),
    join: (carries: readonly Carry[]): Counts => {
      const steps = carries.flatMap(stepsOf);
      return { rows: steps.length, steps };
    },
    freeze: (carry: Carry) => ({ version, state: stepsOf(carry) }),
    revive: ({ state }: { state: unknown }): Counts => ({
      rows: (state as number[]).length,
      steps: state as number[],
    }),
  };
  return {
    version,
    memory,
    acted,
    act: (_obs, rows, _rng, { carry = memory.begin(rows) } = {}) => {
      const steps = stepsOf(carry);
      acted.push([...steps]);
      const next: Counts = { rows, steps: steps.map((step) => step + 1) };
      return { action: Float32Array.from(steps, (step) => step % 4), carry: next };
    },
  };
}

const grid = { map: ['S...', '....', '...G'], slip: 0, stepReward: 0 };
const rng = Rng.fromSeed(1);

describe('a policy with a memory', () => {
  it('keeps, orders and restarts what it remembers of its rows', async () => {
    const policy = counting();
    const acting = new Acting(policy, 3);
    const act = (rows: number) => acting.act(new Float32Array(rows), rng);
    await act(3);
    acting.restart(Uint32Array.of(1));
    await act(3);
    acting.keep(Uint32Array.of(2, 1));
    await act(2);
    expect(policy.acted).toEqual([
      [0, 0, 0],
      [1, 0, 1],
      [2, 1],
    ]);
    const other = new Acting(policy, 2);
    other.revive(JSON.parse(JSON.stringify(acting.freeze())));
    expect([...(await other.act(new Float32Array(2), rng)).action]).toEqual([3, 2]);
  });

  it('begins each episode of an evaluation anew', async () => {
    const policy = counting();
    await evaluatePolicy(new Gridworld(grid, 5), policy, { episodes: 2, seed: 1 });
    expect(policy.acted.flat()).toEqual([0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
  });

  it('remembers across calls and restarts of a collector, and not what another version lived', async () => {
    const collector = () => new Collector(new Gridworld(grid, 5), 'grid', Rng.fromSeed(3), 3);
    const [whole, parts] = [counting(), counting()];
    await collector().collect(whole, 12, rng);
    const first = collector();
    await first.collect(parts, 7, rng);
    const second = collector();
    await second.restore(JSON.parse(JSON.stringify(await first.state())));
    await second.collect(parts, 5, rng);
    expect(parts.acted).toEqual(whole.acted);
    expect(whole.acted.flat()).toEqual([0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]);
    const changed = counting('changed');
    await second.collect(changed, 2, rng);
    expect(changed.acted.flat()).toEqual([0, 1]);
  });

  it('remembers its own row of a rollout, whichever others end', async () => {
    const policy = counting();
    const model = new TabularModel(gridDynamics(grid));
    const starts = Float32Array.of(0, 10, 7, 4);
    const request = { starts, startIds: [0, 1, 2, 3], horizon: 4, rng, model, policy };
    const { batch, provenance, counts } = await branchedRollouts(request);
    expect(counts.terminated).toBeGreaterThan(0);
    expect(counts.outOfHorizon).toBeGreaterThan(0);
    for (let row = 0; row < batch.rows; row++) expect(batch.action[row]).toBe(provenance.step[row] % 4);
  });
});
