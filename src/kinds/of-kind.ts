// A scenario as one of a kind that is wanted.

import { reverieError } from '../core/errors.js';
import type { Kind, ScenarioOf } from '../core/kind.js';

/** The scenario itself, if it is of that kind. @throws SCENARIO_UNFIT */
export function ofKind<S extends ScenarioOf>(wanted: Kind, scenario: ScenarioOf): S {
  const { family, config } = scenario;
  if (family === wanted.name) return scenario as S;
  throw reverieError('SCENARIO_UNFIT', {
    problem: `Scenario "${config.name}" is of family ${family}; this is for scenarios of family ${wanted.name}.`,
    hint: 'reverie scenarios lists the built-in ones; docs/tools.md says what can be done with which family.',
  });
}
