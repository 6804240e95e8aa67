// A scenario as one of a kind that is wanted.

import { reverieError } from '../core/errors.js';
import type { Kind, ScenarioOf } from '../core/kind.js';

/** The scenario itself, if it is of that kind. @throws SCENARIO_FAMILY */
export function ofKind<S extends ScenarioOf>(wanted: Kind, scenario: ScenarioOf): S {
  const { family, config } = scenario;
  if (family === wanted.name) return scenario as S;
  throw reverieError('SCENARIO_FAMILY', { name: config.name, family, wanted: wanted.name });
}
