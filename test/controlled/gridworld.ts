// Finite worlds whose dynamics are known exactly, as tables, and one drawn as a grid: what algorithms are checked against.

import { createHash } from 'node:crypto';
import { Rng } from '../../src/core/rng.js';
import { type Advance, ClockedEnvironment } from '../../src/env/clocked-environment.js';
import { discreteSpace } from '../../src/env/space-values.js';
import type { WorldModelSnapshot } from '../../src/worldmodel/dynamics.js';
import { MemorylessDynamics, type StepQuestion, type VectorPrediction } from '../../src/worldmodel/memoryless.js';

/** Tables of a finite Markov decision process, row-major. */
export interface TabularDynamics {
  readonly states: number;
  readonly actions: number;
  /** P[s, a, s'], [states, actions, states]; terminal states stay where they are. */
  readonly transition: Float64Array;
  /** Reward of entering s' from s by a, [states, actions, states]. */
  readonly reward: Float64Array;
  /** 1 where the episode has ended, [states]. */
  readonly terminal: Uint8Array;
  /** Probability of starting in each state, [states]. */
  readonly start: Float64Array;
}

/** The state in whose share of [0, 1) `chance` falls. */
export function stateAt(probabilities: Float64Array, chance: number): number {
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

export interface GridOptions {
  /** Rows of equal length: S start, . free, # wall, G goal (+1, ends), H hole (−1, ends). */
  readonly map: readonly string[];
  /** Probability that a move goes to one of the two sides instead, half each. */
  readonly slip: number;
  /** Earned by every step, besides goal and hole. */
  readonly stepReward: number;
}

export const DEFAULT_GRID: GridOptions = { map: ['S...', '.#.H', '...G'], slip: 0, stepReward: -0.04 };

/** Actions 0 up, 1 right, 2 down, 3 left. */
const MOVES = [
  [-1, 0],
  [0, 1],
  [1, 0],
  [0, -1],
] as const;
const ENTERED: Readonly<Record<string, number>> = { G: 1, H: -1 };

/** Exact dynamics; a state is row * width + column of the map, walls included (they are never reached). */
export function gridDynamics({ map, slip, stepReward }: GridOptions): TabularDynamics {
  const cells = map.join('');
  const states = cells.length;
  const actions = MOVES.length;
  const transition = new Float64Array(states * actions * states);
  const reward = new Float64Array(states * actions * states);
  const terminal = Uint8Array.from(cells, (cell) => Number(cell in ENTERED));
  for (let state = 0; state < states; state++) {
    for (let action = 0; action < actions; action++) {
      const row = (state * actions + action) * states;
      if (terminal[state]) {
        transition[row + state] = 1;
        continue;
      }
      for (const [turn, probability] of [
        [0, 1 - slip],
        [1, slip / 2],
        [3, slip / 2],
      ]) {
        const next = destination(map, state, (action + turn) % actions);
        transition[row + next] += probability;
        reward[row + next] = stepReward + (ENTERED[cells[next]] ?? 0);
      }
    }
  }
  return { states, actions, transition, reward, terminal, start: startOf(cells) };
}

function destination(map: readonly string[], state: number, action: number): number {
  const width = map[0].length;
  const row = Math.floor(state / width) + MOVES[action][0];
  const column = (state % width) + MOVES[action][1];
  const cell = map[row]?.[column];
  return cell === undefined || cell === '#' ? state : row * width + column;
}

function startOf(cells: string): Float64Array {
  const starts = Array.from(cells).filter((cell) => cell === 'S').length;
  return Float64Array.from(cells, (cell) => (cell === 'S' ? 1 / starts : 0));
}

const NO_INFO = Object.freeze({});

/** Observation: the cell's number, row * width + column; actions 0 up, 1 right, 2 down, 3 left. */
export class Gridworld extends ClockedEnvironment {
  readonly dynamics: TabularDynamics;
  private state = 0;

  constructor(options: GridOptions, maxEpisodeSteps: number | undefined) {
    const dynamics = gridDynamics(options);
    const { states, actions, reward, terminal } = dynamics;
    super({
      id: 'gridworld',
      observationSpace: discreteSpace(states),
      actionSpace: discreteSpace(actions),
      maxEpisodeSteps,
      known: {
        reward: (obs, at, action, actionAt, nextObs) =>
          reward[(obs[at] * actions + action[actionAt]) * states + nextObs[at]],
        terminated: (nextObs, at) => terminal[nextObs[at]] === 1,
      },
      configuration: JSON.stringify([options, maxEpisodeSteps]),
    });
    this.dynamics = dynamics;
  }

  protected start(rng: Rng): void {
    this.state = stateAt(this.dynamics.start, rng.uniform());
  }

  protected advance(action: Float32Array, rng: Rng): Advance {
    const { states, actions, transition, reward, terminal } = this.dynamics;
    const row = (this.state * actions + action[0]) * states;
    const next = stateAt(transition.subarray(row, row + states), rng.uniform());
    this.state = next;
    return { reward: reward[row + next], terminated: terminal[next] === 1, info: NO_INFO };
  }

  protected observe(into: Float32Array): void {
    into[0] = this.state;
  }

  protected saveWorld(): unknown {
    return this.state;
  }

  protected loadWorld(world: unknown): void {
    if (typeof world !== 'number') throw new RangeError('not a state');
    this.state = world;
  }
}

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
