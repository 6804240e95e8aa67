// Observations and actions between memory and JSON. A row is a list of numbers, whatever its space: a discrete value is
// its one element. Keys are in snake_case, as everything on the wire.

import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import type { Face } from '../../core/kind.js';
import type { Info, Message, ToolsAction, ToolsObservation, ToolsStepInfo } from '../../env/index.js';
import { faceOf } from '../../kinds/index.js';
import type { Servable } from '../../run/serving/index.js';
import type { Action } from './session-contract.js';

const call = z.strictObject({
  id: z.string().optional(),
  name: z.string(),
  arguments: z.record(z.string(), z.json()),
});
const turn = z.strictObject({
  content: z.string().nullable().default(null),
  reasoning: z.string().optional(),
  tool_calls: z.array(call).optional(),
});

/**
 * A row as a list, a text as it is, and messages as `{messages: [{role, content, tool_call_id?, name?, is_error?}]}`: those
 * that are new.
 */
export function encodeObservation(observation: unknown): unknown {
  if (observation instanceof Float32Array) return listOf(observation);
  if (typeof observation === 'string') return observation;
  return { messages: (observation as ToolsObservation).messages.map(encodeMessage) };
}

/** `Array.from`, which walks a row by its iterator, takes several times as long. */
function listOf(row: Float32Array): number[] {
  const values: number[] = [];
  for (let i = 0; i < row.length; i++) values.push(row[i]);
  return values;
}

/** A message of the conversation. Thoughts of an agent are its own and not told. */
export function encodeMessage(message: Message): Record<string, unknown> {
  const { role, content } = message;
  if (role === 'tool') {
    const { toolCallId, name, isError = false } = message;
    return { role, tool_call_id: toolCallId, name, content, is_error: isError };
  }
  if (role !== 'assistant' || message.toolCalls === undefined) return { role, content };
  const calls = message.toolCalls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }));
  return { role, content, tool_calls: calls };
}

/** What is told of a step, with keys in snake_case. */
export function encodeInfo(info: Info): unknown {
  return snakeKeys(info);
}

function snakeKeys(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Array.from(value as Float32Array);
  if (Array.isArray(value)) return value.map(snakeKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [snakeCase(key), snakeKeys(one)]));
}

function snakeCase(key: string): string {
  return key.replace(/([a-z0-9])([A-Z])/g, (_, before: string, letter: string) => `${before}_${letter.toLowerCase()}`);
}

/**
 * An action as it came over the wire: a list of numbers (or, where the action space is discrete or has one element, a
 * number), a text, or a turn `{content, tool_calls: [{id?, name, arguments}]}`. What lies outside the space is the
 * environment's to refuse.
 * @throws REQUEST_INVALID
 */
export function decodeAction(served: Pick<Servable, 'family'>, action: unknown): Action {
  return DECODERS[faceOf(served).acts](action);
}

const DECODERS: Readonly<Record<Face['acts'], (action: unknown) => Action>> = { numbers: row, line, turn: toolsAction };

function line(action: unknown): string {
  if (typeof action === 'string') return action;
  throw invalid('action: expected a string');
}

function row(action: unknown): Float32Array {
  const values = typeof action === 'number' ? [action] : action;
  if (Array.isArray(values) && values.every((value) => typeof value === 'number')) return new Float32Array(values);
  throw invalid('action: expected a number or a list of numbers');
}

function toolsAction(action: unknown): ToolsAction {
  const read = turn.safeParse(action);
  if (!read.success) {
    const [{ path, message }] = read.error.issues;
    throw invalid(`${['action', ...path].join('.')}: ${message}`);
  }
  const { content, reasoning, tool_calls: calls } = read.data;
  const toolCalls = calls?.map(({ id, name, arguments: given }, i) => ({
    id: id ?? `call_${i}`,
    name,
    arguments: given,
  }));
  return {
    content,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
  } as ToolsAction;
}

function invalid(problem: string) {
  return reverieError('REQUEST_INVALID', { problem });
}

// What a step was worth and what may be told of it.

/** null where the episode ended and nobody could judge it: never a silent 0. */
export function rewardOf(reward: number, info: Info): number | null {
  const { verdict } = info as Partial<ToolsStepInfo>;
  return verdict?.reward === null ? null : reward;
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
