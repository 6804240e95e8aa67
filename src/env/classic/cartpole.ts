// Cart-pole balancing by the equations of Gymnasium's CartPole-v1 (gymnasium/envs/classic_control/cartpole.py; Barto,
// Sutton & Anderson 1983), explicit Euler.

import type { KnownFunctions } from '../../core/environment.js';
import type { Rng } from '../../core/rng.js';
import { type Advance, ClockedEnvironment } from '../clocked-environment.js';
import { packNumbers, unpackNumbers } from '../exact-numbers.js';
import { boxSpace, discreteSpace } from '../space-values.js';

const GRAVITY = 9.8;
const POLE_MASS = 0.1;
const TOTAL_MASS = POLE_MASS + 1;
const HALF_LENGTH = 0.5;
const POLE_MASS_LENGTH = POLE_MASS * HALF_LENGTH;
const FORCE = 10;
const DT = 0.02;
const X_LIMIT = 2.4;
const THETA_LIMIT = (12 * 2 * Math.PI) / 360;
const START_SCALE = 0.05;
const NO_INFO = Object.freeze({});

/** Observation [x, dx/dt, θ, dθ/dt]; action 0 pushes left, 1 right; reward 1 a step until the pole falls. */
export class CartPole extends ClockedEnvironment {
  private state: readonly number[] = [0, 0, 0, 0];

  constructor(maxEpisodeSteps: number | undefined) {
    super({
      id: 'cartpole',
      observationSpace: boxSpace(
        [-2 * X_LIMIT, null, -2 * THETA_LIMIT, null],
        [2 * X_LIMIT, null, 2 * THETA_LIMIT, null],
      ),
      actionSpace: discreteSpace(2),
      maxEpisodeSteps,
      known: KNOWN,
      configuration: `cartpole ${maxEpisodeSteps}`,
    });
  }

  protected start(rng: Rng): void {
    this.state = Array.from({ length: 4 }, () => START_SCALE * (2 * rng.uniform() - 1));
  }

  protected advance(action: Float32Array): Advance {
    const [x, xDot, theta, thetaDot] = this.state;
    const force = action[0] === 1 ? FORCE : -FORCE;
    const cos = Math.cos(theta);
    const sin = Math.sin(theta);
    const push = (force + POLE_MASS_LENGTH * thetaDot * thetaDot * sin) / TOTAL_MASS;
    const thetaAcc = (GRAVITY * sin - cos * push) / (HALF_LENGTH * (4 / 3 - (POLE_MASS * (cos * cos)) / TOTAL_MASS));
    const xAcc = push - (POLE_MASS_LENGTH * thetaAcc * cos) / TOTAL_MASS;
    this.state = [x + DT * xDot, xDot + DT * xAcc, theta + DT * thetaDot, thetaDot + DT * thetaAcc];
    return { reward: 1, terminated: hasFallen(this.state[0], this.state[2]), info: NO_INFO };
  }

  protected observe(into: Float32Array): void {
    into.set(this.state);
  }

  protected saveWorld(): unknown {
    return packNumbers(this.state);
  }

  protected loadWorld(world: unknown): void {
    this.state = Array.from(unpackNumbers(world as string, 4));
  }
}

function hasFallen(x: number, theta: number): boolean {
  return x < -X_LIMIT || x > X_LIMIT || theta < -THETA_LIMIT || theta > THETA_LIMIT;
}

const KNOWN: KnownFunctions = {
  reward: () => 1,
  terminated: (nextObs, at) => hasFallen(nextObs[at], nextObs[at + 2]),
};
