// JSON Pointers (RFC 6901): reading the value one points at.

import type { Json } from '../../core/canonical-json.js';

/** The keys a pointer goes through; undefined if it is no pointer (it must be empty or begin with a slash). */
export function pointerKeys(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** What is there, or undefined. Only own keys count, and of arrays only whole numbers. */
export function valueAt(root: Json, pointer: string): Json | undefined {
  let value: Json | undefined = root;
  for (const key of pointerKeys(pointer) ?? [undefined]) {
    if (key === undefined || typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(key)) return undefined;
    value = Object.hasOwn(value, key) ? (value as Record<string, Json>)[key] : undefined;
  }
  return value;
}
