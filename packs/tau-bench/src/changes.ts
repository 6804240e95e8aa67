// What invariants look at: the entries that differ between two states. Untouched entries are the same objects, so a check
// costs what a call changed.

import { isDeepStrictEqual } from 'node:util';

export interface Change<Entry> {
  readonly id: string;
  readonly before?: Entry;
  readonly after?: Entry;
}

/** Entries of a mapping that were added, removed or became other objects. */
export function changesOf<Entry>(
  before: Readonly<Record<string, Entry>>,
  after: Readonly<Record<string, Entry>>,
): Change<Entry>[] {
  if (before === after) return [];
  const ids = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...ids].filter((id) => before[id] !== after[id]).map((id) => ({ id, before: before[id], after: after[id] }));
}

/** The first of the fields that differs, outside of those that may. */
export function changedField(before: object, after: object, mayChange: readonly string[]): string | undefined {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...fields].find(
    (field) => !mayChange.includes(field) && !isSame(valueAt(before, field), valueAt(after, field)),
  );
}

function valueAt(record: object, field: string): unknown {
  return (record as Record<string, unknown>)[field];
}

export function isSame(a: unknown, b: unknown): boolean {
  return a === b || isDeepStrictEqual(a, b);
}

/** What a list has beyond another one that it begins with; undefined if it does not begin with it. */
export function appended<Part>(before: readonly Part[], after: readonly Part[]): readonly Part[] | undefined {
  return isSame(before, after.slice(0, before.length)) ? after.slice(before.length) : undefined;
}

/** Amounts of money are equal to the cent. */
export function sameMoney(a: number, b: number): boolean {
  return Math.abs(a - b) < 0.0051;
}
