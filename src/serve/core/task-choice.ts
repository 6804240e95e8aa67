// Which task a reset means: one by id, or one by its place in a split. In family `vector` a task is a seed.

import { reverieError } from '../../core/errors.js';
import { faceOf } from '../../kinds/index.js';
import type { Servable, TaskCard } from '../../run/serving/index.js';
import type { ResetRequest, Sessions } from './session-contract.js';

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
  if (faceOf(served).tasks === 'id') return { task: task ?? place?.id, seed };
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

// What there is to do in an environment, as protocols of tasks have it.

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
export type TaskRequest = Partial<Pick<TaskSpec, 'id' | 'split' | 'index' | 'seed'>> & {
  readonly from_snapshot?: string;
};

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

/**
 * What to ask of the sessions: a snapshot goes before a task, an id before a place. The choice is checked here already, as
 * no session should be opened for a task that is not there.
 * @throws TASK_NOT_CHOSEN
 */
export function resetOf(
  served: Servable,
  { id, split, index, seed, from_snapshot: snapshot }: TaskRequest,
): ResetRequest {
  if (snapshot !== undefined) return { snapshot, seed };
  const request = id === undefined ? { split, index, seed } : { task: id, seed };
  chosenEpisode(served, request);
  return request;
}

function specOf({ id, split, family, tags = [], seed }: TaskCard, index: number): TaskSpec {
  return { id, split, index, group: family ?? null, tags, ...(seed === undefined ? {} : { seed }) };
}

// Which environment a client means by a name, where its protocol lets names be loose.

/** What TRL's OpenRewardSpec calls an environment that it was given no name of. */
const ANY = 'env';

/**
 * By its name, without regard to case; the first one served for no name, for `env`, and for any name where only one is
 * served. Of `owner/name` the name counts.
 * @throws ENV_NOT_SERVED where several are served and it is none of them
 */
export function environmentNamed({ environments, defaultEnv }: Sessions, name: string | undefined): Servable {
  if (name === undefined) return defaultEnv;
  const wanted = name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  const found = environments.get(name) ?? [...environments.values()].find((one) => one.name.toLowerCase() === wanted);
  if (found !== undefined) return found;
  if (environments.size === 1 || wanted === ANY) return defaultEnv;
  throw reverieError('ENV_NOT_SERVED', { env: name, known: [...environments.keys()].join(', ') });
}

// An environment by the name in a path.

/** By its name, capitals or not (OpenEnv's Task API); the default one without. @throws ENV_NOT_SERVED */
export function servedByName({ environments, defaultEnv }: Sessions, name: string | undefined): Servable {
  if (name === undefined) return defaultEnv;
  const exact = environments.get(name);
  const served = exact ?? [...environments.values()].find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (served !== undefined) return served;
  throw reverieError('ENV_NOT_SERVED', { env: name, known: [...environments.keys()].join(', ') });
}
