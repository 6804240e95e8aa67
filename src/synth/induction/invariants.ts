// What held throughout the logs: how ids look, fields that no call changed, the values of fields that have few, and references
// that always lead to a record.

import type { Json } from '../../core/canonical-json.js';
import { type Beliefs, isChange, isEnumerated, listed, type StateShape, same, valueIn } from './candidates.js';
import { type Draft, evidence } from './drafts.js';

export function invariantsOf(beliefs: Beliefs, shape: StateShape): Draft[] {
  return [...shape.fields].flatMap(([collection, fields]) => [
    ...idFormat(beliefs, collection),
    ...constantFields(beliefs, collection, fields),
    ...fields.flatMap((field) => fewValues(beliefs, collection, field)),
    ...fields.flatMap((field) => reference(beliefs, shape, collection, field)),
  ]);
}

function recordsOf({ starts, ends }: Beliefs, collection: string) {
  const all = [...starts, ...ends].flatMap(listed).filter((record) => record.collection === collection);
  return all.map((record) => ({ ...record, at: `${collection} ${record.key}` }));
}

function idFormat(beliefs: Beliefs, collection: string): Draft[] {
  const records = unique(recordsOf(beliefs, collection));
  const forms = new Set(records.map(({ key }) => formOf(key)));
  const [pattern] = forms;
  if (forms.size !== 1 || records.length < 2) return [];
  return [{ ...evidence(records), kind: 'id-format', collection, pattern: `^${pattern}$` }];
}

/** `B-1001`: B-\d{4}. Letters before the first digit say what kind of thing it is; of others only the case is kept. */
function formOf(key: string): string {
  const [, head, rest] = /^([^\d]*)(.*)$/s.exec(key)!;
  const tail = rest.match(/\d+|[A-Z]+|[a-z]+|./gs) ?? [];
  const runs = tail.map((run) => {
    if (/\d/.test(run)) return `\\d{${run.length}}`;
    if (/[A-Z]/.test(run)) return `[A-Z]{${run.length}}`;
    return /[a-z]/.test(run) ? `[a-z]{${run.length}}` : quoted(run);
  });
  return `${rest === '' ? '.+' : quoted(head)}${runs.join('')}`;
}

function quoted(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** Fields that were read before and after a change of the same log, and were the same every time. */
function constantFields({ sightings }: Beliefs, collection: string, fields: readonly string[]): Draft[] {
  const compared = sightings
    .filter(({ call }) => isChange(call))
    .flatMap(({ call, before, after }) =>
      Object.keys(after[collection] ?? {}).flatMap((key) =>
        fields.flatMap((field) => {
          const was = valueIn(before, collection, key, field);
          const is = valueIn(after, collection, key, field);
          return was === undefined || is === undefined ? [] : [{ at: call.at, field, isSame: same(was, is) }];
        }),
      ),
    );
  const constant = fields.filter((field) => {
    const own = compared.filter((each) => each.field === field);
    return own.length > 0 && own.every(({ isSame }) => isSame);
  });
  if (constant.length === 0) return [];
  const counts = constant.map((field) => compared.filter((each) => each.field === field));
  const least = counts.reduce((a, b) => (b.length < a.length ? b : a));
  return [{ ...evidence(least), kind: 'constant', collection, fields: constant }];
}

function fewValues(beliefs: Beliefs, collection: string, field: string): Draft[] {
  if (!isEnumerated(beliefs.sightings, collection, field)) return [];
  const records = recordsOf(beliefs, collection).filter(({ fields }) => field in fields);
  const values = [...new Set(records.map(({ fields }) => fields[field]))].sort();
  return [{ ...evidence(unique(records)), kind: 'values', collection, field, values: values as Json[] }];
}

function reference(beliefs: Beliefs, shape: StateShape, collection: string, field: string): Draft[] {
  const records = unique(recordsOf(beliefs, collection).filter(({ fields }) => field in fields));
  const to = shape.refersTo(
    field,
    records.map(({ fields }) => fields[field]),
  );
  if (to === undefined || to === collection) return [];
  const ends = beliefs.ends;
  const isThere = (value: Json) => ends.some((end) => end[to]?.[String(value)] !== undefined);
  const found = records.filter(({ fields }) => isThere(fields[field]));
  const lost = records
    .filter(({ fields }) => !isThere(fields[field]))
    .map(({ at }) => `${at}: the logs do not show it`);
  return found.length === 0 ? [] : [{ ...evidence(found, lost), kind: 'refers', collection, field, to }];
}

function unique<R extends { readonly key: string }>(records: readonly R[]): R[] {
  return records.filter(({ key }, i) => records.findIndex((other) => other.key === key) === i);
}
