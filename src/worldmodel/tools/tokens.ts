// The words of JSON: what a text or a part of a state mentions. Ids are compared as whole words, never as substrings.

import type { Json } from '../../core/canonical-json.js';

/** A word: letters and digits, joined by `_`, `-` or `.`, with a leading `#` where ids have one. */
const WORD = /#?[\p{L}\p{N}]+(?:[_.-][\p{L}\p{N}]+)*/gu;

/** Longer texts are free text, not values that are looked up. */
const MAX_VALUE_CHARS = 200;

export function wordsOf(text: string): string[] {
  return text.match(WORD) ?? [];
}

const known = new WeakMap<object, ReadonlySet<string>>();

/** Keys, whole strings, numbers and words of strings in `value`. Remembered for frozen values, as states share their parts. */
export function wordsIn(value: Json): ReadonlySet<string> {
  if (typeof value !== 'object' || value === null) return collect(value, new Set());
  const before = known.get(value);
  if (before !== undefined) return before;
  const words = collect(value, new Set());
  if (Object.isFrozen(value)) known.set(value, words);
  return words;
}

function collect(value: Json, into: Set<string>): Set<string> {
  const open: Json[] = [value];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (typeof part === 'string') addText(part, into);
    else if (typeof part === 'number') into.add(String(part));
    else if (typeof part === 'object' && part !== null) {
      if (!Array.isArray(part)) for (const key of Object.keys(part)) addText(key, into);
      for (const child of Object.values(part) as Json[]) open.push(child);
    }
  }
  return into;
}

function addText(text: string, into: Set<string>): void {
  if (text.length <= MAX_VALUE_CHARS) into.add(text);
  for (const word of wordsOf(text)) into.add(word);
}
