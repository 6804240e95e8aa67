// An environment by the name in a path.

import { reverieError } from '../../core/errors.js';
import type { Servable } from '../../run/index.js';
import type { Sessions } from '../core/session-contract.js';

/** By its name, capitals or not (OpenEnv's Task API); the default one without. @throws ENV_NOT_SERVED */
export function servedByName({ environments, defaultEnv }: Sessions, name: string | undefined): Servable {
  if (name === undefined) return defaultEnv;
  const exact = environments.get(name);
  const served = exact ?? [...environments.values()].find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (served !== undefined) return served;
  throw reverieError('ENV_NOT_SERVED', { env: name, known: [...environments.keys()].join(', ') });
}
