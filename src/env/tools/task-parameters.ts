// Tasks with parameters: one entry of tasks.yaml that stands for many tasks, one for each fitting choice of records of the data.

import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { nearest } from '../../core/errors.js';
import type { ToolsTask } from './domain.js';

export interface TaskParameter {
  /** Collection of the data. */
  readonly of: string;
  /** The record with this id: usually a field of an earlier parameter. */
  readonly is?: string;
  /** What its fields are; a list: one of these. */
  readonly where?: JsonObject;
}

export type ParameterisedTask = ToolsTask & {
  readonly parameters?: Readonly<Record<string, TaskParameter>>;
  /** Most tasks that are made of it. */
  readonly instances?: number;
};

const INSTANCES = 8;
/** Choices that are looked at before some of them are taken. */
const MOST_CHOICES = 10_000;

interface Chosen {
  readonly id: string;
  readonly record: JsonObject;
}
type Choice = ReadonlyMap<string, Chosen>;

/** What is wrong with a task's parameters, told of the first that is. */
export class ParameterFault extends Error {}

/**
 * The tasks, each with parameters replaced by its instances: choices in the order of the data, evenly taken where there are more than
 * are wanted. The same data give the same tasks.
 * @throws ParameterFault
 */
export function withInstances(tasks: readonly ParameterisedTask[], state: JsonObject): ToolsTask[] {
  return tasks.flatMap((task) => (task.parameters === undefined ? [task] : instancesOf(task, task.parameters, state)));
}

function instancesOf(
  { parameters: _, instances = INSTANCES, ...task }: ParameterisedTask,
  parameters: NonNullable<ParameterisedTask['parameters']>,
  state: JsonObject,
): ToolsTask[] {
  const choices = choicesOf(task.id, Object.entries(parameters), state);
  if (choices.length === 0) throw new ParameterFault(`task "${task.id}": no records of the data fit its parameters`);
  const count = Math.min(instances, choices.length);
  const taken = Array.from({ length: count }, (_, i) => choices[Math.floor((i * choices.length) / count)]);
  const { id, family, ...parts } = task;
  return taken.map((choice) => {
    const filled = fill(parts as unknown as JsonObject, choice, id) as unknown as Omit<ToolsTask, 'id' | 'family'>;
    return { id: [id, ...[...choice.values()].map((chosen) => chosen.id)].join('.'), family, ...filled };
  });
}

function choicesOf(
  task: string,
  parameters: readonly (readonly [string, TaskParameter])[],
  state: JsonObject,
): Choice[] {
  return parameters.reduce<Choice[]>(
    (choices, [name, parameter]) => {
      const collection = state[parameter.of];
      if (!isJsonObject(collection)) {
        throw new ParameterFault(
          `task "${task}": parameter "${name}" is of "${parameter.of}", which is no collection of the data`,
        );
      }
      const further = choices.flatMap((choice) =>
        fitting(collection, parameter, choice, task).map((chosen) => new Map(choice).set(name, chosen)),
      );
      return further.slice(0, MOST_CHOICES);
    },
    [new Map()],
  );
}

/** Records that a parameter may be, given those before it; none is chosen twice. */
function fitting(collection: JsonObject, { is, where = {} }: TaskParameter, choice: Choice, task: string): Chosen[] {
  const wanted = fill(where, choice, task);
  const id = is === undefined ? undefined : fill(is, choice, task);
  const taken = new Set([...choice.values()].map(({ record }) => record));
  return Object.entries(collection).flatMap(([key, record]): Chosen[] => {
    const isFit =
      isJsonObject(record) && !taken.has(record) && (id === undefined || id === key) && fits(record, wanted);
    return isFit ? [{ id: key, record }] : [];
  });
}

function fits(record: JsonObject, wanted: JsonObject): boolean {
  return Object.entries(wanted).every(([field, value]) => {
    const now = canonicalJson(record[field] ?? null);
    return (Array.isArray(value) ? value : [value]).some((one) => canonicalJson(one) === now);
  });
}

const PLACE = /\{([A-Za-z_]\w*)((?:\.\w+)*)\}/g;

/** The value with `{name}` as the id of a chosen record and `{name.field}` as a field of it; a text that is one place only keeps the field's type. */
function fill<V extends Json>(value: V, choice: Choice, task: string): V {
  const filled = (part: Json): Json => {
    if (typeof part === 'string') return filledText(part, choice, task);
    if (Array.isArray(part)) return part.map(filled);
    if (!isJsonObject(part)) return part;
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, filled(inner)]));
  };
  return filled(value) as V;
}

function filledText(text: string, choice: Choice, task: string): Json {
  const found = [...text.matchAll(PLACE)];
  if (found.length === 1 && found[0][0] === text) return placedValue(found[0], choice, task);
  return text.replaceAll(PLACE, (...match) => {
    const value = placedValue(match as unknown as RegExpMatchArray, choice, task);
    return typeof value === 'string' ? value : canonicalJson(value);
  });
}

function placedValue([place, name, path]: RegExpMatchArray, choice: Choice, task: string): Json {
  const chosen = choice.get(name);
  if (chosen === undefined) {
    const known = nearest(name, [...choice.keys()]);
    const hint = known === undefined ? '' : ` (did you mean "${known}"?)`;
    throw new ParameterFault(`task "${task}": ${place} stands for no parameter${hint}`);
  }
  if (path === '') return chosen.id;
  const value = path
    .slice(1)
    .split('.')
    .reduce<Json | undefined>(
      (part, key) => (isJsonObject(part) && Object.hasOwn(part, key) ? part[key] : undefined),
      chosen.record,
    );
  if (value === undefined) throw new ParameterFault(`task "${task}": ${place}: ${chosen.id} has no such field`);
  return value;
}
