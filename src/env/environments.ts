// What can be named as an environment in a scenario.

import { z } from 'zod';
import { Registry } from '../core/registry.js';
import { clockOf, type EnvironmentEntry } from './clocked-environment.js';
import { gymnasium } from './gymnasium/entry.js';
import { bodyShape } from './mujoco/body.js';

export const bodyKeys = z.strictObject(bodyShape).partial();

/** Folders of `data/bodies/`. */
const BODIES = [
  ...['inverted-pendulum', 'inverted-double-pendulum', 'cartpole-swingup', 'reacher', 'hopper', 'half-cheetah'],
  'walker2d',
];

const bodies = BODIES.map(
  (name): EnvironmentEntry => ({
    name,
    summary: 'A body of MuJoCo.',
    schema: bodyKeys,
    make: async () => {
      const { makeBuiltIn } = await import('./mujoco/mujoco-environment.js');
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

/** By id. */
export const environments = new Registry<EnvironmentEntry>('environment', [...bodies, cartpole, pendulum, gymnasium]);

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
