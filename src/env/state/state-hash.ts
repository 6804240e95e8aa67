// The canonical hash of a typed state: SHA-256 over sorted keys. States share their unchanged parts, so hashes of parts
// are remembered by object and only what changed is hashed again.

import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Json, JsonObject } from '../../core/canonical-json.js';
import { canonicalJson } from '../../core/canonical-json.js';

const known = new WeakMap<object, string>();
/** Of what is no object: the same few dates, counts and names stand in all states of a job. */
const plain = new LRUCache<string, string>({ max: 2_000 });

/** Below this depth a part is hashed as one text: parts of collections are the unit that changes. */
const SHARED_DEPTH = 2;

/** SHA-256 (hex) of the state's canonical form; equal states have equal hashes, whatever the order of their keys. */
export function stateHash(state: JsonObject): string {
  return hashAt(state, 0);
}

function hashAt(value: Json, depth: number): string {
  if (typeof value !== 'object' || value === null) return plainHash(JSON.stringify(value));
  const before = known.get(value);
  if (before !== undefined) return before;
  const found = sha256(depth >= SHARED_DEPTH ? canonicalJson(value) : shallow(value, depth));
  // A part that may still change must not be remembered.
  if (Object.isFrozen(value)) known.set(value, found);
  return found;
}

/** As JSON of pairs of key and hash. */
function shallow(value: JsonObject | readonly Json[], depth: number): string {
  const keys = Object.keys(value);
  if (!isSorted(keys)) keys.sort();
  let parts = '';
  for (const key of keys) {
    const part = hashAt((value as JsonObject)[key], depth + 1);
    parts += `${parts === '' ? '' : ','}[${JSON.stringify(key)},"${part}"]`;
  }
  return `${Array.isArray(value) ? 'list' : 'object'}[${parts}]`;
}

function isSorted(keys: readonly string[]): boolean {
  return keys.every((key, i) => i === 0 || keys[i - 1] < key);
}

function plainHash(text: string): string {
  const before = plain.get(text);
  if (before !== undefined) return before;
  const found = sha256(text);
  if (text.length <= LONGEST_REMEMBERED) plain.set(text, found);
  return found;
}

const LONGEST_REMEMBERED = 200;

function sha256(text: string): string {
  return hash('sha256', text);
}
