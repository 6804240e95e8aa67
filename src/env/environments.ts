// What can be named as an environment in a scenario; an environment as data, checked once, here; and from that to a running one.

import { resolve } from 'node:path';
import { z } from 'zod';
import type { SyncVectorEnvironment, VectorEnvironment } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import { threadPlugins } from '../core/plugins.js';
import { Registry } from '../core/registry.js';
import { clockOf, type EnvironmentEntry } from './clocked-environment.js';
import { bodyShape } from './mujoco/body.js';
import { stackObservations } from './partial-environment.js';
import { keysOfAll, parseStrictly } from './strict-parse.js';

const gymnasiumKeys = z.strictObject({
  gymnasium: z.string().min(1).describe("gymnasium: an id of Python's Gymnasium, e.g. Humanoid-v5"),
  kwargs: z.record(z.string(), z.json()).optional().describe('gymnasium: keyword arguments of `gymnasium.make`'),
  import: z.string().min(1).optional().describe('gymnasium: a Python module that registers environments when imported'),
  timeoutSeconds: z
    .number()
    .positive()
    .optional()
    .describe('gymnasium: longest time for one answer before the process counts as hung; 120'),
});

const gymnasium: EnvironmentEntry = {
  name: 'gymnasium',
  namedBy: 'gymnasium',
  summary: "An environment of Python's Gymnasium, in a process of its own.",
  schema: gymnasiumKeys,
  make: async () => {
    const { openGymnasium } = await import('./gymnasium/gymnasium-environment.js');
    return async (settings) => {
      const { gymnasium: id, kwargs = {}, timeoutSeconds = 120, ...rest } = gymnasiumKeys.strip().parse(settings);
      const clock = settings.maxEpisodeSteps === undefined ? {} : { maxEpisodeSteps: settings.maxEpisodeSteps };
      return openGymnasium({ id, kwargs, timeoutSeconds, ...rest, ...clock });
    };
  },
};

const bodyKeys = z.strictObject(bodyShape).partial();

/** Folders of `data/bodies/`. */
const BODIES = 'inverted-pendulum inverted-double-pendulum cartpole-swingup reacher hopper half-cheetah walker2d'.split(
  ' ',
);

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

const classic = (name: string, summary: string, of: 'CartPole' | 'Pendulum', steps: number): EnvironmentEntry => ({
  ...{ name, summary },
  make: async () => {
    const { [of]: Classic } = await import('./classic.js');
    return async (settings) => new Classic(clockOf(settings, steps));
  },
});

const cartpole = classic('cartpole', 'Cart-pole balancing with two actions.', 'CartPole', 500);
const pendulum = classic('pendulum', 'Pendulum swing-up by a torque.', 'Pendulum', 200);

const ours = [...bodies, cartpole, pendulum, gymnasium];
export const environments = new Registry<EnvironmentEntry>('environment', ours);

/** All environments of the package that need no model file. */
export const environmentIds: readonly string[] = [...bodies, cartpole, pendulum].map(({ name }) => name);

/** Which environment a spec means, by its `id` or by a key that stands in its place; undefined where none is named. */
function entryFor(spec: Readonly<Record<string, unknown>>): EnvironmentEntry | undefined {
  const { id } = spec;
  if (id === undefined)
    return environments.list().find(({ namedBy }) => namedBy !== undefined && spec[namedBy] !== undefined);
  const named = environments.has(id as string) ? environments.get(id as string) : undefined;
  return named?.namedBy === undefined ? named : undefined;
}

/** Keys of the section `env` that an environment takes beside `id` and `maxEpisodeSteps`. */
export function keysOf({ schema }: EnvironmentEntry): string[] {
  return Object.keys(schema?.shape ?? {});
}

const commonKeys = {
  id: z.string().optional().describe('a built-in environment, or a name for an mjcf one'),
  mjcf: z.string().optional().describe('path of a MuJoCo model, relative to the scenario folder'),
  mjcfFolder: z.string().optional().describe('folder that its files may lie in, likewise; default: that of `mjcf`'),
  maxEpisodeSteps: z.int().min(1).nullable().optional().describe('steps before truncated; null for no clock'),
  stack: z
    .int()
    .min(2)
    .max(16)
    .optional()
    .describe('last observations that are shown side by side, the newest last: for what a single one does not tell'),
};

const ourKeys = { ...commonKeys, ...bodyKeys.shape, ...gymnasiumKeys.partial().shape };

type OurSchema = z.ZodObject<typeof ourKeys, z.core.$strict>;

/**
 * An environment: `id` of a built-in one, `gymnasium` with an id of Python's, or `mjcf` with observation and reward. Keys of a body also override those of a
 * built-in MuJoCo one. Plugins add keys of their environments, so it is made when it is asked for; its type is that of ours.
 */
export function envSpecSchema(): OurSchema {
  const known = environments.names().length;
  if (made?.known !== known) made = { known, schema: schemaOfNow() };
  return made.schema;
}

let made: { readonly known: number; readonly schema: OurSchema } | undefined;

function schemaOfNow(): OurSchema {
  const keys: Record<string, z.ZodType> = { ...ourKeys };
  const others = environments.list().filter((entry) => !ours.includes(entry));
  // An environment of a plugin may mean something else by a key of our bodies, and checks it again.
  for (const [key, type] of Object.entries(keysOfAll(others.map(({ schema }) => schema))))
    keys[key] = keys[key] === undefined ? type : z.union([keys[key], type]);
  return z.strictObject({ ...keys, ...commonKeys }).superRefine((spec, context) => {
    for (const problem of misplaced(spec)) context.addIssue({ code: 'custom', message: problem });
  }) as unknown as OurSchema;
}

export type EnvSpec = z.input<OurSchema>;
type CheckedEnvSpec = z.output<OurSchema>;

/** The spec with defaults, or UNKNOWN_KEY, NAME_UNKNOWN, ENV_SPEC_INVALID. */
export function checkEnvSpec(spec: unknown): CheckedEnvSpec {
  const checked = parseStrictly(envSpecSchema(), spec, 'environment');
  const problem = `No environment is called "${checked.id}".`;
  const hint = `Known environments: ${environmentIds.join(', ')}.`;
  if (checked.mjcf === undefined && !entryFor(checked)) throw reverieError('NAME_UNKNOWN', { problem, hint });
  return checked;
}

function misplaced(spec: Record<string, unknown>): string[] {
  const given = Object.keys(spec).filter((key) => spec[key] !== undefined);
  const entry = entryFor(spec);
  if (spec.mjcf === undefined && spec.id === undefined && entry === undefined) {
    const others = environments.list().flatMap(({ namedBy }) => (namedBy === undefined ? [] : [`"${namedBy}"`]));
    return [`give "id" of a built-in environment, ${others.join(', ')} or "mjcf"`];
  }
  const missing = spec.mjcf === undefined ? [] : ['observation', 'reward'].filter((key) => spec[key] === undefined);
  const allowed = ['id', 'mjcf', 'maxEpisodeSteps', 'stack'];
  if (spec.mjcf !== undefined) allowed.push('mjcfFolder', ...Object.keys(bodyShape));
  else if (entry !== undefined) allowed.push(...keysOf(entry));
  const wrong = given.filter((key) => !allowed.includes(key));
  const name = spec.mjcf === undefined ? `"${spec.id ?? entry?.name}"` : 'an mjcf environment';
  return [
    ...missing.map((key) => `an environment with "mjcf" needs "${key}"`),
    ...wrong.map((key) => `"${key}" does not apply to ${name}`),
  ];
}

/** Environments with an `id`, and bodies of one's own, answer at once; others with a promise. */
type EnvironmentFor<S extends EnvSpec> = S extends { id: string } | { mjcf: string }
  ? SyncVectorEnvironment
  : VectorEnvironment;

/**
 * Makes the environment a spec describes.
 * @param options.folder that relative paths of `mjcf` start from: the scenario's. Default: the working directory
 * Throws UNKNOWN_KEY, NAME_UNKNOWN, ENV_SPEC_INVALID or ENV_UNUSABLE, and what a plugin's environment throws.
 */
export async function makeEnvironment<S extends EnvSpec>(
  spec: S,
  { folder = '.' }: { readonly folder?: string } = {},
): Promise<EnvironmentFor<S>> {
  await threadPlugins();
  const checked = checkEnvSpec(spec);
  const whole = await makeWhole(checked, folder);
  const made = checked.stack === undefined ? whole : stackObservations(whole, checked.stack);
  return made as EnvironmentFor<S>;
}

/** Whole paths of the files, of a user's own, that the environment of a spec is made of. */
export async function environmentFiles(spec: CheckedEnvSpec, folder: string): Promise<string[]> {
  const model = modelOf(spec, folder);
  return model === undefined ? [] : (await import('./mujoco/mujoco-environment.js')).filesOf(model);
}

function modelOf({ mjcf, mjcfFolder }: CheckedEnvSpec, folder: string) {
  if (mjcf === undefined) return undefined;
  return { file: resolve(folder, mjcf), ...(mjcfFolder !== undefined && { folder: resolve(folder, mjcfFolder) }) };
}

async function makeWhole(checked: CheckedEnvSpec, folder: string): Promise<VectorEnvironment> {
  const model = modelOf(checked, folder);
  if (model !== undefined) return (await import('./mujoco/mujoco-environment.js')).makeFromFile(checked, model);
  const entry = entryFor(checked)!;
  const own = keysOf(entry).filter((key) => checked[key as keyof typeof checked] !== undefined);
  const given = Object.fromEntries(own.map((key) => [key, checked[key as keyof typeof checked]]));
  const settings = entry.schema === undefined ? {} : parseStrictly(entry.schema, given, 'environment');
  const make = await entry.make();
  return make({ maxEpisodeSteps: checked.maxEpisodeSteps, ...settings });
}
