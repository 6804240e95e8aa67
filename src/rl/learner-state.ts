// Checks at a learner's border: its settings, and a state it is asked to go on from.

import type { z } from 'zod';
import { describeIssues, nearest, reverieError } from '../core/errors.js';
import type { LearnerState } from './learner.js';
import type { Spaces } from './spaces.js';

/** Settings with their defaults filled in. Throws SETTING_INVALID naming the setting and, if misspelt, its neighbour. */
export function parseConfig<T extends z.ZodObject>(learner: string, schema: T, config: unknown): z.infer<T> {
  const parsed = schema.safeParse(config);
  if (parsed.success) return parsed.data;
  const unknown = parsed.error.issues.find((issue) => issue.code === 'unrecognized_keys');
  const near = unknown && nearest(unknown.keys[0], Object.keys(schema.shape));
  const hint = near ? ` Did you mean "${near}"?` : '';
  throw reverieError('SETTING_INVALID', {
    problem: `Settings of the ${learner}: ${`${describeIssues(parsed.error)}.${hint}`}`,
    hint: 'See src/rl/config.ts for every setting, its meaning and its default.',
  });
}

/** The spaces alone, whatever object declared them. */
export function plainSpaces({ observationSpace, actionSpace }: Spaces): Spaces {
  return { observationSpace, actionSpace };
}

/**
 * Copies of the arrays of `state`, if it is a state of a learner like this: same kind, spaces and array sizes.
 * Throws CHECKPOINT_CORRUPT.
 */
export function checkedArrays(
  learner: { readonly kind: string; readonly spaces: Spaces },
  arrays: Readonly<Record<string, Float32Array>>,
  state: LearnerState,
): Record<string, Float32Array> {
  const { meta } = state;
  if (meta.kind !== learner.kind) throw misfit(`it holds a ${meta.kind} learner, not ${learner.kind}`);
  if (JSON.stringify(plainSpaces(meta.spaces)) !== JSON.stringify(plainSpaces(learner.spaces))) {
    throw misfit('it was learnt for other observation or action spaces');
  }
  const copies: Record<string, Float32Array> = {};
  for (const [name, own] of Object.entries(arrays)) {
    const found = state.arrays[name];
    if (found?.length !== own.length) {
      throw misfit(`array "${name}" has ${found?.length ?? 'no'} elements where this network has ${own.length}`);
    }
    copies[name] = found.slice();
  }
  return copies;
}

function misfit(problem: string): Error {
  return reverieError('CHECKPOINT_CORRUPT', { path: 'learner state', problem });
}
