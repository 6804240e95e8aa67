// What the environment checker looks at in one step: types, shapes, finite numbers; and when two steps are the same.

import type { Environment, StepResult } from '../core/environment.js';
import { contains, describeSpace, rowSize } from './space-values.js';

export type StepRecord = StepResult<unknown>;

/** Everything wrong with one answer of `step`. */
export function problemsOfStep(env: Environment, record: StepRecord): string[] {
  const problems = problemsOfObservation(env, record.observation);
  if (typeof record.reward !== 'number' || !Number.isFinite(record.reward))
    problems.push(`reward is ${shown(record.reward)}`);
  for (const flag of ['terminated', 'truncated'] as const) {
    if (typeof record[flag] !== 'boolean') problems.push(`${flag} is ${shown(record[flag])}, not a boolean`);
  }
  if (typeof record.info !== 'object' || record.info === null)
    problems.push(`info is ${shown(record.info)}, not an object`);
  return problems;
}

/** Bit for bit the same, information included. */
export function sameStep(a: StepRecord, b: StepRecord): boolean {
  return shown(a) === shown(b);
}

/** A value as one line; negative zero, NaN and the kind of an array are told apart. */
export function shown(value: unknown): string {
  if (value === undefined) return 'undefined';
  return JSON.stringify(value, (_, part) => {
    if (ArrayBuffer.isView(part)) return [part.constructor.name, ...Array.from(part as Float32Array, exactly)];
    return typeof part === 'number' ? exactly(part) : part;
  });
}

function exactly(value: number): number | string {
  return Object.is(value, -0) || !Number.isFinite(value) ? String(Object.is(value, -0) ? '-0' : value) : value;
}

function problemsOfObservation({ observationSpace: space }: Environment, observation: unknown): string[] {
  if (space.type === 'text')
    return typeof observation === 'string' ? [] : [`observation is ${typeof observation}, not text`];
  if (space.type === 'tools') return problemsOfMessages(observation);
  if (!(observation instanceof Float32Array)) return [`observation is ${shown(observation)}, not a Float32Array`];
  if (observation.length !== rowSize(space)) {
    return [`observation has ${observation.length} elements, its space ${rowSize(space)}`];
  }
  return contains(space, observation) ? [] : [`observation ${shown(observation)} is outside ${describeSpace(space)}`];
}

function problemsOfMessages(observation: unknown): string[] {
  const messages = (observation as { messages?: unknown } | null)?.messages;
  if (!Array.isArray(messages)) return [`observation is ${shown(observation)}, without a list of messages`];
  return messages.flatMap((message: { role?: unknown; content?: unknown; toolCallId?: unknown }, i) => {
    const { role, content, toolCallId } = message ?? {};
    if (role !== 'system' && role !== 'user' && role !== 'tool') return [`message ${i} has the role ${shown(role)}`];
    if (typeof content !== 'string') return [`message ${i} has the content ${shown(content)}, not a text`];
    return role === 'tool' && typeof toolCallId !== 'string' ? [`message ${i} answers no call`] : [];
  });
}
