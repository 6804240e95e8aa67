// Which environment a client means by a name, where its protocol lets names be loose.

import { reverieError } from '../../core/errors.js';
import type { Servable } from '../../run/index.js';
import type { Sessions } from '../core/session-contract.js';

/** What TRL's OpenRewardSpec calls an environment that it was given no name of. */
const ANY = 'env';

/**
 * By its name, without regard to case; the first one served for no name, for `env`, and for any name where only one is
 * served. Of `owner/name` the name counts.
 * @throws ENV_NOT_SERVED where several are served and it is none of them
 */
export function environmentNamed({ environments, defaultEnv }: Sessions, name: string | undefined): Servable {
  if (name === undefined) return defaultEnv;
  const wanted = name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  const found = environments.get(name) ?? [...environments.values()].find((one) => one.name.toLowerCase() === wanted);
  if (found !== undefined) return found;
  if (environments.size === 1 || wanted === ANY) return defaultEnv;
  throw reverieError('ENV_NOT_SERVED', { env: name, known: [...environments.keys()].join(', ') });
}
