// From an environment as data to a running one.

import type { SyncVectorEnvironment } from '../core/environment.js';
import { threadPlugins } from '../core/plugins.js';
import { type CheckedEnvSpec, checkEnvSpec, type EnvSpec } from './env-spec.js';
import { environments, keysOf } from './environments.js';
import { hideElements } from './partial-environment.js';
import { parseStrictly } from './strict-parse.js';

export interface MakeOptions {
  /** Folder that a relative `mjcf` path starts from: the scenario's. Default: the working directory. */
  readonly folder?: string;
}

/**
 * Makes the environment a spec describes.
 * Throws UNKNOWN_KEY, ENV_UNKNOWN, ENV_SPEC_INVALID or MJCF_INVALID, and what a plugin's environment throws.
 */
export async function makeEnvironment(spec: EnvSpec, options: MakeOptions = {}): Promise<SyncVectorEnvironment> {
  await threadPlugins();
  const checked = checkEnvSpec(spec);
  const whole = await makeWhole(checked, options);
  return checked.hide === undefined ? whole : hideElements(whole, checked.hide);
}

async function makeWhole(checked: CheckedEnvSpec, options: MakeOptions): Promise<SyncVectorEnvironment> {
  if (checked.mjcf !== undefined) {
    const { makeFromFile } = await import('./mujoco/make-body.js');
    return makeFromFile(checked, checked.mjcf, options.folder ?? '.');
  }
  const entry = environments.get(checked.id!);
  const own = keysOf(entry).filter((key) => checked[key as keyof typeof checked] !== undefined);
  const given = Object.fromEntries(own.map((key) => [key, checked[key as keyof typeof checked]]));
  const settings = entry.schema === undefined ? {} : parseStrictly(entry.schema, given, 'environment');
  const make = await entry.make();
  return make({ maxEpisodeSteps: checked.maxEpisodeSteps, ...settings });
}
