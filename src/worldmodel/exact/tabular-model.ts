// A finite world whose tables are known, as a world model: the reference against which learned ones are held.

import type { Rng } from '../../core/rng.js';
import { discreteSpace, type TabularDynamics, type VectorSpace } from '../../env/index.js';
import { checkStepInput } from '../input-check.js';
import { sha256 } from '../model-folder.js';
import type { StepOptions, StoredWorldModel, VectorPrediction, WorldModelSnapshot } from '../world-model.js';
import { loadTables, saveTables, tableBytes } from './tabular-folder.js';

export interface TabularPayload {
  readonly dynamics: TabularDynamics;
}

/** Observation and action are one integer each. Takes one word of the stream a row, none when deterministic. */
export class TabularModel implements StoredWorldModel {
  readonly family = 'vector' as const;
  readonly backend = 'exact';
  readonly modelVersion: string;
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;

  /** @param dynamics such as `Gridworld.dynamics`; not copied, must not change */
  constructor(private readonly dynamics: TabularDynamics) {
    this.observationSpace = discreteSpace(dynamics.states);
    this.actionSpace = discreteSpace(dynamics.actions);
    this.modelVersion = sha256(tableBytes(dynamics)).slice(0, 32);
  }

  /** Loads a folder that `save` wrote. Throws MODEL_FOLDER_INVALID. */
  static async load(folder: string): Promise<TabularModel> {
    return new TabularModel(await loadTables(folder));
  }

  static async revive({ dynamics }: TabularPayload): Promise<TabularModel> {
    return new TabularModel(dynamics);
  }

  /** Deterministic means the most probable state, the first among equals. Nothing is in doubt: disagreement is 0. */
  async step(
    obs: Float32Array,
    action: Float32Array,
    rows: number,
    rng: Rng,
    options: StepOptions = {},
  ): Promise<VectorPrediction> {
    checkStepInput(this.backend, this, obs, action, rows);
    return this.answer(obs, action, options, (chances) => rng.fillUniform(chances));
  }

  async stepRows(
    obs: Float32Array,
    action: Float32Array,
    rngs: readonly Rng[],
    options: StepOptions = {},
  ): Promise<VectorPrediction> {
    checkStepInput(this.backend, this, obs, action, rngs.length);
    return this.answer(obs, action, options, (chances) => {
      rngs.forEach((rng, r) => {
        rng.fillUniform(chances.subarray(r, r + 1));
      });
    });
  }

  snapshot(): WorldModelSnapshot {
    const payload: TabularPayload = { dynamics: this.dynamics };
    return { backend: this.backend, modelVersion: this.modelVersion, payload };
  }

  save(folder: string): Promise<void> {
    return saveTables(folder, this.dynamics, this.modelVersion);
  }

  async close(): Promise<void> {}

  private answer(
    obs: Float32Array,
    action: Float32Array,
    options: StepOptions,
    draw: (chances: Float64Array) => void,
  ): VectorPrediction {
    const { states, actions, transition, reward, terminal } = this.dynamics;
    const rows = obs.length;
    const chances = options.deterministic ? undefined : new Float64Array(rows);
    if (chances) draw(chances);
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
    return {
      nextObs,
      reward: rewards,
      terminated,
      disagreement: options.disagreement ? new Float32Array(rows) : undefined,
    };
  }
}

function mostProbable(probabilities: Float64Array): number {
  return probabilities.indexOf(Math.max(...probabilities));
}

/** The state in whose share of [0, 1) `chance` falls. */
function stateAt(probabilities: Float64Array, chance: number): number {
  let rest = chance;
  let last = 0;
  for (let i = 0; i < probabilities.length; i++) {
    if (probabilities[i] === 0) continue;
    last = i;
    rest -= probabilities[i];
    if (rest < 0) break;
  }
  return last;
}
