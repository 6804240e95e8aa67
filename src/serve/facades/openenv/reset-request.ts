// What may stand in a reset: the reference's seed and episode_id, and which task is begun.

import { z } from 'zod';
import { reverieError } from '../../../core/errors.js';
import type { Servable } from '../../../run/index.js';
import type { ResetRequest } from '../../core/session-contract.js';
import { resetOf, splitNames } from '../task-specs.js';
import { checkedMessage, fieldInvalid } from './field-errors.js';

const text = z.string().max(255);

/** A task by its id, or its whole card as the task routes tell it. */
const taskSchema = z.union([text, z.looseObject({ id: text })]);

export const resetSchema = z
  .looseObject({
    seed: z.int().min(0).nullish().describe('Seeds the episode: the same one, the same episode'),
    episode_id: text.nullish().describe("The caller's own name for the episode"),
    task: taskSchema.nullish().describe('A task by its id, or as the task routes tell it'),
    task_id: text.nullish().describe('The same by its id'),
    id: text.nullish().describe("The same, as a task's own keys may be given"),
    split: text.nullish().describe('train, validation or test'),
    index: z.int().min(0).nullish().describe('Place of the task within its split'),
    from_snapshot: text.nullish().describe('Goes on from a snapshot of the native API instead of starting a task'),
  })
  .describe('How an episode begins');

const KNOWN: ReadonlyMap<string, string> = new Map(
  Object.keys(resetSchema.shape).map((key) => [withoutPunctuation(key), key]),
);

/**
 * Keys that no episode knows are dropped, as by the reference; but one that is ours in other letters is refused, as an
 * episode of another task than was meant would go unseen.
 * @throws MessageInvalid, TASK_NOT_CHOSEN
 */
export function readReset(served: Servable, data: unknown, at: readonly string[]): ResetRequest {
  const read = checkedMessage(resetSchema, data, at);
  for (const key of Object.keys(read)) {
    const meant = KNOWN.get(withoutPunctuation(key));
    if (meant !== undefined && meant !== key) throw fieldInvalid([...at, key], `It is called "${meant}"`, read[key]);
  }
  const { seed, episode_id: episodeId, task, task_id: taskId, id, split, index, from_snapshot: snapshot } = read;
  const named = (typeof task === 'object' ? task?.id : task) ?? taskId ?? id ?? undefined;
  const wish = { split: split ?? undefined, index: index ?? undefined, from_snapshot: snapshot ?? undefined };
  const wanted = served.family === 'vector' ? seedOf(served, seed, named) : { seed: seed ?? undefined, id: named };
  return { ...resetOf(served, { ...wish, ...wanted }), episodeId: episodeId ?? undefined };
}

/** There a task is a seed, called `seed-N`. @throws TASK_NOT_CHOSEN */
function seedOf(served: Servable, seed: number | null | undefined, named: string | undefined) {
  if (seed !== null && seed !== undefined) return { seed };
  if (named === undefined) return {};
  const [, digits] = /^seed-(\d{1,15})$/.exec(named) ?? [];
  if (digits !== undefined) return { seed: Number(digits) };
  const splits = splitNames(served).join(', ');
  throw reverieError('TASK_NOT_CHOSEN', { index: `"${named}"`, split: 'any', env: served.name, splits });
}

/** `taskId`, `task-id` and `Task_ID` are one. */
function withoutPunctuation(key: string): string {
  return key.toLowerCase().replace(/[^a-z]/g, '');
}
