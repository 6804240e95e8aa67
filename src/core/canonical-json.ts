// What names things by their content: SHA-256, in hexadecimal.

import { createHash } from 'node:crypto';

/** What JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json;
}

/** What a text says as JSON; undefined where it is none. */
export function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** JSON with object keys sorted at every depth (RFC 8785 for the values we hash); whole numbers come first, as in any object. */
export function canonicalJson(value: unknown): string {
  return textOf(value, 0) ?? bySorting(value);
}

/** Deeper than any state, and shallow enough for the stack. */
const MAX_DEPTH = 500;

/** Undefined where JSON leaves a value out, asks it what it is, or refuses it. */
function textOf(value: unknown, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) return textOfPlain(value);
  if (depth > MAX_DEPTH) return undefined;
  if (Array.isArray(value)) return textOfList(value, depth);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  return textOfObject(value as Record<string, unknown>, depth);
}

function textOfPlain(value: unknown): string | undefined {
  const isJson = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null;
  return isJson ? JSON.stringify(value) : undefined;
}

function textOfList(list: readonly unknown[], depth: number): string | undefined {
  let text = '';
  for (let i = 0; i < list.length; i++) {
    const part = textOf(list[i], depth + 1);
    if (part === undefined) return undefined;
    text += i === 0 ? part : `,${part}`;
  }
  return `[${text}]`;
}

function textOfObject(value: Record<string, unknown>, depth: number): string | undefined {
  let text = '';
  for (const key of sortedKeys(value)) {
    if (value[key] === undefined) continue;
    const part = textOf(value[key], depth + 1);
    if (part === undefined) return undefined;
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${part}`;
  }
  return `{${text}}`;
}

/** Keys in the order of an object whose keys were made in alphabetical order. */
function sortedKeys(value: object): string[] {
  const keys = Object.keys(value);
  // Whole numbers stand before all others, and are in their order already.
  const first = keys.findIndex((key) => !isWhole(key));
  if (first <= 0) return first === 0 ? inOrder(keys) : keys;
  return [...keys.slice(0, first), ...inOrder(keys.slice(first))];
}

function inOrder(keys: string[]): string[] {
  for (let i = 1; i < keys.length; i++) if (keys[i - 1] > keys[i]) return keys.sort();
  return keys;
}

function isWhole(key: string): boolean {
  const code = key.charCodeAt(0);
  return code >= 48 && code <= 57 && /^(0|[1-9]\d*)$/.test(key) && Number(key) < 2 ** 32 - 1;
}

/** Slow, and right for every value: dates, instances of classes, functions. */
function bySorting(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** 64 hexadecimal digits of the parts one after another; text counts as UTF-8. */
export function sha256(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

/** Of a JSON value, whatever the order of its keys. */
export function contentHash(value: unknown): string {
  return sha256(canonicalJson(value));
}
