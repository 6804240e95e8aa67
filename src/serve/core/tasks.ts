// Which environment and which task a client means, and values between memory and JSON.

import { z } from 'zod';
import type { Info } from '../../core/environment.js';
import { nameHint, reverieError } from '../../core/errors.js';
import type { ToolsStepInfo } from '../../env/tools/tools-family.js';
import { faceOf } from '../../kinds/registry.js';
import type { Servable, TaskCard } from '../../run/servable.js';
import type { Action, ResetRequest } from './session-contract.js';

export const SPLITS = ['train', 'validation', 'test'] as const;
type Split = (typeof SPLITS)[number];

/** Tasks of a split, in the order of the domain. */
export function tasksOf({ tasks }: Servable, split: string): readonly TaskCard[] {
  return tasks.filter((task) => task.split === split);
}

/** Splits that have tasks, in the order train, validation, test. */
export function splitsOf({ tasks }: Servable): Split[] {
  return SPLITS.filter((split) => tasks.some((task) => task.split === split));
}

/**
 * How an episode begins, as an environment is told; without a task the domain's first. In family `vector` a task is a seed; a
 * seed given by itself goes before that of a task.
 * @throws TASK_NOT_CHOSEN, TASK_UNKNOWN for a name that is no task's
 */
export function chosenEpisode(
  served: Servable,
  { task, split, index, seed }: ResetRequest,
): { readonly task?: string; readonly seed?: number } {
  const isOpen = (task ?? split ?? index) === undefined;
  const begun = isOpen ? undefined : task === undefined ? placedTask(served, split, index) : namedTask(served, task);
  return faceOf(served).tasks === 'id' ? { task: begun?.id, seed } : { seed: seed ?? begun?.seed };
}

/** The task at a place; the first split, and the first of it, unless given. @throws TASK_NOT_CHOSEN */
function placedTask(served: Servable, split: string | undefined, index = 0): TaskCard {
  const wanted = split ?? splitsOf(served)[0] ?? 'train';
  const found = tasksOf(served, wanted).at(index);
  if (found !== undefined && index >= 0) return found;
  const sizes = splitsOf(served).map((one) => `${one} ${tasksOf(served, one).length}`);
  const splits = sizes.join(', ') || 'it has no tasks';
  throw reverieError('TASK_NOT_CHOSEN', { index, split: wanted, env: served.name, splits });
}

/** Where tasks are seeds, any seed is one, called `seed-N`. @throws TASK_UNKNOWN */
function namedTask(served: Servable, task: string): Pick<TaskCard, 'id' | 'seed'> {
  const { name, tasks } = served;
  const [, digits] = (faceOf(served).tasks === 'id' ? null : /^seed-(\d{1,15})$/.exec(task)) ?? [];
  const found = digits === undefined ? tasks.find(({ id }) => id === task) : { id: task, seed: Number(digits) };
  if (found !== undefined) return found;
  const known = tasks.map(({ id }) => id);
  throw reverieError('TASK_UNKNOWN', { id: name, task, count: known.length, hint: nameHint(task, known) });
}

const text = z.string().max(255).nullish();
const whole = z.int().min(0).nullish();

/** What a client says of the episode it wants, in the words of protocols of tasks; some write null for what is not given. */
export const taskFields = { id: text, split: text, index: whole, seed: whole, from_snapshot: text };
type TaskRequest = Partial<z.output<z.ZodObject<typeof taskFields>>>;

/**
 * What to ask of the sessions: a snapshot goes before a task, an id before a place. The choice is checked here already, as
 * no session should be opened for a task that does not exist.
 * @throws TASK_NOT_CHOSEN
 */
export function resetOf(served: Servable, wanted: TaskRequest): ResetRequest {
  const seed = wanted.seed ?? undefined;
  if (wanted.from_snapshot != null) return { snapshot: wanted.from_snapshot, seed };
  const place = { split: wanted.split ?? undefined, index: wanted.index ?? undefined };
  const request = { ...(wanted.id == null ? place : { task: wanted.id }), seed };
  chosenEpisode(served, request);
  return request;
}

/** What TRL's OpenRewardSpec calls an environment that it was given no name of. */
const ANY = 'env';

/**
 * By its name, capitals or not, also as `owner/name`; the default one without, and for `env`.
 * @throws ENV_NOT_SERVED
 */
export function environmentOf(
  { environments, defaultEnv }: { readonly environments: ReadonlyMap<string, Servable>; readonly defaultEnv: Servable },
  name: string | undefined,
): Servable {
  if (name === undefined) return defaultEnv;
  const wanted = name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  const alike = [...environments.values()].find((one) => one.name.toLowerCase() === wanted);
  const found = environments.get(name) ?? alike ?? (wanted === ANY ? defaultEnv : undefined);
  if (found !== undefined) return found;
  throw reverieError('ENV_NOT_SERVED', { env: name, known: [...environments.keys()].join(', ') });
}

// Values as every protocol tells them.

export function encodeObservation(served: Servable, observation: unknown): unknown {
  return faceOf(served).codec.encodeObservation(observation);
}

/** An action as it came over the wire. @throws REQUEST_INVALID */
export function decodeAction(served: Servable, action: unknown): Action {
  return faceOf(served).codec.decodeAction(action) as Action;
}

/** The info of a step, with keys in snake_case. */
export function encodeInfo(info: unknown): unknown {
  if (ArrayBuffer.isView(info)) return Array.from(info as Float32Array);
  if (Array.isArray(info)) return info.map(encodeInfo);
  if (typeof info !== 'object' || info === null) return info;
  return Object.fromEntries(Object.entries(info).map(([key, one]) => [snakeCase(key), encodeInfo(one)]));
}

function snakeCase(key: string): string {
  return key.replace(/([a-z0-9])([A-Z])/g, (_, before: string, letter: string) => `${before}_${letter.toLowerCase()}`);
}

/**
 * What a client that acts in an episode may see of `info`: who answered, how sure, what it cost, and at the end the
 * verdict. Never thoughts of a simulator, changes of the hidden state or how a task is checked.
 */
export function publicInfo(info: Info): Info {
  const { predictions, verdict, stateHash, userCost: _, ...rest } = info as Partial<ToolsStepInfo> & Info;
  if (predictions === undefined && verdict === undefined)
    return stateHash === undefined ? rest : { ...rest, stateHash };
  const answered = predictions?.map(({ backend, modelVersion, confidence, isError, cost }) => {
    return { backend, modelVersion, confidence, isError, cost };
  });
  const judged = verdict && { reward: verdict.reward, judge: verdict.judge ?? null };
  return { ...rest, stateHash, ...(answered && { answered }), ...(judged && { verdict: judged }) };
}
