// What of a tool call is searched for: its name, the keys and values of its arguments, and the calls made before it.
// Identifiers are kept whole and also in parts, so that `reservation_4WQ150` finds itself first and its like next.

import type { Json } from '../../core/canonical-json.js';
import { canonicalJson } from '../../core/canonical-json.js';

/** A call as experience knows it: no id. */
export interface LivedCall {
  readonly name: string;
  readonly arguments: { readonly [key: string]: Json };
}

/** Calls before the present one that are remembered. */
export const MAX_HISTORY = 8;

/** Words of one call; more add nothing but time. */
const MAX_TOKENS = 256;
const MAX_TEXT = 20_000;
const MAX_DEPTH = 16;
const MAX_TOKEN_LENGTH = 64;

const WHOLE = /[\p{L}\p{N}]+(?:[_\-.@#:/+][\p{L}\p{N}]+)*/gu;
const KEY = /"(?:[^"\\]|\\.)*":/g;
const PARTS = /[_\-.@#:/+]|(?<=[a-z0-9])(?=[A-Z])/;

/** A call as one line, the same for equal calls: the form in which `history` holds it. */
export function callText(call: LivedCall): string {
  return `${call.name}(${canonicalJson(call.arguments)})`;
}

/** Lower-case tokens of a call, repetitions included; at most 256. */
export function callTokens(call: LivedCall): string[] {
  const tokens: string[] = [];
  addWords(call.name, tokens);
  addValue(call.arguments, tokens, 0);
  return tokens;
}

/** Tokens of a call before the present one, given as `callText`: without argument keys, which its name implies. */
export function historyTokens(line: string): string[] {
  const tokens: string[] = [];
  addWords(line.slice(0, MAX_TEXT).replace(KEY, ' '), tokens);
  return tokens;
}

function addValue(value: Json, tokens: string[], depth: number): void {
  if (tokens.length >= MAX_TOKENS || depth > MAX_DEPTH || value === null) return;
  if (typeof value !== 'object') {
    addWords(String(value), tokens);
    return;
  }
  for (const [key, part] of Object.entries(value)) {
    if (!Array.isArray(value)) addWords(key, tokens);
    addValue(part, tokens, depth + 1);
  }
}

function addWords(text: string, tokens: string[]): void {
  for (const [whole] of text.slice(0, MAX_TEXT).matchAll(WHOLE)) {
    if (tokens.length >= MAX_TOKENS) return;
    tokens.push(normal(whole));
    const parts = whole.split(PARTS);
    if (parts.length > 1) tokens.push(...parts.slice(0, MAX_TOKENS - tokens.length).map(normal));
  }
}

function normal(word: string): string {
  return word.slice(0, MAX_TOKEN_LENGTH).toLowerCase();
}
