// Fields with few values, such as a status: what conditions are made of.

import type { Json } from '../../core/json.js';
import { type Sighting, same, valueIn } from './beliefs.js';
import type { StateShape } from './candidates.js';

const MAX_VALUES = 8;

/** A word or a yes or no that several records share, or that changes. */
export function isEnumerated(
  sightings: readonly Pick<Sighting, 'before' | 'after'>[],
  collection: string,
  field: string,
): boolean {
  const records = sightings.flatMap(({ before }) => Object.entries(before[collection] ?? {}));
  const values = records.flatMap(([, record]) => (Object.hasOwn(record, field) ? [record[field]] : []));
  const isWord = values.every(
    (value) => typeof value === 'boolean' || (typeof value === 'string' && !/\d/.test(value)),
  );
  const keysOf = new Map<Json, Set<string>>();
  for (const [key, record] of records)
    if (Object.hasOwn(record, field)) keysOf.set(record[field], (keysOf.get(record[field]) ?? new Set()).add(key));
  const isShared = [...keysOf.values()].some((keys) => keys.size > 1);
  const isChanged = sightings.some(({ before, after }) =>
    Object.keys(after[collection] ?? {}).some((key) => {
      const was = valueIn(before, collection, key, field);
      const is = valueIn(after, collection, key, field);
      return was !== undefined && is !== undefined && !same(was, is);
    }),
  );
  return values.length > 0 && isWord && keysOf.size <= MAX_VALUES && (isShared || isChanged);
}

/** `bookings.room_id == KEY`, and the same of those with a certain status: what may be said of records that refer to another. */
export function referringConditions(
  collection: string,
  sightings: readonly Sighting[],
  shape: StateShape,
): ((key: string) => string)[] {
  return shape.referringTo(collection).flatMap(({ collection: other, field }) => {
    const reference = (key: string) => `${other}.${field} == ${key}`;
    const enumerated = (shape.fields.get(other) ?? []).filter((each) => isEnumerated(sightings, other, each));
    const conditions = enumerated.flatMap((each) =>
      valuesOf(sightings, other, each).map((value) => `${each} == ${JSON.stringify(value)}`),
    );
    return [reference, ...conditions.map((condition) => (key: string) => `${reference(key)} and ${condition}`)];
  });
}

function valuesOf(sightings: readonly Sighting[], collection: string, field: string): Json[] {
  const records = sightings.flatMap(({ before }) => Object.values(before[collection] ?? {}));
  return [...new Set(records.flatMap((record) => (field in record ? [record[field]] : [])))].sort();
}
