// What of a tool call is searched for: its name, the keys and values of its arguments, and the calls made before it.
// Identifiers are kept whole and also in parts, so that `reservation_4WQ150` finds itself first and its like next.

import { canonicalJson, type Json } from '../../core/canonical-json.js';
import { MAX_QUERY_WEIGHT } from './bm25.js';

/** A call as experience knows it: no id. */
export interface RecordedCall {
  readonly name: string;
  readonly arguments: { readonly [key: string]: Json };
}

/** Calls before the present one that are remembered. */
export const MAX_HISTORY = 8;

const CALL_WEIGHT = 3;
const HISTORY_WEIGHT = 1;
const REMEMBERED_LINES = 20_000;
/** Words of one call; more add nothing but time. */
const MAX_TOKENS = 256;
const MAX_TEXT = 20_000;
const MAX_DEPTH = 16;
const MAX_TOKEN_LENGTH = 64;

const WHOLE = /[\p{L}\p{N}]+(?:[_\-.@#:/+][\p{L}\p{N}]+)*/gu;
const KEY = /"(?:[^"\\]|\\.)*":/g;
const PARTS = /[_\-.@#:/+]|(?<=[a-z0-9])(?=[A-Z])/;

/** A call as one line, the same for equal calls: the form in which `history` holds it. */
export function callText(call: RecordedCall): string {
  return `${call.name}(${canonicalJson(call.arguments)})`;
}

/** Lower-case tokens of a call, repetitions included; at most 256. */
export function callTokens(call: RecordedCall): string[] {
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

/** What is searched, and what is searched for. */
interface Searchable {
  readonly call: RecordedCall;
  readonly history: readonly string[];
}

/** Steps and queries as weighted terms: the call itself counts three times as much as the calls before it. */
export class LexicalTerms {
  /** Each call of an episode is history to eight others. */
  private readonly lines = new Map<string, readonly string[]>();

  /** Numbers of terms, shared by all indexes of a store so that their statistics can be added up. */
  private readonly vocabulary = new Map<string, number>();

  /** Terms of a step, by number, with weighted counts. */
  ofStep({ call, history }: Searchable): Map<number, number> {
    const counts = new Map<number, number>();
    const add = (token: string, weight: number): void => {
      const term = this.vocabulary.get(token) ?? this.vocabulary.size;
      this.vocabulary.set(token, term);
      counts.set(term, (counts.get(term) ?? 0) + weight);
    };
    for (const token of callTokens(call)) add(token, CALL_WEIGHT);
    for (const line of history.slice(-MAX_HISTORY)) {
      for (const token of this.tokensOf(line)) add(token, HISTORY_WEIGHT);
    }
    return counts;
  }

  /** Terms of a query that any step has: each counts once for the call and once for the history, at most 4 in all. */
  ofQuery({ call, history }: Searchable): Map<number, number> {
    const weights = new Map<number, number>();
    const add = (tokens: Iterable<string>, weight: number): void => {
      for (const token of tokens) {
        const term = this.vocabulary.get(token);
        if (term !== undefined) weights.set(term, Math.min(MAX_QUERY_WEIGHT, (weights.get(term) ?? 0) + weight));
      }
    };
    add(new Set(callTokens(call)), CALL_WEIGHT);
    add(new Set(history.slice(-MAX_HISTORY).flatMap((line) => this.tokensOf(line))), HISTORY_WEIGHT);
    return weights;
  }

  private tokensOf(line: string): readonly string[] {
    const known = this.lines.get(line);
    if (known !== undefined) return known;
    if (this.lines.size >= REMEMBERED_LINES) this.lines.clear();
    const tokens = historyTokens(line);
    this.lines.set(line, tokens);
    return tokens;
  }
}
