// The action in what a language model wrote. Tools: calls in Hermes' tags, ReAct's "Action: NAME with Action Input: {…}",
// or a JSON object of a name and arguments; anything else is said to the user. Text: what stands after "Action:", or all.
// Numbers: the list, or the one number, that stands there.

import { reverieError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { faceOf } from '../../kinds/index.js';
import type { Servable } from '../../run/serving/index.js';
import type { Action } from '../core/session-contract.js';
import { decodeAction } from '../core/values.js';
import { parseJson } from '../http/request-guards.js';
import { actionOfCall, type GivenCall, sayToolOf } from './tool-calls.js';

const THOUGHTS = /^\s*<think>([\s\S]*?)<\/think>/;
const TAGGED = /<tool_call>([\s\S]*?)<\/tool_call>/g;
const REACT = /(?:^|\n)\s*Action:\s*([^\s:(]+)(?:\s+with)?\s+Action Input:\s*([\s\S]*)$/;
const FENCED = /^```(?:json)?\s*([\s\S]*?)\s*```$/;
const MARKED = /(?:^|\n)\s*Action:\s*([\s\S]*)$/;
/** A line in which a model thinks aloud before it speaks. */
const ALOUD = /^\s*Thought:[^\n]*(?:\n+|$)/;

/** @throws REQUEST_INVALID for what begins as a call, or should be numbers, and cannot be read */
export function actionInText(served: Servable, written: string): Action {
  const text = written.replace(THOUGHTS, '').trim();
  const { acts } = faceOf(served);
  if (acts === 'turn') return toolsAction(served, text);
  const marked = (MARKED.exec(text)?.[1] ?? text).trim();
  return acts === 'line' ? decodeAction(served, marked) : decodeAction(served, numbersIn(marked));
}

function toolsAction(served: Servable, text: string): Action {
  const calls = callsIn(text);
  if (calls.length === 1) return actionOfCall(served, calls[0]);
  if (calls.length > 1) return several(served, calls);
  const content = text.replace(ALOUD, '').trim();
  return actionOfCall(served, { name: sayToolOf(served).name, arguments: { content } });
}

/** Calls of one turn are answered one by one; speaking in between them has no place there. */
function several(served: Servable, calls: readonly GivenCall[]): Action {
  const { name } = sayToolOf(served);
  if (calls.some((call) => call.name === name)) throw unreadable(`${name} goes into a turn of its own`);
  return { content: null, toolCalls: calls.map((call) => ({ id: '', ...call }) as never) };
}

function callsIn(text: string): GivenCall[] {
  const tagged = [...text.matchAll(TAGGED)].map(([, json]) => callOf(objectIn(json)));
  if (tagged.length > 0) return tagged;
  const [, name, given] = REACT.exec(text) ?? [];
  if (name !== undefined) return [{ name, arguments: objectIn(firstObject(given)) }];
  const bare = (FENCED.exec(text)?.[1] ?? text).trim();
  if (!bare.startsWith('{') || !/"(?:name|function_name|tool|function)"/.test(bare)) return [];
  return [callOf(objectIn(bare))];
}

function callOf(value: JsonObject): GivenCall {
  const inner = typeof value['function'] === 'object' ? (value['function'] as JsonObject) : value;
  const name = inner['name'] ?? inner['function_name'] ?? inner['tool'] ?? inner['function'];
  const given = inner['arguments'] ?? inner['parameters'] ?? inner['input'] ?? {};
  if (typeof name !== 'string') throw unreadable('a call has a "name" and "arguments"');
  return { name, arguments: typeof given === 'string' ? objectIn(given) : given };
}

function objectIn(text: string): JsonObject {
  const value = parseJson(text.trim() === '' ? '{}' : text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw unreadable('the arguments of a call are a JSON object');
}

/** Up to the bracket that closes the first one: models go on writing what they think they will see. */
function firstObject(text: string): string {
  const start = text.indexOf('{');
  if (start < 0) return text.split('\n', 1)[0];
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (inString && character === '\\') at++;
    else if (character === '"') inString = !inString;
    else if (!inString && character === '{') depth++;
    else if (!inString && character === '}' && --depth === 0) return text.slice(start, at + 1);
  }
  return text.slice(start);
}

function numbersIn(text: string): unknown {
  const [list] = /\[[^[\]]*\]/.exec(text) ?? /[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?/.exec(text) ?? [];
  if (list === undefined) throw unreadable('an action is a list of numbers, such as [0.5]');
  return parseJson(list.replace(/^\+/, ''));
}

function unreadable(problem: string) {
  return reverieError('REQUEST_INVALID', { problem });
}
