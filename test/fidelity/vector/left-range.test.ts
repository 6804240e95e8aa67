import { describe, expect, it } from 'vitest';
import type { Rng } from '../../../src/core/rng.js';
import { boxSpace, unboundedSpace } from '../../../src/env/space-values.js';
import { simulatedReturns } from '../../../src/fidelity/vector/ladder.js';
import type { WorldModelSnapshot } from '../../../src/worldmodel/dynamics.js';
import { MemorylessDynamics, type StepQuestion } from '../../../src/worldmodel/memoryless.js';
import type { SeenRange } from '../../../src/worldmodel/seen-range.js';

/** What is pushed moves on by the push; a step pays 2, or by chance from 0 to 4. */
class Slope extends MemorylessDynamics {
  constructor(
    readonly seen: SeenRange | undefined,
    private readonly isNoisy = false,
  ) {
    super('slope', '1', { observationSpace: unboundedSpace(1), actionSpace: boxSpace([-1], [1]) });
  }
  protected async haveExactRows(): Promise<boolean> {
    return true;
  }
  protected async predict({ obs, action, rows, rngs }: StepQuestion) {
    const nextObs = obs.map((value, row) => value + action[row]);
    const reward = Float32Array.from({ length: rows }, (_, row) =>
      this.isNoisy ? 4 * (rngs as Rng[])[row].uniform() : 2,
    );
    return { nextObs, reward, terminated: new Uint8Array(rows) };
  }
  snapshot(): WorldModelSnapshot {
    throw new Error('not asked for');
  }
  async save(): Promise<void> {}
  async close(): Promise<void> {}
}

const seen: SeenRange = { low: [-2], high: [2], lowReward: -3, highReward: 2, ends: false };
const rules = { seed: 1, maxSteps: 10 };

async function returnOf(range: SeenRange | undefined, push: number) {
  const actor = () => async () => Float32Array.of(push);
  const model = { model: new Slope(range), propagation: 'ts1' as const, simulations: 3 };
  const [found] = await simulatedReturns(model, actor, [Float32Array.of(0)], [0], rules);
  return found;
}

/** Of episodes numbered so, each simulated so often in a model that draws. */
async function noisyReturns(numbers: readonly number[], simulations: number) {
  const model = { model: new Slope(undefined, true), propagation: 'ts1' as const, simulations };
  const starts = numbers.map(() => Float32Array.of(0));
  return (await simulatedReturns(model, () => async () => Float32Array.of(0), starts, numbers, rules)) as number[];
}

describe('a simulated episode of a ladder', () => {
  it('lasts while it is where its model was shown something', async () => {
    expect(await returnOf(seen, 0.1)).toBe(20);
  });

  it('ends half a width beyond, and each step that was left counts as a low reward', async () => {
    // Steps end at 1, 2, 3, 4 and 5; 4 still lies within.
    expect(await returnOf(seen, 1)).toBe(5 * 2 - 5 * 3);
  });

  it('gains nothing by leaving where rewards are never negative', async () => {
    expect(await returnOf({ ...seen, lowReward: 1 }, 1)).toBe(10);
  });

  it('earns nothing more where episodes end and steps may pay, and is charged where every step costs', async () => {
    expect(await returnOf({ ...seen, ends: true }, 1)).toBe(10);
    expect(await returnOf({ ...seen, ends: true, highReward: -1 }, 1)).toBe(-5);
  });

  it('comes to the mean of its simulations, which differ where the model draws, whatever runs beside them', async () => {
    const [once] = await noisyReturns([7], 1);
    const [often] = await noisyReturns([7], 400);
    expect(Math.abs(often - 20)).toBeLessThan(0.75);
    expect(once).not.toBe((await noisyReturns([7], 2))[0]);
    expect(await noisyReturns([6, 7, 8], 2)).toEqual(
      (await Promise.all([6, 7, 8].map((one) => noisyReturns([one], 2)))).flat(),
    );
  });

  it('goes on where the model does not say what it was shown', async () => {
    expect(await returnOf(undefined, 1)).toBe(20);
  });
});
