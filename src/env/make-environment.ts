// From an environment as data to a running one.

import path from 'node:path';
import type { SyncVectorEnvironment } from '../core/environment.js';
import { CartPole } from './classic/cartpole.js';
import { Pendulum } from './classic/pendulum.js';
import { type CheckedEnvSpec, checkEnvSpec, type EnvSpec } from './env-spec.js';
import { builtInBodies } from './mujoco/bodies/index.js';
import { bodyShape, bodySpecSchema } from './mujoco/body-spec.js';
import { inlineModel, readModelFiles } from './mujoco/model-files.js';
import { MujocoEnvironment } from './mujoco/mujoco-environment.js';
import { parseStrictly } from './strict-parse.js';
import { DEFAULT_GRID, type GridOptions } from './tabular/grid-dynamics.js';
import { Gridworld } from './tabular/gridworld.js';

export interface MakeOptions {
  /** Folder that a relative `mjcf` path starts from: the scenario's. Default: the working directory. */
  readonly folder?: string;
}

/**
 * Makes the environment a spec describes.
 * Throws UNKNOWN_KEY, ENV_UNKNOWN, ENV_SPEC_INVALID or MJCF_INVALID.
 */
export async function makeEnvironment(spec: EnvSpec, options: MakeOptions = {}): Promise<SyncVectorEnvironment> {
  const checked = checkEnvSpec(spec);
  if (checked.mjcf !== undefined) return makeFromFile(checked, checked.mjcf, options.folder ?? '.');
  const id = checked.id!;
  if (id in builtInBodies) return makeBuiltIn(checked, id);
  switch (id) {
    case 'cartpole':
      return new CartPole(clockOf(checked, 500));
    case 'pendulum':
      return new Pendulum(clockOf(checked, 200));
    default:
      return new Gridworld(gridOf(checked), clockOf(checked, 100));
  }
}

function makeFromFile(spec: CheckedEnvSpec, mjcf: string, folder: string): Promise<MujocoEnvironment> {
  const file = path.resolve(folder, mjcf);
  const body = parseStrictly(bodySpecSchema, bodyKeysOf(spec), 'environment');
  const id = spec.id ?? path.basename(mjcf, path.extname(mjcf));
  return MujocoEnvironment.make({ id, files: readModelFiles(file), body, maxEpisodeSteps: clockOf(spec, 1000) });
}

function makeBuiltIn(spec: CheckedEnvSpec, id: string): Promise<MujocoEnvironment> {
  const builtIn = builtInBodies[id];
  const overrides = bodyKeysOf(spec);
  const body = parseStrictly(bodySpecSchema, { ...builtIn.body, ...overrides }, 'environment');
  const isChanged = Object.keys(overrides).length > 0;
  return MujocoEnvironment.make({
    id,
    files: inlineModel(id, builtIn.xml),
    body,
    maxEpisodeSteps: clockOf(spec, builtIn.maxEpisodeSteps),
    known: isChanged ? undefined : builtIn.known,
  });
}

function gridOf({ map, slip, stepReward }: CheckedEnvSpec): GridOptions {
  return {
    map: map ?? DEFAULT_GRID.map,
    slip: slip ?? DEFAULT_GRID.slip,
    stepReward: stepReward ?? DEFAULT_GRID.stepReward,
  };
}

function bodyKeysOf(spec: CheckedEnvSpec): Record<string, unknown> {
  const entries = Object.entries(spec).filter(([key, value]) => key in bodyShape && value !== undefined);
  return Object.fromEntries(entries);
}

/** Steps before truncation: as specified, null for never, else the environment's own. */
function clockOf({ maxEpisodeSteps }: CheckedEnvSpec, own: number): number | undefined {
  return maxEpisodeSteps === null ? undefined : (maxEpisodeSteps ?? own);
}
