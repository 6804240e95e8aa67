// Which task a reset means: one by id, or one by its place in a split. In family `vector` a task is a seed.

import { reverieError } from '../../core/errors.js';
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

/** How an episode begins, as an environment is told. */
export interface ChosenEpisode {
  /** Its id; undefined where none is chosen, which is the domain's first. */
  readonly task?: string;
  readonly seed?: number;
}

/** A seed given by itself goes before that of a task. @throws TASK_NOT_CHOSEN, TASK_UNKNOWN for a seed that is no task */
export function chosenEpisode(served: Servable, { task, split, index, seed }: ResetRequest): ChosenEpisode {
  const isPlaced = task === undefined && (split !== undefined || index !== undefined);
  const place = isPlaced ? placedTask(served, split, index ?? 0) : undefined;
  if (served.family !== 'vector') return { task: task ?? place?.id, seed };
  return { seed: seed ?? place?.seed ?? (task === undefined ? undefined : seedOf(served, task)) };
}

/** The task at a place; the first split unless given. @throws TASK_NOT_CHOSEN */
export function placedTask(served: Servable, split: string | undefined, index: number): TaskCard {
  const wanted = split ?? splitsOf(served)[0] ?? 'train';
  const found = tasksOf(served, wanted).at(index);
  if (found !== undefined && index >= 0) return found;
  const sizes = splitsOf(served).map((one) => `${one} ${tasksOf(served, one).length}`);
  const splits = sizes.join(', ') || 'it has no tasks';
  throw reverieError('TASK_NOT_CHOSEN', { index, split: wanted, env: served.name, splits });
}

function seedOf({ name, tasks }: Servable, task: string): number | undefined {
  const found = tasks.find(({ id }) => id === task);
  if (found !== undefined) return found.seed;
  throw reverieError('TASK_UNKNOWN', { id: name, task, count: tasks.length, nearest: tasks[0]?.id ?? 'none' });
}
