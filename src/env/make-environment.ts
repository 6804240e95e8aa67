// From an environment as data to a running one.

import type { SyncVectorEnvironment, VectorEnvironment } from '../core/environment.js';
import { threadPlugins } from '../core/plugins.js';
import { type CheckedEnvSpec, checkEnvSpec, type EnvSpec } from './env-spec.js';
import { entryFor, keysOf } from './environments.js';
import { hideElements, stackObservations } from './partial-environment.js';
import { parseStrictly } from './strict-parse.js';

interface MakeOptions {
  /** Folder that a relative `mjcf` path starts from: the scenario's. Default: the working directory. */
  readonly folder?: string;
}

/** Environments with an `id`, and bodies of one's own, answer at once; others with a promise. */
type EnvironmentFor<S extends EnvSpec> = S extends { id: string } | { mjcf: string }
  ? SyncVectorEnvironment
  : VectorEnvironment;

/**
 * Makes the environment a spec describes.
 * Throws UNKNOWN_KEY, NAME_UNKNOWN, ENV_SPEC_INVALID or ENV_UNUSABLE, and what a plugin's environment throws.
 */
export async function makeEnvironment<S extends EnvSpec>(
  spec: S,
  options: MakeOptions = {},
): Promise<EnvironmentFor<S>> {
  await threadPlugins();
  const checked = checkEnvSpec(spec);
  const whole = await makeWhole(checked, options);
  const seen = checked.hide === undefined ? whole : hideElements(whole, checked.hide);
  const made = checked.stack === undefined ? seen : stackObservations(seen, checked.stack);
  return made as EnvironmentFor<S>;
}

async function makeWhole(checked: CheckedEnvSpec, options: MakeOptions): Promise<VectorEnvironment> {
  if (checked.mjcf !== undefined) {
    const { makeFromFile } = await import('./mujoco/mujoco-environment.js');
    return makeFromFile(checked, checked.mjcf, options.folder ?? '.');
  }
  const entry = entryFor(checked)!;
  const own = keysOf(entry).filter((key) => checked[key as keyof typeof checked] !== undefined);
  const given = Object.fromEntries(own.map((key) => [key, checked[key as keyof typeof checked]]));
  const settings = entry.schema === undefined ? {} : parseStrictly(entry.schema, given, 'environment');
  const make = await entry.make();
  return make({ maxEpisodeSteps: checked.maxEpisodeSteps, ...settings });
}
