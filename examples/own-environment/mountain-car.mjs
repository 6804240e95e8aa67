// An environment from outside: a car in a valley that must rock its way up (Gymnasium's MountainCarContinuous-v0).

import { boxSpace, ClockedEnvironment, definePlugin, z } from 'reverie/extend';

const GOAL = 0.45;

class MountainCar extends ClockedEnvironment {
  position = 0;
  velocity = 0;

  constructor({ maxEpisodeSteps, power }) {
    super({
      id: 'mountain-car',
      observationSpace: boxSpace([-1.2, -0.07], [0.6, 0.07]),
      actionSpace: boxSpace([-1], [1]),
      maxEpisodeSteps: maxEpisodeSteps === null ? undefined : (maxEpisodeSteps ?? 999),
      configuration: `mountain-car ${maxEpisodeSteps} ${power}`,
    });
    this.power = power;
  }

  start(rng) {
    this.position = -0.6 + 0.2 * rng.uniform();
    this.velocity = 0;
  }

  advance([force]) {
    const slope = 0.0025 * Math.cos(3 * this.position);
    this.velocity = Math.min(Math.max(this.velocity + force * this.power - slope, -0.07), 0.07);
    this.position = Math.min(Math.max(this.position + this.velocity, -1.2), 0.6);
    if (this.position === -1.2) this.velocity = Math.max(this.velocity, 0);
    const terminated = this.position >= GOAL;
    return { reward: (terminated ? 100 : 0) - 0.1 * force * force, terminated, info: {} };
  }

  observe(into) {
    into[0] = this.position;
    into[1] = this.velocity;
  }

  saveWorld() {
    return [this.position, this.velocity];
  }

  loadWorld(world) {
    [this.position, this.velocity] = world;
  }
}

export default definePlugin({
  environments: [
    {
      name: 'mountain-car',
      summary: 'A car in a valley that must rock its way up.',
      schema: z.strictObject({ power: z.number().positive().default(0.0015).describe('mountain-car: force of the motor') }),
      make: async () => async (settings) => new MountainCar(settings),
    },
  ],
});
