// How far one typed state is from another, leaf by leaf: what should have changed and did not, or changed wrongly, or should
// not have changed.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { comparableObservation } from '../../worldmodel/tools/checks.js';

/** A scalar or an empty container whose values differ; one that is absent has no value. */
export interface LeafDifference {
  /** JSON Pointer (RFC 6901). */
  readonly path: string;
  readonly first?: Json;
  readonly second?: Json;
}

/** Parts that are the same object are not looked into. Elements of lists are compared by position. */
export function leafDifferences(first: JsonObject, second: JsonObject): LeafDifference[] {
  const found: LeafDifference[] = [];
  compare(first, second, '', found);
  return found;
}

export interface StateDistance {
  /** Wrong leaves among those that changed, truly or in the dream; 0 where nothing did. */
  readonly distance: number;
  readonly wrong: readonly LeafDifference[];
}

/** @param before the state that both came from */
export function stateDistance(before: JsonObject, real: JsonObject, dreamt: JsonObject): StateDistance {
  const wrong = leafDifferences(real, dreamt);
  if (wrong.length === 0) return { distance: 0, wrong };
  const paths = [...leafDifferences(before, real), ...leafDifferences(before, dreamt), ...wrong].map(
    ({ path }) => path,
  );
  return { distance: wrong.length / new Set(paths).size, wrong };
}

function compare(a: Json | undefined, b: Json | undefined, path: string, found: LeafDifference[]): void {
  if (a === b) return;
  if (!isContainer(a) || !isContainer(b)) {
    // What gave way to a leaf is gone leaf by leaf, and the other way round.
    if (isContainer(a) || isContainer(b))
      for (const leaf of [...leavesOf(a, path, 'first'), ...leavesOf(b, path, 'second')]) found.push(leaf);
    else found.push(difference(path, a, b));
  } else if (Array.isArray(a) !== Array.isArray(b)) found.push(difference(path, a, b));
  else {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      compare((a as JsonObject)[key], (b as JsonObject)[key], pointer(path, key), found);
    }
  }
}

function isContainer(value: Json | undefined): value is JsonObject | readonly Json[] {
  return typeof value === 'object' && value !== null;
}

/** Empty containers are leaves; nothing has none. */
function leavesOf(value: Json | undefined, path: string, side: 'first' | 'second'): LeafDifference[] {
  if (value === undefined) return [];
  const keys = isContainer(value) ? Object.keys(value) : [];
  if (keys.length === 0) return [{ path, [side]: value }];
  return keys.flatMap((key) => leavesOf((value as JsonObject)[key], pointer(path, key), side));
}

function difference(path: string, first: Json | undefined, second: Json | undefined): LeafDifference {
  return { path, ...(first === undefined ? {} : { first }), ...(second === undefined ? {} : { second }) };
}

function pointer(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

// How far what was said is from what should have been said, in words.

const TOKEN = /[\p{L}\p{N}]+(?:[_.:-][\p{L}\p{N}]+)*|[^\s\p{L}\p{N}]/gu;
/** Edit distance takes the product of both lengths: what is longer, ends that agree left out, is compared as bags of words. */
const MAX_EDITED = 600;

/**
 * Word-level edit distance (Levenshtein) over the longer one's words, in [0, 1]; JSON in canonical form, so that the order
 * of keys does not count. Of texts that differ in more than 600 words the order of those words does not count either.
 */
export function observationDistance(real: string, dreamt: string): number {
  const [a, b] = [tokensOf(real), tokensOf(dreamt)];
  const longer = Math.max(a.length, b.length);
  if (longer === 0) return 0;
  let [from, ends] = [0, 0];
  const shorter = Math.min(a.length, b.length);
  while (from < shorter && a[from] === b[from]) from++;
  while (ends < shorter - from && a[a.length - 1 - ends] === b[b.length - 1 - ends]) ends++;
  const [restA, restB] = [a.slice(from, a.length - ends), b.slice(from, b.length - ends)];
  const isLong = Math.max(restA.length, restB.length) > MAX_EDITED;
  return (isLong ? bagDistance(restA, restB) : editDistance(restA, restB)) / longer;
}

export function tokensOf(observation: string): string[] {
  return comparableObservation(observation).match(TOKEN) ?? [];
}

function editDistance(a: readonly string[], b: readonly string[]): number {
  let above = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = above[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, above[j] + 1, row[j - 1] + 1));
    }
    above = row;
  }
  return above[b.length];
}

/** Words of the longer one that the other lacks: never more than the edit distance. */
function bagDistance(a: readonly string[], b: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const word of a) counts.set(word, (counts.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of b) {
    const left = counts.get(word) ?? 0;
    if (left > 0) common++;
    counts.set(word, left - 1);
  }
  return Math.max(a.length, b.length) - common;
}
