// A wrong answer to a call: silent (the observation is right, the state is not) or visible.

import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import type { Rng } from '../../src/core/rng.js';
import type { CallSpec } from '../../src/env/tools/domain.js';
import { asObject, parseJson } from './asked.js';
import type { Outcome, Truth } from './truth.js';
import { wrongOperations } from './wrong-operations.js';
import { pick, wrongText, wrongValue } from './wrong-values.js';

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
