// The canonical hash of a typed state: SHA-256 over sorted keys. States share their unchanged parts, so hashes of parts
// are remembered by object and only what changed is hashed again.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../core/canonical-json.js';
import type { Json, JsonObject } from '../../core/json.js';

const known = new WeakMap<object, string>();

/** Below this depth a part is hashed as one text: parts of collections are the unit that changes. */
const SHARED_DEPTH = 2;

/** SHA-256 (hex) of the state's canonical form; equal states have equal hashes, whatever the order of their keys. */
export function stateHash(state: JsonObject): string {
  return hashAt(state, 0);
}

function hashAt(value: Json, depth: number): string {
  if (typeof value !== 'object' || value === null) return sha256(canonicalJson(value));
  const before = known.get(value);
  if (before !== undefined) return before;
  const hash = sha256(depth >= SHARED_DEPTH ? canonicalJson(value) : shallow(value, depth));
  // A part that may still change must not be remembered.
  if (Object.isFrozen(value)) known.set(value, hash);
  return hash;
}

function shallow(value: JsonObject | readonly Json[], depth: number): string {
  const keys = Object.keys(value).sort();
  const parts = keys.map((key) => [key, hashAt((value as JsonObject)[key], depth + 1)]);
  return `${Array.isArray(value) ? 'list' : 'object'}${JSON.stringify(parts)}`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
