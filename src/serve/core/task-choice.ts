// Which task a reset means: one by id, or one by its place in a split.

import { reverieError } from '../../errors.js';
import type { Servable, TaskCard } from '../../run/index.js';
import type { ResetRequest } from './session-contract.js';

export const SPLITS = ['train', 'validation', 'test'] as const;
export type Split = (typeof SPLITS)[number];

/** Tasks of a split, in the order of the domain. */
export function tasksOf({ tasks }: Servable, split: string): readonly TaskCard[] {
  return tasks.filter((task) => task.split === split);
}

/** Splits that have tasks. */
export function splitsOf({ tasks }: Servable): Split[] {
  return SPLITS.filter((split) => tasks.some((task) => task.split === split));
}

/** Id of the task; undefined where none is chosen, which is the domain's first. @throws TASK_NOT_CHOSEN */
export function chosenTask(served: Servable, { task, split, index }: ResetRequest): string | undefined {
  if (task !== undefined) return task;
  if (split === undefined && index === undefined) return undefined;
  const wanted = split ?? splitsOf(served)[0] ?? 'train';
  const found = tasksOf(served, wanted).at(index ?? 0);
  if (found !== undefined && (index ?? 0) >= 0) return found.id;
  const splits = splitsOf(served).map((one) => `${one} ${tasksOf(served, one).length}`);
  throw reverieError('TASK_NOT_CHOSEN', {
    index: index ?? 0,
    split: wanted,
    env: served.name,
    splits: splits.join(', ') || 'it has no tasks',
  });
}
