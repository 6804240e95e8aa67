// The environments that a scenario can name: ours, an entry each, and those of plugins. Physics is loaded when one is made.

import { z } from 'zod';
import { Registry } from '../core/registry.js';
import { clockOf } from './clocked-environment.js';
import type { EnvironmentEntry } from './environment-entry.js';
import { gymnasium } from './gymnasium/entry.js';
import { builtInBodies } from './mujoco/bodies/index.js';
import { bodyShape } from './mujoco/body-spec.js';
import { openEnvNumbers } from './servers/openenv/number-entry.js';

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
export const environments = new Registry<EnvironmentEntry>('environment', [
  ...bodies,
  cartpole,
  pendulum,
  gridworld,
  gymnasium,
  openEnvNumbers,
]);

/** All environments of the package that need no model file. */
export const environmentIds: readonly string[] = environments
  .list()
  .filter(({ namedBy }) => namedBy === undefined)
  .map(({ name }) => name);

/** Which environment a spec means, by its `id` or by a key that stands in its place; undefined where none is named. */
export function entryFor(spec: Readonly<Record<string, unknown>>): EnvironmentEntry | undefined {
  const { id } = spec;
  if (id === undefined) {
    return environments.list().find(({ namedBy }) => namedBy !== undefined && spec[namedBy] !== undefined);
  }
  const named = environments.has(id as string) ? environments.get(id as string) : undefined;
  return named?.namedBy === undefined ? named : undefined;
}

/** Keys of the section `env` that an environment takes beside `id` and `maxEpisodeSteps`. */
export function keysOf({ schema }: EnvironmentEntry): string[] {
  return Object.keys(schema?.shape ?? {});
}
