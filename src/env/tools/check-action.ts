// Is this an action of family `tools`? What passes is a message of the conversation, its calls with ids of their own.

import type { ToolsSpace } from '../../core/environment.js';
import { nearest, reverieError } from '../../core/errors.js';
import { describeSpace } from '../space-values.js';
import { ARGUMENT_LIMITS, jsonProblem } from './json-limits.js';
import type { AssistantMessage, Message, ToolCall } from './message.js';

const MAX_CALLS = 64;
const MAX_CHARACTERS = 1_000_000;
const ACTION_KEYS = ['role', 'content', 'reasoning', 'toolCalls'];
const CALL_KEYS = ['id', 'name', 'arguments', 'rawArguments'];

/**
 * The action as a message, a copy of its own. Ids of calls that are missing, or were used before, become `call-N`.
 * @param before the conversation so far
 * @throws ACTION_OUT_OF_SPACE if it is no action: neither text nor calls, or not of the form of one
 */
export function messageOf(action: unknown, before: readonly Message[], space: ToolsSpace): AssistantMessage {
  const problem = problemOfAction(action);
  if (problem !== undefined) {
    const hint = `${problem}. Give {content: "text for the user"} or {toolCalls: [{name, arguments: {...}}]}.`;
    throw reverieError('ACTION_OUT_OF_SPACE', { action: shown(action), space: describeSpace(space), hint });
  }
  const { content, reasoning, toolCalls } = action as AssistantMessage;
  return {
    role: 'assistant',
    content: content ?? null,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(toolCalls?.length ? { toolCalls: withIds(toolCalls, before) } : {}),
  };
}

function problemOfAction(action: unknown): string | undefined {
  if (!isRecord(action)) return 'An action is an object';
  const { role, content, reasoning, toolCalls } = action;
  const unknown = unknownKey(action, ACTION_KEYS);
  if (unknown !== undefined) return unknown;
  if (role !== undefined && role !== 'assistant') return `An action has the role "assistant", not ${shown(role)}`;
  if (content !== null && !isText(content)) return `"content" is ${whatIs(content)}, not a text or null`;
  if (!isText(reasoning)) return `"reasoning" is ${whatIs(reasoning)}, not a text`;
  if (toolCalls !== undefined && !Array.isArray(toolCalls)) return '"toolCalls" is not a list';
  const calls: unknown[] = toolCalls ?? [];
  if (calls.length > MAX_CALLS) return `It has ${calls.length} calls; at most ${MAX_CALLS} fit one action`;
  if (calls.length === 0 && !(content as string | null | undefined)?.trim()) return 'It says nothing and calls nothing';
  return calls.map(problemOfCall).find((problem) => problem !== undefined);
}

function problemOfCall(call: unknown, at: number): string | undefined {
  const where = `Call ${at + 1}`;
  if (!isRecord(call)) return `${where} is no object`;
  const unknown = unknownKey(call, CALL_KEYS);
  if (unknown !== undefined) return `${where}: ${unknown}`;
  if (typeof call.name !== 'string' || call.name === '' || call.name.length > 256) return `${where} names no tool`;
  if (!isText(call.id)) return `${where}: "id" is ${whatIs(call.id)}, not a text`;
  if (!isText(call.rawArguments)) return `${where}: "rawArguments" is ${whatIs(call.rawArguments)}, not a text`;
  if (!isRecord(call.arguments)) return `${where}: "arguments" is ${whatIs(call.arguments)}, not an object`;
  const problem = jsonProblem(call.arguments, ARGUMENT_LIMITS);
  return problem === undefined ? undefined : `${where}: its arguments are not acceptable: ${problem}`;
}

function unknownKey(value: Record<string, unknown>, known: readonly string[]): string | undefined {
  const key = Object.keys(value).find((name) => !known.includes(name));
  return key === undefined ? undefined : `Unknown key "${key.slice(0, 80)}" (did you mean "${nearest(key, known)}"?)`;
}

function withIds(calls: readonly ToolCall[], before: readonly Message[]): ToolCall[] {
  const used = new Set(before.flatMap((message) => (message.role === 'assistant' ? idsOf(message) : [])));
  return calls.map((call) => {
    const id = call.id && !used.has(call.id) ? call.id : freeId(used);
    used.add(id);
    return { ...call, id, arguments: structuredClone(call.arguments) };
  });
}

function idsOf({ toolCalls }: AssistantMessage): string[] {
  return (toolCalls ?? []).map(({ id }) => id);
}

function freeId(used: ReadonlySet<string>): string {
  let number = used.size + 1;
  while (used.has(`call-${number}`)) number += 1;
  return `call-${number}`;
}

function isText(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && value.length <= MAX_CHARACTERS);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function whatIs(value: unknown): string {
  if (typeof value === 'string') return `${value.length} characters`;
  return Array.isArray(value) ? 'a list' : value === null ? 'null' : `of type ${typeof value}`;
}

/** Untrusted and perhaps huge or circular: only its outline is shown. */
function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60));
  if (!isRecord(value)) return Array.isArray(value) ? `[${value.length} elements]` : String(value);
  return `{${Object.keys(value).slice(0, 8).join(', ').slice(0, 200)}}`;
}
