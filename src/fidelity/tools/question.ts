// What a model of tools is asked: a call out of a real episode, in the true state after the true conversation, with what is
// true of it; and how far an answer is from it.

import { createHash } from 'node:crypto';
import { canonicalJson, type Json, type JsonObject } from '../../core/canonical-json.js';
import { stateHash } from '../../env/state/state.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import { comparableObservation } from '../../worldmodel/tools/checks.js';

export interface ToolsQuestion {
  /** 12 hex digits of task, conversation, state and call: the same for calls that are the same question, whatever their seed. */
  readonly id: string;
  /** In the true state, after the true conversation. Its seed is replaced when it is asked. */
  readonly query: CallQuery;
  readonly truth: {
    readonly observation: string;
    readonly isError: boolean;
    /** Absent where the state after the call is not known. */
    readonly operations?: readonly Operation[];
  };
  /** The true state afterwards; absent where it is not known. */
  readonly after?: JsonObject;
}

export function questionId({ task, messages, call, state }: CallQuery): string {
  const key = canonicalJson([task.id, stateHash(state), messages.slice(1) as unknown as Json, call as unknown as Json]);
  return createHash('sha256').update(key).digest('hex').slice(0, 12);
}

/** JSON is compared as JSON, other text but for white space. */
export function isSameObservation(a: string, b: string): boolean {
  return a === b || comparableObservation(a) === comparableObservation(b);
}

// How far one typed state is from another, leaf by leaf: what should have changed and did not, or changed wrongly, or should
// not have changed.

/** A scalar or an empty container whose values differ; one that is absent has no value. */
export type LeafDifference = {
  /** JSON Pointer (RFC 6901). */
  readonly path: string;
  readonly real?: Json;
  /** As saved reports call what was simulated. */
  readonly simulated?: Json;
};

/** Parts that are the same object are not looked into. Elements of lists are compared by position. */
export function leafDifferences(real: JsonObject, simulated: JsonObject): LeafDifference[] {
  const found: LeafDifference[] = [];
  compare(real, simulated, '', found);
  return found;
}

/**
 * Wrong leaves among those that changed, for real or in the simulation; 0 where nothing did.
 * @param before the state that both came from
 */
export function stateDistance(before: JsonObject, real: JsonObject, simulated: JsonObject): number {
  const wrong = leafDifferences(real, simulated);
  if (wrong.length === 0) return 0;
  const changed = [...leafDifferences(before, real), ...leafDifferences(before, simulated), ...wrong];
  return wrong.length / new Set(changed.map(({ path }) => path)).size;
}

function compare(a: Json | undefined, b: Json | undefined, path: string, found: LeafDifference[]): void {
  if (a === b) return;
  if (!isContainer(a) || !isContainer(b)) {
    // What gave way to a leaf is gone leaf by leaf, and the other way round.
    if (isContainer(a) || isContainer(b))
      for (const leaf of [...leavesOf(a, path, 'real'), ...leavesOf(b, path, 'simulated')]) found.push(leaf);
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
function leavesOf(value: Json | undefined, path: string, side: 'real' | 'simulated'): LeafDifference[] {
  if (value === undefined) return [];
  const keys = isContainer(value) ? Object.keys(value) : [];
  if (keys.length === 0) return [{ path, [side]: value }];
  return keys.flatMap((key) => leavesOf((value as JsonObject)[key], pointer(path, key), side));
}

function difference(path: string, real: Json | undefined, simulated: Json | undefined): LeafDifference {
  return { path, ...(real === undefined ? {} : { real }), ...(simulated === undefined ? {} : { simulated }) };
}

function pointer(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

// How far what was said is from what should have been said, in words.

const TOKEN = /[\p{L}\p{N}]+(?:[_.:-][\p{L}\p{N}]+)*|[^\s\p{L}\p{N}]/gu;
/** Edit distance takes the product of both lengths: what is longer, ends that agree left out, counts as wrong as a whole. */
const MAX_EDITED = 600;

/**
 * Word-level edit distance (Levenshtein) over the longer one's words, in [0, 1]; JSON in canonical form, so that the order
 * of keys does not count. Of texts that differ in more than 600 words these all count as edited.
 */
export function observationDistance(real: string, simulated: string): number {
  const [a, b] = [tokensOf(real), tokensOf(simulated)];
  const longer = Math.max(a.length, b.length);
  if (longer === 0) return 0;
  let [from, ends] = [0, 0];
  const shorter = Math.min(a.length, b.length);
  while (from < shorter && a[from] === b[from]) from++;
  while (ends < shorter - from && a[a.length - 1 - ends] === b[b.length - 1 - ends]) ends++;
  const [restA, restB] = [a.slice(from, a.length - ends), b.slice(from, b.length - ends)];
  const most = Math.max(restA.length, restB.length);
  return (most > MAX_EDITED ? most : editDistance(restA, restB)) / longer;
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
