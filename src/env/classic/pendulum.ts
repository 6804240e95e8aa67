// Pendulum swing-up by the equations of Gymnasium's Pendulum-v1 (gymnasium/envs/classic_control/pendulum.py).

import type { KnownFunctions } from '../../core/environment.js';
import type { Rng } from '../../core/rng.js';
import { type Advance, ClockedEnvironment } from '../clocked-environment.js';
import { packNumbers, unpackNumbers } from '../exact-numbers.js';
import { boxSpace } from '../space-values.js';

const GRAVITY = 10;
const MASS = 1;
const LENGTH = 1;
const DT = 0.05;
const MAX_SPEED = 8;
const MAX_TORQUE = 2;
const NO_INFO = Object.freeze({});

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
      known: KNOWN,
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
    const acceleration = ((3 * GRAVITY) / (2 * LENGTH)) * Math.sin(this.theta) + (3 / (MASS * LENGTH ** 2)) * torque;
    this.thetaDot = Math.min(Math.max(this.thetaDot + acceleration * DT, -MAX_SPEED), MAX_SPEED);
    this.theta += this.thetaDot * DT;
    return { reward, terminated: false, info: NO_INFO };
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

const KNOWN: KnownFunctions = {
  reward: (obs, at, action, actionAt) => -cost(Math.atan2(obs[at + 1], obs[at]), obs[at + 2], action[actionAt]),
  terminated: () => false,
};
