// The states tasks begin with and are meant to end in; each is made once a task and shared.

import { canonicalJson } from '../../core/canonical-json.js';
import { nearest, type ReverieError, reverieError } from '../../core/errors.js';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { applyOperations } from '../state/operations.js';
import { pointerKeys } from '../state/pointer.js';
import { compileSchema, type SchemaCheck } from '../state/schema.js';
import { callChecks } from './call-checks.js';
import type { CallSpec, ToolsDomain, ToolsTask } from './domain.js';

type PerTask = WeakMap<ToolsTask, JsonObject>;

const initial = new WeakMap<JsonObject, PerTask>();
const reference = new WeakMap<JsonObject, WeakMap<object, PerTask>>();

/**
 * The state the task begins with: the domain's, changed by the task's own operations. The same object every time.
 * @throws OPERATION_INVALID if these do not apply
 */
export function initialStateOf(domain: ToolsDomain, task: ToolsTask): JsonObject {
  if (!task.initialOperations?.length) return domain.initialState;
  const states = at(initial, domain.initialState, () => new WeakMap());
  return at(states, task, () => applyOperations(domain.initialState, task.initialOperations ?? []));
}

/** The state after the task's reference calls, by the domain's rules; undefined where these do not know all of them. */
export function referenceStateOf(domain: ToolsDomain, task: ToolsTask): JsonObject | undefined {
  const { rules } = domain;
  const calls = task.reference?.calls;
  if (rules === undefined || calls === undefined) return undefined;
  if (calls.some(({ name }) => !rules.tools.has(name))) return undefined;
  const ofRules = at(reference, domain.initialState, () => new WeakMap<object, PerTask>());
  const states = at(ofRules, rules, () => new WeakMap());
  return at(states, task, () =>
    calls.reduce(
      (state, call, i) => {
        const { operations } = rules.execute(state, { ...call, id: `reference-${i}` });
        return applyOperations(state, operations);
      },
      initialStateOf(domain, task),
    ),
  );
}

function at<K extends object, V>(map: WeakMap<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

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

/**
 * All but what the rules have to say.
 * @param file what the tasks are called in errors
 * @throws DOMAIN_INVALID
 */
export function checkTasks(domain: ToolsDomain, file: string): void {
  const stateCheck = compileSchema(domain.stateSchema, 'the state');
  const seen = new Set<string>();
  for (const task of domain.tasks) {
    const problem = seen.has(task.id) ? 'another task has the same id' : problemOfTask(domain, task, stateCheck);
    if (problem !== undefined) throw invalid(file, task, problem);
    seen.add(task.id);
  }
}

/**
 * @param checks names of the checks that the rules have
 * @throws DOMAIN_INVALID if a task asks for another one
 */
export function checkNamedChecks({ tasks }: ToolsDomain, checks: ReadonlySet<string>, file: string): void {
  for (const task of tasks) {
    const unknown = task.verifier.checks?.find((name) => !checks.has(name));
    if (unknown === undefined) continue;
    const known = nearest(unknown, [...checks]);
    const hint = known === undefined ? '' : ` (did you mean "${known}"?)`;
    throw invalid(file, task, `verifier: the rules have no check "${unknown}"${hint}`);
  }
}

function problemOfTask(domain: ToolsDomain, task: ToolsTask, stateCheck: SchemaCheck): string | undefined {
  return (
    problemOfUser(task) ??
    problemOfStart(domain, task, stateCheck) ??
    problemOfCalls(domain, task) ??
    problemOfVerifier(task)
  );
}

function problemOfUser({ user }: ToolsTask): string | undefined {
  for (const { when } of user.script ?? []) {
    if (when === undefined) continue;
    try {
      new RegExp(when, 'i');
    } catch (error) {
      return `user.script: ${(error as Error).message}`;
    }
  }
  return undefined;
}

function problemOfStart(domain: ToolsDomain, task: ToolsTask, stateCheck: SchemaCheck): string | undefined {
  if (!task.initialOperations?.length) return undefined;
  try {
    const problems = stateCheck(initialStateOf(domain, task));
    if (problems.length > 0) return `initialOperations: the state no longer fits its schema: ${problems.join('; ')}`;
  } catch (error) {
    return `initialOperations: ${(error as Error).message}`;
  }
  return undefined;
}

/** Reference and failures must be calls that reach a backend; of verified calls, what is given must be an argument. */
function problemOfCalls({ tools }: ToolsDomain, { reference, failures, verifier }: ToolsTask): string | undefined {
  const check = callChecks(tools);
  const problemOf = (where: string, calls: readonly CallSpec[]) => {
    const problems = calls.flatMap((call, i) => check.problems(call).map((problem) => `${where} ${i + 1}: ${problem}`));
    return problems[0];
  };
  const listed: [string, readonly CallSpec[]][] = [
    ['reference, call', reference?.calls ?? []],
    ...(failures ?? []).map(({ name, calls }) => [`failure "${name}", call`, calls] as [string, readonly CallSpec[]]),
  ];
  const known = tools.map(({ name }) => name);
  const named = [...(verifier.called ?? []).map(({ name }) => name), ...(verifier.notCalled ?? [])];
  const unknown = named.find((name) => !known.includes(name));
  if (unknown !== undefined) return `verifier: unknown tool "${unknown}" (did you mean "${nearest(unknown, known)}"?)`;
  return listed.map(([where, calls]) => problemOf(where, calls)).find((problem) => problem !== undefined);
}

function problemOfVerifier({ verifier, reference }: ToolsTask): string | undefined {
  const parts = Object.values(verifier).flatMap((part) => part ?? []);
  if (parts.length === 0) return 'verifier: it verifies nothing, so that every episode would pass';
  if (verifier.state === 'reference' && reference === undefined) {
    return 'verifier: "state: reference" needs the reference calls';
  }
  for (const { path, equals, exists } of verifier.assert ?? []) {
    if (pointerKeys(path) === undefined) return `verifier.assert: "${path}" is no JSON Pointer: it must begin with "/"`;
    if (equals === undefined && exists === undefined) return `verifier.assert: ${path} needs "equals" or "exists"`;
  }
  return undefined;
}

function invalid(file: string, { id }: ToolsTask, problem: string): ReverieError {
  return reverieError('DOMAIN_INVALID', {
    file,
    problem: `task "${id}": ${problem}`,
    hint: 'Correct the task; the verifier must be able to tell success from failure.',
  });
}
