// A small world of cells with exactly known dynamics, on which algorithms can be checked against value iteration.

import type { Rng } from '../../core/rng.js';
import { type Advance, ClockedEnvironment } from '../clocked-environment.js';
import { discreteSpace } from '../space-values.js';
import { type GridOptions, gridDynamics } from './grid-dynamics.js';
import { stateAt, type TabularDynamics } from './tabular-dynamics.js';

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
    this.state = world as number;
  }
}
