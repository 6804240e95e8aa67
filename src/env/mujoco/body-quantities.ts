// What a body shows, is paid for and ends by: its expressions resolved against one model.

import { reverieError } from '../../core/errors.js';
import type { BodySpec, Termination } from './body-spec.js';
import { type ExpressionScope, scalarOf, scalarsOf } from './expression.js';
import type { Scalar } from './scalar.js';

export interface BodyQuantities {
  readonly observation: readonly Scalar[];
  readonly reward: readonly { name: string; weight: number; of: Scalar }[];
  readonly termination: readonly { of: readonly Scalar[]; range: Termination }[];
}

export function quantitiesOf(body: BodySpec, scope: ExpressionScope): BodyQuantities {
  return {
    observation: body.observation.flatMap((expression) => lifeless(scalarsOf(expression, scope))),
    reward: body.reward.map(({ name, of, weight }) => ({
      name,
      weight,
      of: scalarOf(of, scope, `Reward term "${name}"`),
    })),
    termination: body.termination.map((range) => ({ of: lifeless(scalarsOf(range.of, scope)), range })),
  };
}

/** Whether the episode goes on is decided after observing, so only a reward can ask for it. */
function lifeless(scalars: Scalar[]): Scalar[] {
  if (!scalars.some(({ key }) => key.includes('alive['))) return scalars;
  throw reverieError('ENV_SPEC_INVALID', { problem: '"alive" can be used in reward terms only.' });
}
