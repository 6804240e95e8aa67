// How large and deep untrusted JSON may be. Whatever passes can be hashed, compared and written by recursive code.

import type { Json } from '../../core/canonical-json.js';

export interface JsonLimits {
  /** Levels of lists and objects within one another. */
  readonly depth: number;
  /** Values and keys, all levels together. */
  readonly parts: number;
  /** Characters of all texts and keys together. */
  readonly characters: number;
}

/** Arguments of a call, as an agent writes them. */
export const ARGUMENT_LIMITS: JsonLimits = { depth: 64, parts: 100_000, characters: 1_000_000 };

/** A state, as a domain holds it. */
export const STATE_LIMITS: JsonLimits = { depth: 128, parts: 20_000_000, characters: 500_000_000 };

/**
 * What keeps a value from being JSON within limits, or undefined: too deep or too large, not finite, not JSON at all, or
 * an object that is not plain. Keys called `__proto__` are refused: assigned by unwary code they change prototypes.
 */
export function jsonProblem(value: unknown, limits: JsonLimits): string | undefined {
  const left = { parts: limits.parts, characters: limits.characters };
  const stack: { value: unknown; path: string; depth: number }[] = [{ value, path: '', depth: 0 }];
  for (let part = stack.pop(); part !== undefined; part = stack.pop()) {
    const problem = problemOf(part.value, left);
    if (problem !== undefined) return `${part.path === '' ? 'it' : shortened(part.path)} ${problem}`;
    if (typeof part.value !== 'object' || part.value === null) continue;
    if (part.depth >= limits.depth) return `it is nested more than ${limits.depth} levels deep`;
    for (const [key, inner] of Object.entries(part.value)) {
      if (key === '__proto__') return `${shortened(part.path) || 'it'} has a key "__proto__"`;
      left.characters -= key.length;
      stack.push({ value: inner, path: `${part.path}/${key}`, depth: part.depth + 1 });
    }
  }
  return undefined;
}

/** Whether a value is JSON within limits. */
export function isJson(value: unknown, limits: JsonLimits): value is Json {
  return jsonProblem(value, limits) === undefined;
}

function problemOf(value: unknown, left: { parts: number; characters: number }): string | undefined {
  left.parts -= 1;
  if (typeof value === 'string') left.characters -= value.length;
  if (left.parts < 0 || left.characters < 0) return 'is too large';
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `is ${value}, which is no number of JSON`;
  if (typeof value !== 'object') return `is of type ${typeof value}, which is not JSON`;
  if (Array.isArray(value)) return undefined;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? undefined : 'is no plain object';
}

function shortened(path: string): string {
  return path.length > 80 ? `${path.slice(0, 77)}...` : path;
}
