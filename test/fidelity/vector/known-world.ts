// A linear world with noise of known size, and models of it whose every fault is put in by hand.

import { Rng } from '../../../src/core/rng.js';
import { boxSpace, unboundedSpace } from '../../../src/env/space-values.js';
import type { Metric, SectionId } from '../../../src/fidelity/report.js';
import { type Finding, type Instrument, instrumentsOf } from '../../../src/fidelity/section.js';
import { groundOf, type Judged, type VectorPlan, type VectorTruth } from '../../../src/fidelity/vector/ground.js';
import { VECTOR_QUESTIONS } from '../../../src/fidelity/vector/opening.js';
import type { Forecast } from '../../../src/worldmodel/dynamics.js';
import {
  MemorylessDynamics,
  type ObservationCarry,
  type StepQuestion,
  type VectorPrediction,
} from '../../../src/worldmodel/memoryless.js';

export const DIM = 3;
const SPACES = { observationSpace: unboundedSpace(DIM), actionSpace: boxSpace([-1], [1]) };

export interface World {
  /** x' = keep · x + push · action + noise · normal, element by element. */
  readonly keep: number;
  readonly push: readonly number[];
  readonly noise: number;
  /** Ends where the first element is beyond. */
  readonly limit: number;
}

export const WORLD: World = { keep: 0.95, push: [0.5, 0.2, 1], noise: 0, limit: 1.4 };

export function meanNext({ keep, push }: World, obs: ArrayLike<number>, at: number, action: number): number[] {
  return push.map((gain, j) => keep * obs[at + j] + gain * action);
}

function rewardOf(next: ArrayLike<number>): number {
  return -0.1 * Math.abs(next[0]);
}

/** Episodes under random actions. */
export function truthOf(world: World): VectorTruth {
  const rng = Rng.fromSeed(1).split('truth');
  const [obs, action, nextObs, reward, terminated]: number[][] = [[], [], [], [], []];
  const episodes: { first: number; rows: number; seed: number }[] = [];
  for (let e = 0; e < 50; e++) {
    let x = startOf(e);
    const first = reward.length;
    for (let t = 0; t < 30; t++) {
      const u = Math.fround(2 * rng.uniform() - 1);
      const next = meanNext(world, x, 0, u).map((mean) => Math.fround(mean + world.noise * rng.normal()));
      obs.push(...x);
      action.push(u);
      nextObs.push(...next);
      reward.push(rewardOf(next));
      terminated.push(Number(Math.abs(next[0]) > world.limit));
      x = next;
      if (terminated.at(-1) === 1) break;
    }
    episodes.push({ first, rows: reward.length - first, seed: e });
  }
  const rows = reward.length;
  const drawn = Array.from(rng.permutation(rows).subarray(0, 128)).sort((a, b) => a - b);
  return {
    version: 'known',
    ...SPACES,
    elements: ['a', 'b', 'c'],
    rows: {
      rows,
      obs: Float32Array.from(obs),
      action: Float32Array.from(action),
      nextObs: Float32Array.from(nextObs),
      reward: Float32Array.from(reward),
      terminated: Uint8Array.from(terminated),
      truncated: new Uint8Array(rows),
    },
    episodes,
    starts: drawn,
  };
}

function startOf(seed: number): number[] {
  const rng = Rng.fromSeed(seed).split('start');
  return Array.from({ length: DIM }, () => Math.fround(0.5 * rng.normal()));
}

/** What is wrong with a model. All that is left out is right. */
export interface Faults {
  /** Normal error of each element, in its own units; also where no noise is asked for. */
  readonly error?: number;
  /** Added to every element in every step. */
  readonly bias?: number;
  readonly rewardBias?: (obs: Float32Array, at: number, action: number) => number;
  /** Chance that an end is said wrongly. */
  readonly flip?: number;
  /** The stated standard deviation is that of the world times this, by row. */
  readonly stated?: (obs: Float32Array, at: number) => number;
  /** How far two elites stand apart, beside the stated deviation, by row. */
  readonly apart?: (obs: Float32Array, at: number) => number;
  /** Replaces the mean. */
  readonly next?: (obs: Float32Array, at: number, action: number) => number[];
}

export class FaultyModel extends MemorylessDynamics {
  readonly opinions = 2;

  constructor(
    private readonly world: World,
    private readonly faults: Faults = {},
  ) {
    super('ensemble', 'faulty', SPACES);
  }

  protected async haveExactRows(): Promise<boolean> {
    return false;
  }

  protected async predict({ obs, action, rows, rngs, options }: StepQuestion): Promise<VectorPrediction> {
    const { world } = this;
    const rng = rngs as Rng;
    const { error = 0, bias = 0, rewardBias, flip = 0, next } = this.faults;
    const noise = options.deterministic ? 0 : world.noise;
    const said = {
      nextObs: new Float32Array(rows * DIM),
      reward: new Float32Array(rows),
      terminated: new Uint8Array(rows),
    };
    for (let r = 0; r < rows; r++) {
      const at = r * DIM;
      const means = next?.(obs, at, action[r]) ?? meanNext(world, obs, at, action[r]);
      means.forEach((mean, j) => {
        said.nextObs[at + j] =
          mean + bias + (error === 0 ? 0 : error * rng.normal()) + (noise === 0 ? 0 : noise * rng.normal());
      });
      // Reward and end are those of the true next state: each fault stays by itself.
      const truly =
        next || error || bias
          ? meanNext(world, obs, at, action[r]).map(Math.fround)
          : Array.from(said.nextObs.subarray(at, at + DIM));
      said.reward[r] = rewardOf(truly) + (rewardBias?.(obs, at, action[r]) ?? 0);
      const ends = Math.abs(truly[0]) > world.limit;
      said.terminated[r] = Number(flip > 0 && rng.uniform() < flip ? !ends : ends);
    }
    return said;
  }

  /** Two Gaussians an element. */
  async forecast({ obs, rows }: ObservationCarry, action: Float32Array): Promise<Forecast> {
    const { stated = () => 1, apart = () => 0 } = this.faults;
    const mean = new Float32Array(2 * rows * DIM);
    const std = new Float32Array(2 * rows * DIM);
    for (let r = 0; r < rows; r++) {
      const means = this.faults.next?.(obs, r * DIM, action[r]) ?? meanNext(this.world, obs, r * DIM, action[r]);
      for (const [c, side] of [-1, 1].entries()) {
        const to = (c * rows + r) * DIM;
        means.forEach((value, j) => {
          mean[to + j] = value + side * apart(obs, r * DIM);
          std[to + j] = this.world.noise * stated(obs, r * DIM);
        });
      }
    }
    return { components: 2, mean, std };
  }

  snapshot() {
    return { backend: 'ensemble', modelVersion: 'faulty', payload: null };
  }

  async save(): Promise<void> {}

  async close(): Promise<void> {}
}

const PLAN: VectorPlan = { seed: 7, horizon: 12, tolerance: 0.5, propagation: 'ts1' };

export function judgedBy(world: World, truth: VectorTruth, faults: Faults = {}): Judged {
  const model = new FaultyModel(world, faults);
  const forecast: Judged['subject']['forecast'] =
    world.noise > 0 || faults.apart ? (carry, action) => model.forecast(carry as ObservationCarry, action) : undefined;
  const subject = { name: 'faulty', kind: 'ensemble', version: 'faulty', notes: [], model, forecast };
  return { ground: groundOf(truth, PLAN), subject };
}

/** A section, measured chunk by chunk. */
export async function measured(judged: Judged, id: SectionId): Promise<Finding> {
  const instrument = instrumentsOf(VECTOR_QUESTIONS, judged, [id])[0];
  return instrument.conclude(await allRows(instrument));
}

export async function allRows(instrument: Instrument) {
  const chunks = Array.from({ length: instrument.chunks }, (_, chunk) => instrument.measure(chunk));
  return (await Promise.all(chunks)).flat();
}

export function metricOf({ section }: Finding, key: string): Metric['estimate'] {
  const found = section.metrics.find((metric) => metric.key === key);
  if (found === undefined) throw new Error(`No metric ${key} in ${section.id}.`);
  return found.estimate;
}
