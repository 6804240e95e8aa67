// A point that moves: what is seen is where it is, how fast it goes has to be remembered. Its model knows both laws, and is
// right as soon as it has seen two places.

import { type Carry, type FrozenCarry, packFloats, type Rngs, unpackFloats } from '../../src/core/dynamics.js';
import { Rng } from '../../src/core/rng.js';
import { boxSpace, unboundedSpace } from '../../src/env/space-values.js';
import type { VectorDynamics } from '../../src/worldmodel/dynamics.js';

interface Motion extends Carry {
  /** [rows] */
  readonly place: Float32Array;
  readonly speed: Float32Array;
}

export class RememberingModel implements VectorDynamics<Motion> {
  readonly backend = 'remembering';
  readonly modelVersion = 'remembering 1';
  readonly context = 1;
  readonly observationSpace = unboundedSpace(1);
  readonly actionSpace = boxSpace([-1], [1]);

  /** Beyond this place an episode ends. */
  constructor(private readonly limit = Number.POSITIVE_INFINITY) {}

  begin(starts: Float32Array): Motion {
    return { rows: starts.length, place: starts.slice(), speed: new Float32Array(starts.length) };
  }

  follow({ rows, place }: Motion, _action: Float32Array, seen: Float32Array): Motion {
    return { rows, place: seen.slice(), speed: seen.map((now, r) => now - place[r]) };
  }

  async imagine({ rows, place, speed }: Motion, action: Float32Array, rngs: Rngs) {
    // One word a row, so that tests see streams that are mixed up.
    for (let r = 0; r < rows; r++) (rngs instanceof Rng ? rngs : rngs[r]).uint32();
    const faster = speed.map((before, r) => before + action[r]);
    const observation = place.map((before, r) => before + faster[r]);
    const terminated = Uint8Array.from(observation, (now) => (Math.abs(now) > this.limit ? 1 : 0));
    return { carry: { rows, place: observation, speed: faster }, observation, reward: faster, terminated };
  }

  pick({ place, speed }: Motion, rows: Uint32Array): Motion {
    const of = (values: Float32Array) => Float32Array.from(rows, (row) => values[row]);
    return { rows: rows.length, place: of(place), speed: of(speed) };
  }

  join(carries: readonly Motion[]): Motion {
    const of = (read: (carry: Motion) => Float32Array) => Float32Array.from(carries.flatMap((one) => [...read(one)]));
    const place = of((one) => one.place);
    return { rows: place.length, place, speed: of((one) => one.speed) };
  }

  freeze({ place, speed }: Motion): FrozenCarry {
    return { version: this.modelVersion, state: [packFloats(place), packFloats(speed)] };
  }

  revive({ state }: FrozenCarry): Motion {
    const [place, speed] = (state as string[]).map(unpackFloats);
    return { rows: place.length, place, speed };
  }

  async close(): Promise<void> {}
}

/** What really happens to a point under these actions: its places, one more than actions. */
export function trueCourse(place: number, speed: number, actions: ArrayLike<number>): Float32Array {
  const places = [Math.fround(place)];
  let now = Math.fround(speed);
  for (let t = 0; t < actions.length; t++) {
    now = Math.fround(now + actions[t]);
    places.push(Math.fround(places[t] + now));
  }
  return Float32Array.from(places);
}
