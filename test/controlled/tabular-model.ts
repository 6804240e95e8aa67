// A finite world whose tables are known, as a world model: the reference against which learned ones are held.

import { createHash } from 'node:crypto';
import { Rng } from '../../src/core/rng.js';
import { discreteSpace } from '../../src/env/space-values.js';
import type { WorldModelSnapshot } from '../../src/worldmodel/dynamics.js';
import { MemorylessDynamics, type StepQuestion, type VectorPrediction } from '../../src/worldmodel/memoryless.js';
import { stateAt, type TabularDynamics } from './gridworld.js';

/** Observation and action are one integer each. Takes one word of the stream a row, none when deterministic. */
export class TabularModel extends MemorylessDynamics {
  /** @param dynamics such as `Gridworld.dynamics`; not copied, must not change */
  constructor(private readonly dynamics: TabularDynamics) {
    super('exact', hashOf(dynamics), {
      observationSpace: discreteSpace(dynamics.states),
      actionSpace: discreteSpace(dynamics.actions),
    });
  }

  snapshot(): WorldModelSnapshot {
    throw new Error('not stored');
  }

  async save(): Promise<void> {}

  async close(): Promise<void> {}

  /** Deterministic means the most probable state, the first among equals. Nothing is in doubt: disagreement is 0. */
  protected async predict({ obs, action, rows, rngs, options }: StepQuestion): Promise<VectorPrediction> {
    const { states, actions, transition, reward, terminal } = this.dynamics;
    const chances = options.deterministic ? undefined : new Float64Array(rows);
    if (chances && rngs instanceof Rng) rngs.fillUniform(chances);
    else if (chances)
      for (const [r, rng] of (rngs as readonly Rng[]).entries()) rng.fillUniform(chances.subarray(r, r + 1));
    const nextObs = new Float32Array(rows);
    const rewards = new Float32Array(rows);
    const terminated = new Uint8Array(rows);
    for (let r = 0; r < rows; r++) {
      const at = (obs[r] * actions + action[r]) * states;
      const row = transition.subarray(at, at + states);
      const next = chances === undefined ? mostProbable(row) : stateAt(row, chances[r]);
      nextObs[r] = next;
      rewards[r] = reward[at + next];
      terminated[r] = terminal[next];
    }
    const disagreement = options.disagreement ? new Float32Array(rows) : undefined;
    return { nextObs, reward: rewards, terminated, disagreement };
  }

  protected async haveExactRows(): Promise<boolean> {
    return true;
  }
}

function hashOf({ transition, reward }: TabularDynamics): string {
  return createHash('sha256').update(transition).update(reward).digest('hex').slice(0, 32);
}

function mostProbable(probabilities: Float64Array): number {
  return probabilities.indexOf(Math.max(...probabilities));
}
