// What there is to do in an environment, as protocols of tasks have it.

import type { Servable, TaskCard } from '../../run/index.js';
import type { ResetRequest } from '../core/session-contract.js';
import { chosenEpisode, placedTask, splitsOf, tasksOf } from '../core/task-choice.js';

/**
 * A task as protocols hand it on, to be given back to start it. Each key becomes a column of a trainer's dataset, so all
 * tasks of an environment have the same. `group` is OpenEnv's word for tasks of one kind (RFC 013); `seed` is there in
 * family `vector`.
 */
export interface TaskSpec {
  readonly id: string;
  readonly split: string;
  readonly index: number;
  readonly group: string | null;
  readonly tags: readonly string[];
  readonly seed?: number;
}

/** What a client says of the episode it wants; all optional. */
export type TaskWish = Partial<Pick<TaskSpec, 'id' | 'split' | 'index' | 'seed'>> & { readonly from_snapshot?: string };

/** Splits that have tasks, in the order train, validation, test. */
export function splitNames(served: Servable): readonly string[] {
  return splitsOf(served);
}

export function taskCount(served: Servable, split: string): number {
  return tasksOf(served, split).length;
}

/** @throws TASK_NOT_CHOSEN */
export function taskSpec(served: Servable, split: string, index: number): TaskSpec {
  return specOf(placedTask(served, split, index), index);
}

/** All of a split, in the order of the domain. */
export function taskSpecs(served: Servable, split: string): readonly TaskSpec[] {
  return tasksOf(served, split).map(specOf);
}

/**
 * What to ask of the sessions: a snapshot goes before a task, an id before a place. The choice is checked here already, as
 * no session should be opened for a task that is not there.
 * @throws TASK_NOT_CHOSEN
 */
export function resetOf(served: Servable, { id, split, index, seed, from_snapshot: snapshot }: TaskWish): ResetRequest {
  if (snapshot !== undefined) return { snapshot, seed };
  const request = id === undefined ? { split, index, seed } : { task: id, seed };
  chosenEpisode(served, request);
  return request;
}

function specOf({ id, split, family, tags = [], seed }: TaskCard, index: number): TaskSpec {
  return { id, split, index, group: family ?? null, tags, ...(seed === undefined ? {} : { seed }) };
}
