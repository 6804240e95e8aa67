// A learner by its name, as scenarios and checkpoints say it.

import { reverieError } from '../core/errors.js';
import type { Rng } from '../core/rng.js';
import { makeBc } from './bc.js';
import type { Learner, LearnerKind } from './learner.js';
import { makePpo } from './ppo.js';
import { makeSac } from './sac.js';
import type { Spaces } from './spaces.js';

type Maker = (config: Record<string, unknown>, spaces: Spaces, rng: Rng) => Promise<Learner>;

const MAKERS: Record<LearnerKind, Maker> = { sac: makeSac, ppo: makePpo, bc: makeBc };

/** Throws LEARNER_CONFIG_INVALID for an unknown kind or setting, SPACE_UNSUPPORTED for spaces it cannot learn in. */
export async function makeLearner(
  kind: LearnerKind,
  config: Record<string, unknown>,
  spaces: Spaces,
  rng: Rng,
): Promise<Learner> {
  if (Object.hasOwn(MAKERS, kind)) return MAKERS[kind](config, spaces, rng);
  const known = Object.keys(MAKERS).join(', ');
  throw reverieError('LEARNER_CONFIG_INVALID', {
    learner: 'learner',
    problem: `no learner is called "${kind}"; known: ${known}`,
  });
}
