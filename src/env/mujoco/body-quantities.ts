// What a body shows, is paid for and ends by: its expressions resolved against one model.

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
    observation: body.observation.flatMap((expression) => scalarsOf(expression, scope)),
    reward: body.reward.map(({ name, of, weight }) => ({
      name,
      weight,
      of: scalarOf(of, scope, `Reward term "${name}"`),
    })),
    termination: body.termination.map((range) => ({ of: scalarsOf(range.of, scope), range })),
  };
}
