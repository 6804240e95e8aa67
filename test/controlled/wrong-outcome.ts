// Answers to calls that are not the right ones, and look as if they were: silent (the observation is right, the state is not) or
// visible.

import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import type { Rng } from '../../src/core/rng.js';
import { applyOperations } from '../../src/env/state/operations.js';
import { stateHash } from '../../src/env/state/state.js';
import type { CallSpec } from '../../src/env/tools/domain.js';
import type { Operation } from '../../src/env/tools/prediction.js';
import { asObject, parseJson } from './asked.js';
import type { Outcome, Truth } from './truth.js';

export function pick<T>(items: readonly T[], rng: Rng): T {
  return items[rng.int(items.length)];
}

/** Another value of the same kind; `others`: values that stand in the same place elsewhere. */
export function wrongValue(value: Json, others: readonly Json[], rng: Rng): Json {
  const alike = others.filter((other) => typeof other === typeof value && other !== value && typeof other !== 'object');
  if (alike.length > 0) return pick(alike, rng);
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + pick([1, -1, 2, 10], rng);
  if (typeof value === 'string') return wrongText(value, rng);
  if (value === null) return 'unknown';
  return wrongPart(value, rng);
}

function wrongPart(value: readonly Json[] | JsonObject, rng: Rng): Json {
  if (Array.isArray(value)) return value.length > 0 ? value.slice(0, -1) : ['unknown'];
  const keys = Object.keys(value);
  if (keys.length === 0) return { unknown: true };
  const key = pick(keys, rng);
  return { ...value, [key]: wrongValue((value as JsonObject)[key], [], rng) };
}

/** A digit changed; a text without digits, a word doubled. */
export function wrongText(text: string, rng: Rng): string {
  const digits = [...text.matchAll(/\d/g)].map(({ index }) => index);
  if (digits.length === 0) return text === '' ? 'unknown' : `${text} ${text.split(/\s+/).at(-1)}`;
  const at = pick(digits.slice(-2), rng);
  const digit = (Number(text[at]) + 1 + rng.int(8)) % 10;
  return `${text.slice(0, at)}${digit}${text.slice(at + 1)}`;
}

/** The text with an id in it that does not exist. */
export function withInventedId(text: string, rng: Rng): string {
  const ids =
    text.match(
      /[A-Z#][A-Z0-9_#]*-[A-Z0-9-]*\d[A-Z0-9-]*|\b[A-Z0-9]*\d[A-Z0-9]{4,}\b|\b[a-z]+_[a-z_]*\d{3,}|\b[a-z]+ \d+\b/g,
    ) ?? [];
  if (ids.length === 0) return `${text} (see REF-${90_000 + rng.int(10_000)})`;
  const id = pick(ids, rng);
  const invented = id.replace(/\d/g, () => String(rng.int(10))).replace(/\d$/, '9');
  return invented === id ? text.replace(id, `${id}9`) : text.replace(id, invented);
}

const TRIES = 8;

/** Operations that apply and lead to another state than `operations` do; undefined if none was found. */
export function wrongOperations(
  state: JsonObject,
  operations: readonly Operation[],
  rng: Rng,
): readonly Operation[] | undefined {
  const right = stateHash(applyOperations(state, operations));
  for (let i = 0; i < TRIES; i++) {
    const wrong = spoil(state, operations, rng);
    if (wrong !== undefined && isOther(state, wrong, right)) return wrong;
  }
  return undefined;
}

function spoil(state: JsonObject, operations: readonly Operation[], rng: Rng): readonly Operation[] | undefined {
  const kind = rng.uniform();
  if (operations.length === 0 || kind > 0.85) return invented(state, operations, rng);
  const at = rng.int(operations.length);
  if (kind < 0.45) return operations.filter((_, i) => i !== at);
  const operation = operations[at];
  if (operation.op !== 'add' && operation.op !== 'replace') return undefined;
  const value = wrongValue(operation.value, valuesAlike(state, operation.path), rng);
  return operations.map((other, i) => (i === at ? { ...operation, value } : other));
}

/** Another entity of a collection that changes is changed as well. */
function invented(state: JsonObject, operations: readonly Operation[], rng: Rng): readonly Operation[] | undefined {
  const changed = operations.map(({ path }) => path.split('/')[1]);
  const collection = pick(changed.length > 0 ? changed : Object.keys(state), rng);
  const entities = Object.entries(asObject(state[collection])).filter(([, value]) => typeof value === 'object');
  if (entities.length === 0) return undefined;
  const [key, entity] = pick(entities, rng);
  const fields = Object.entries(asObject(entity)).filter(([, value]) => typeof value !== 'object');
  if (fields.length === 0) return undefined;
  const [field, value] = pick(fields, rng);
  const path = `/${[collection, key, field].map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`;
  return [...operations, { op: 'replace', path, value: wrongValue(value, valuesAlike(state, path), rng) }];
}

/** What stands at the same place of other entities. */
function valuesAlike(state: JsonObject, path: string): Json[] {
  const [collection, , ...rest] = path.split('/').slice(1);
  const found = Object.values(asObject(state[collection])).map((entity) =>
    rest.reduce<Json | undefined>((part, key) => asObject(part)[key], entity),
  );
  return found.filter((value) => value !== undefined);
}

function isOther(state: JsonObject, operations: readonly Operation[], right: string): boolean {
  try {
    return stateHash(applyOperations(state, operations)) !== right;
  } catch {
    return false;
  }
}

export interface WrongQuery {
  readonly truth: Truth;
  readonly state: JsonObject;
  readonly call: CallSpec;
  readonly right: Outcome;
  readonly silentShare: number;
  readonly rng: Rng;
}

export function wrongOutcome(query: WrongQuery): Outcome {
  const { state, right, rng, silentShare } = query;
  const isSilent = rng.uniform() < silentShare;
  if (right.operations.length > 0 && isSilent) {
    const operations = wrongOperations(state, right.operations, rng);
    if (operations !== undefined) return { ...right, operations };
  }
  return right.isError ? playAlong(query) : visiblyWrong(query);
}

/** Makes up a failure, or a wrong detail; a write may get a wrong state with it. */
export function visiblyWrong({
  state,
  call,
  right,
  rng,
}: Pick<WrongQuery, 'state' | 'call' | 'right' | 'rng'>): Outcome {
  if (rng.uniform() < 0.35) return { operations: [], observation: madeUpError(call, rng), isError: true };
  const observation = wrongObservation(right.observation, rng);
  const isStateWrong = right.operations.length > 0 && rng.uniform() < 0.5;
  const operations = (isStateWrong ? wrongOperations(state, right.operations, rng) : undefined) ?? right.operations;
  return { operations, observation, isError: false };
}

const REASONS = ['is locked by another process', 'could not be found', 'may not be changed in this state'];

function madeUpError({ name, arguments: given }: CallSpec, rng: Rng): string {
  const subject = Object.values(given).find((value) => typeof value === 'string') ?? name;
  return `Error: ${subject} ${pick(REASONS, rng)}`;
}

function wrongObservation(observation: string, rng: Rng): string {
  const value = parseJson(observation);
  if (typeof value !== 'object' || value === null) return wrongText(observation, rng);
  return JSON.stringify(wrongLeaf(value, rng));
}

function wrongLeaf(value: Json, rng: Rng): Json {
  if (typeof value !== 'object' || value === null) return wrongValue(value, [], rng);
  if (Array.isArray(value)) {
    if (value.length === 0) return ['unknown'];
    const at = rng.int(value.length);
    return value.map((part, i) => (i === at ? wrongLeaf(part, rng) : part));
  }
  const keys = Object.keys(value);
  if (keys.length === 0) return { status: 'done' };
  const key = pick(keys, rng);
  return { ...value, [key]: wrongLeaf((value as JsonObject)[key], rng) };
}

/** Success where the call must fail: as for another entity, under the name that was asked for. */
function playAlong({ truth, state, call, rng }: WrongQuery): Outcome {
  for (const [key, asked] of Object.entries(call.arguments)) {
    if (typeof asked !== 'string') continue;
    for (const other of otherIds(state, asked, rng)) {
      const answer = truth.outcome(state, { name: call.name, arguments: { ...call.arguments, [key]: other } });
      if (answer.isError) continue;
      const renamed = JSON.parse(JSON.stringify(answer).replaceAll(other, asked)) as Outcome;
      return renamed;
    }
  }
  return { operations: [], observation: '{"status":"done"}', isError: false };
}

/** Up to three other keys of the state that look like this one. */
function otherIds(state: JsonObject, asked: string, rng: Rng): string[] {
  const shape = (id: string) => id.replace(/\d+/g, '9').slice(0, 4);
  const keys = Object.values(state).flatMap((part) => Object.keys(asObject(part)));
  const alike = keys.filter((key) => key !== asked && shape(key) === shape(asked));
  return alike.length === 0 ? [] : [pick(alike, rng), pick(alike, rng), pick(alike, rng)];
}
