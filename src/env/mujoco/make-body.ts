// From a body as data, one of ours or a user's model file, to an environment of MuJoCo.

import path from 'node:path';
import { type ClockSetting, clockOf } from '../clocked-environment.js';
import { parseStrictly } from '../strict-parse.js';
import { builtInBodies } from './bodies/index.js';
import { bodyShape, bodySpecSchema } from './body-spec.js';
import { inlineModel, readModelFiles } from './model-files.js';
import { MujocoEnvironment } from './mujoco-environment.js';

/** @param folder where a relative path of `mjcf` starts */
export function makeFromFile(
  settings: ClockSetting & { readonly id?: string },
  mjcf: string,
  folder: string,
): Promise<MujocoEnvironment> {
  const file = path.resolve(folder, mjcf);
  const body = parseStrictly(bodySpecSchema, bodyKeysOf(settings), 'environment');
  const id = settings.id ?? path.basename(mjcf, path.extname(mjcf));
  return MujocoEnvironment.make({ id, files: readModelFiles(file), body, maxEpisodeSteps: clockOf(settings, 1000) });
}

export function makeBuiltIn(id: string, settings: ClockSetting): Promise<MujocoEnvironment> {
  const builtIn = builtInBodies[id];
  const overrides = bodyKeysOf(settings);
  const body = parseStrictly(bodySpecSchema, { ...builtIn.body, ...overrides }, 'environment');
  const isChanged = Object.keys(overrides).length > 0;
  return MujocoEnvironment.make({
    id,
    files: inlineModel(id, builtIn.xml),
    body,
    maxEpisodeSteps: clockOf(settings, builtIn.maxEpisodeSteps),
    known: isChanged ? undefined : builtIn.known,
  });
}

function bodyKeysOf(settings: object): Record<string, unknown> {
  const entries = Object.entries(settings).filter(([key, value]) => key in bodyShape && value !== undefined);
  return Object.fromEntries(entries);
}
