// What clients of the Open Reward Standard send. Its Python models write null for what is not given.

import { z } from 'zod';
import type { TaskWish } from '../task-specs.js';

const taskSpec = z.looseObject({
  id: z.string().nullish(),
  split: z.string().nullish(),
  index: z.int().min(0).nullish(),
  seed: z.int().min(0).nullish(),
  from_snapshot: z.string().nullish().describe('A snapshot to go on from'),
});

export const createBody = z
  .strictObject({
    env_name: z.string().nullish(),
    task_spec: taskSpec.nullish().describe('A task as it came from the lists of tasks, or parts of one'),
    split: z.string().nullish(),
    index: z.int().min(0).nullish(),
    secrets: z.record(z.string(), z.unknown()).nullish().describe('Not used here, and not kept'),
    toolset_name: z.null().optional().describe('Toolsets are of environments in Python'),
  })
  .refine(({ task_spec, split, index }) => (task_spec == null) === (split != null && index != null), {
    error: 'give either task_spec or both split and index',
  });

export const callBody = z.strictObject({
  name: z.string().max(255),
  input: z.record(z.string(), z.json()),
  task_id: z.string().max(255).nullish().describe('Of a call whose stream broke: its answer, without a second step'),
});

export const sessionHeader = z.object({ 'x-session-id': z.string().trim().min(1).max(255) });

/** What is wished for, without the nulls. */
export function wishIn({ task_spec: spec, split, index }: z.infer<typeof createBody>): TaskWish {
  const { id, seed, from_snapshot, ...place } = spec ?? { split, index };
  return {
    id: given(id),
    split: given(place.split),
    index: given(place.index),
    seed: given(seed),
    from_snapshot: given(from_snapshot),
  };
}

function given<T>(value: T | null | undefined): T | undefined {
  return value ?? undefined;
}
