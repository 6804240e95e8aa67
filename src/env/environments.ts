// The environments that a scenario can name: ours, an entry each, and those of plugins. Physics is loaded when one is made.

import { z } from 'zod';
import type { SyncVectorEnvironment } from '../core/environment.js';
import { type Entry, Registry } from '../core/registry.js';
import { type ClockSetting, clockOf } from './clocked-environment.js';
import { builtInBodies } from './mujoco/bodies/index.js';
import { bodyShape } from './mujoco/body-spec.js';

/** An environment's settings, checked: the keys of its schema, and its clock. */
export interface EnvironmentSettings extends ClockSetting {
  readonly [key: string]: unknown;
}

/** `name` is the `id` that scenarios give; `schema` has the keys beside `id` and `maxEpisodeSteps`. */
export interface EnvironmentEntry extends Entry<(settings: EnvironmentSettings) => Promise<SyncVectorEnvironment>> {
  readonly schema?: z.ZodObject;
}

export const gridKeys = z.strictObject({
  map: z.array(z.string()).min(1).optional().describe('gridworld: rows of S start, . free, # wall, G goal, H hole'),
  slip: z.number().min(0).max(1).optional().describe('gridworld: probability of moving to a side instead'),
  stepReward: z.number().optional().describe('gridworld: reward of every step'),
});

export const bodyKeys = z.strictObject(bodyShape).partial();

const bodies = Object.keys(builtInBodies).map(
  (name): EnvironmentEntry => ({
    name,
    summary: 'A body of MuJoCo.',
    schema: bodyKeys,
    make: async () => {
      const { makeBuiltIn } = await import('./mujoco/make-body.js');
      return (settings) => makeBuiltIn(name, settings);
    },
  }),
);

const cartpole: EnvironmentEntry = {
  name: 'cartpole',
  summary: 'Cart-pole balancing with two actions.',
  make: async () => {
    const { CartPole } = await import('./classic/cartpole.js');
    return async (settings) => new CartPole(clockOf(settings, 500));
  },
};

const pendulum: EnvironmentEntry = {
  name: 'pendulum',
  summary: 'Pendulum swing-up by a torque.',
  make: async () => {
    const { Pendulum } = await import('./classic/pendulum.js');
    return async (settings) => new Pendulum(clockOf(settings, 200));
  },
};

const gridworld: EnvironmentEntry = {
  name: 'gridworld',
  summary: 'A grid with walls, holes and a goal.',
  schema: gridKeys,
  make: async () => {
    const { DEFAULT_GRID } = await import('./tabular/grid-dynamics.js');
    const { Gridworld } = await import('./tabular/gridworld.js');
    return async (settings) => {
      const { map, slip, stepReward } = gridKeys.strip().parse(settings);
      const given = { map: map ?? DEFAULT_GRID.map, slip: slip ?? DEFAULT_GRID.slip };
      return new Gridworld({ ...given, stepReward: stepReward ?? DEFAULT_GRID.stepReward }, clockOf(settings, 100));
    };
  },
};

/** By id. */
export const environments = new Registry<EnvironmentEntry>('environment', [...bodies, cartpole, pendulum, gridworld]);

/** All environments of the package that need no model file. */
export const environmentIds: readonly string[] = environments.names();

/** Keys of the section `env` that an environment takes beside `id` and `maxEpisodeSteps`. */
export function keysOf({ schema }: EnvironmentEntry): string[] {
  return Object.keys(schema?.shape ?? {});
}
