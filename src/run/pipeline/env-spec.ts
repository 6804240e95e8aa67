// The scenario's environment, in a form that can be made anywhere: a model file by its whole path.

import { resolve } from 'node:path';
import type { EnvSpec } from '../../env/index.js';
import type { Scenario } from '../scenario.js';

export function resolvedSpec({ config, folder }: Scenario): EnvSpec {
  const { mjcf } = config.env;
  return mjcf === undefined ? config.env : { ...config.env, mjcf: resolve(folder, mjcf) };
}
