// What there is to do in an environment, as protocols of tasks have it: splits, and in each a list of tasks. In family
// `vector` seeds are the tasks.

import { reverieError } from '../../errors.js';
import type { Servable } from '../../run/index.js';
import type { ResetRequest } from '../core/session-contract.js';
import { splitsOf, tasksOf } from '../core/task-choice.js';

/** Seeds offered as tasks of a vector environment: [first, how many]. Any other seed may be asked for by itself. */
export const SEED_SPLITS: Readonly<Record<string, readonly [first: number, count: number]>> = {
  train: [0, 1000],
  test: [1_000_000, 100],
};

/** A task as it stands in lists and is given back to start it; plain JSON. */
export interface TaskSpec {
  readonly id: string;
  readonly split: string;
  readonly index: number;
  readonly seed?: number;
  readonly family?: string;
  readonly tags?: readonly string[];
}

/** What a client says of the episode it wants; all optional. */
export type TaskWish = Partial<Pick<TaskSpec, 'id' | 'split' | 'index' | 'seed'>> & { readonly from_snapshot?: string };

/** Splits that have tasks, in the order train, validation, test. */
export function splitNames(served: Servable): readonly string[] {
  return served.family === 'vector' ? Object.keys(SEED_SPLITS) : splitsOf(served);
}

/** @throws TASK_NOT_CHOSEN for a split without tasks */
export function taskCount(served: Servable, split: string): number {
  if (!splitNames(served).includes(split)) throw notChosen(served, split, 0);
  return served.family === 'vector' ? SEED_SPLITS[split][1] : tasksOf(served, split).length;
}

/** @throws TASK_NOT_CHOSEN */
export function taskSpec(served: Servable, split: string, index: number): TaskSpec {
  const isThere = Number.isInteger(index) && index >= 0 && index < taskCount(served, split);
  if (!isThere) throw notChosen(served, split, index);
  if (served.family === 'vector') {
    const seed = SEED_SPLITS[split][0] + index;
    return { id: `seed-${seed}`, split, index, seed };
  }
  const { id, family, tags } = tasksOf(served, split)[index];
  return { id, split, index, ...(family === undefined ? {} : { family }), ...(tags === undefined ? {} : { tags }) };
}

/** What to ask of the sessions for this wish; an explicit seed goes before that of a task. @throws TASK_NOT_CHOSEN */
export function resetOf(served: Servable, { id, split, index, seed, from_snapshot: snapshot }: TaskWish): ResetRequest {
  if (snapshot !== undefined) return { snapshot, seed };
  const isChosen = split !== undefined || index !== undefined;
  if (served.family !== 'vector') return { ...(id === undefined ? { split, index } : { task: id }), seed };
  if (seed !== undefined || !isChosen) return { seed };
  return { seed: taskSpec(served, split ?? 'train', index ?? 0).seed };
}

function notChosen(served: Servable, split: string, index: number) {
  const sizes = splitNames(served).map((one) => `${one} ${taskCount(served, one)}`);
  const values = { index, split, env: served.name, splits: sizes.join(', ') || 'it has no tasks' };
  return reverieError('TASK_NOT_CHOSEN', values);
}
