// Classic control by the equations of Gymnasium (gymnasium/envs/classic_control/): CartPole-v1 (Barto, Sutton & Anderson 1983; explicit
// Euler) and Pendulum-v1.

import type { KnownFunctions } from '../core/environment.js';
import type { Rng } from '../core/rng.js';
import { type Advance, ClockedEnvironment, packNumbers, unpackNumbers } from './clocked-environment.js';
import { boxSpace, discreteSpace } from './space-values.js';

const CART_GRAVITY = 9.8;
const POLE_MASS = 0.1;
const TOTAL_MASS = POLE_MASS + 1;
const HALF_LENGTH = 0.5;
const POLE_MASS_LENGTH = POLE_MASS * HALF_LENGTH;
const FORCE = 10;
const CART_DT = 0.02;
const X_LIMIT = 2.4;
const THETA_LIMIT = (12 * 2 * Math.PI) / 360;
const START_SCALE = 0.05;

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
      stepSeconds: CART_DT,
      known: CART_KNOWN,
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
    const thetaAcc =
      (CART_GRAVITY * sin - cos * push) / (HALF_LENGTH * (4 / 3 - (POLE_MASS * (cos * cos)) / TOTAL_MASS));
    const xAcc = push - (POLE_MASS_LENGTH * thetaAcc * cos) / TOTAL_MASS;
    this.state = [x + CART_DT * xDot, xDot + CART_DT * xAcc, theta + CART_DT * thetaDot, thetaDot + CART_DT * thetaAcc];
    return { reward: 1, terminated: hasFallen(this.state[0], this.state[2]), info: {} };
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

const CART_KNOWN: KnownFunctions = {
  reward: () => 1,
  terminated: (nextObs, at) => hasFallen(nextObs[at], nextObs[at + 2]),
};

const PENDULUM_GRAVITY = 10;
const MASS = 1;
const LENGTH = 1;
const PENDULUM_DT = 0.05;
const MAX_SPEED = 8;
const MAX_TORQUE = 2;

/** Observation [cos θ, sin θ, dθ/dt], θ = 0 upright; action torque in N·m; reward −(θ² + 0.1 dθ² + 0.001 u²). */
export class Pendulum extends ClockedEnvironment {
  private theta = 0;
  private thetaDot = 0;

  constructor(maxEpisodeSteps: number | undefined) {
    super({
      id: 'pendulum',
      observationSpace: boxSpace([-1, -1, -MAX_SPEED], [1, 1, MAX_SPEED]),
      actionSpace: boxSpace([-MAX_TORQUE], [MAX_TORQUE]),
      maxEpisodeSteps,
      stepSeconds: PENDULUM_DT,
      known: PENDULUM_KNOWN,
      configuration: `pendulum ${maxEpisodeSteps}`,
    });
  }

  protected start(rng: Rng): void {
    this.theta = Math.PI * (2 * rng.uniform() - 1);
    this.thetaDot = 2 * rng.uniform() - 1;
  }

  protected advance(action: Float32Array): Advance {
    const torque = action[0];
    const reward = -cost(this.theta, this.thetaDot, torque);
    const acceleration =
      ((3 * PENDULUM_GRAVITY) / (2 * LENGTH)) * Math.sin(this.theta) + (3 / (MASS * LENGTH ** 2)) * torque;
    this.thetaDot = Math.min(Math.max(this.thetaDot + acceleration * PENDULUM_DT, -MAX_SPEED), MAX_SPEED);
    this.theta += this.thetaDot * PENDULUM_DT;
    return { reward, terminated: false, info: {} };
  }

  protected observe(into: Float32Array): void {
    into[0] = Math.cos(this.theta);
    into[1] = Math.sin(this.theta);
    into[2] = this.thetaDot;
  }

  protected saveWorld(): unknown {
    return packNumbers([this.theta, this.thetaDot]);
  }

  protected loadWorld(world: unknown): void {
    [this.theta, this.thetaDot] = unpackNumbers(world as string, 2);
  }
}

/** Gymnasium's cost; the angle is wrapped into [−π, π). */
function cost(theta: number, thetaDot: number, torque: number): number {
  const turn = 2 * Math.PI;
  const wrapped = ((((theta + Math.PI) % turn) + turn) % turn) - Math.PI;
  return wrapped ** 2 + 0.1 * thetaDot ** 2 + 0.001 * torque ** 2;
}

const PENDULUM_KNOWN: KnownFunctions = {
  reward: (obs, at, action, actionAt) => -cost(Math.atan2(obs[at + 1], obs[at]), obs[at + 2], action[actionAt]),
  terminated: () => false,
};
