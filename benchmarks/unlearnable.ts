// Worlds made to be unlearnable: what comes next cannot be told from what is seen and done, though what to do can be learnt.

import type { Rng } from '../src/core/rng.js';
import { type Advance, ClockedEnvironment, type EnvironmentEntry } from '../src/env/clocked-environment.js';
import { boxSpace, unboundedSpace } from '../src/env/space-values.js';

const SIZE = 4;
const EPISODE = 100;

/** Reward 1 for the action that the first element asks for, less the farther off. */
abstract class Unlearnable extends ClockedEnvironment {
  protected state = new Float64Array(SIZE);

  constructor(id: string) {
    super({
      id,
      observationSpace: unboundedSpace(SIZE),
      actionSpace: boxSpace([-1], [1]),
      maxEpisodeSteps: EPISODE,
      configuration: id,
    });
  }

  protected start(rng: Rng): void {
    this.state = Float64Array.from({ length: SIZE }, () => rng.uniform());
  }

  protected advance(action: Float32Array): Advance {
    const reward = 1 - Math.abs(action[0] - (2 * this.state[0] - 1));
    this.state = this.state.map((value, i) => this.next(value, i));
    return { reward, terminated: false, info: {} };
  }

  protected abstract next(value: number, element: number): number;

  protected observe(into: Float32Array): void {
    into.set(this.state);
  }

  protected saveWorld(): unknown {
    return [...this.state];
  }

  protected loadWorld(world: unknown): void {
    this.state = Float64Array.from(world as number[]);
  }
}

/** The logistic map, so many times a step that what float32 shows of it says nothing of the next. */
class Chaos extends Unlearnable {
  protected next(value: number): number {
    let x = value;
    for (let i = 0; i < 40; i++) x = 3.99 * x * (1 - x);
    return x;
  }
}

/** A hash of what it was: noise to anybody who does not know the hash. */
class Shuffled extends Unlearnable {
  protected next(value: number, element: number): number {
    const mixed = Math.sin(value * 12_989.8 + element * 78.233) * 43_758.5453;
    return mixed - Math.floor(mixed);
  }
}

export const UNLEARNABLE: readonly EnvironmentEntry[] = [
  { name: 'chaos', summary: 'The logistic map.', make: async () => async () => new Chaos('chaos') },
  { name: 'shuffled', summary: 'A hash of what it was.', make: async () => async () => new Shuffled('shuffled') },
];
