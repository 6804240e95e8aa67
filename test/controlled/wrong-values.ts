// Values that are not the right ones, and look as if they were.

import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import type { Rng } from '../../src/core/rng.js';

export function pick<T>(items: readonly T[], rng: Rng): T {
  return items[rng.int(items.length)];
}

/** Another value of the same kind; `others`: values that stand in the same place elsewhere. */
export function wrongValue(value: Json, others: readonly Json[], rng: Rng): Json {
  const alike = others.filter((other) => typeof other === typeof value && other !== value && typeof other !== 'object');
  if (alike.length > 0) return pick(alike, rng);
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + pick([1, -1, 2, 10], rng);
  if (typeof value === 'string') return wrongText(value, rng);
  if (value === null) return 'unknown';
  return wrongPart(value, rng);
}

function wrongPart(value: readonly Json[] | JsonObject, rng: Rng): Json {
  if (Array.isArray(value)) return value.length > 0 ? value.slice(0, -1) : ['unknown'];
  const keys = Object.keys(value);
  if (keys.length === 0) return { unknown: true };
  const key = pick(keys, rng);
  return { ...value, [key]: wrongValue((value as JsonObject)[key], [], rng) };
}

/** A digit changed; a text without digits, a word doubled. */
export function wrongText(text: string, rng: Rng): string {
  const digits = [...text.matchAll(/\d/g)].map(({ index }) => index);
  if (digits.length === 0) return text === '' ? 'unknown' : `${text} ${text.split(/\s+/).at(-1)}`;
  const at = pick(digits.slice(-2), rng);
  const digit = (Number(text[at]) + 1 + rng.int(8)) % 10;
  return `${text.slice(0, at)}${digit}${text.slice(at + 1)}`;
}

/** The text with an id in it that does not exist. */
export function withInventedId(text: string, rng: Rng): string {
  const ids =
    text.match(
      /[A-Z#][A-Z0-9_#]*-[A-Z0-9-]*\d[A-Z0-9-]*|\b[A-Z0-9]*\d[A-Z0-9]{4,}\b|\b[a-z]+_[a-z_]*\d{3,}|\b[a-z]+ \d+\b/g,
    ) ?? [];
  if (ids.length === 0) return `${text} (see REF-${90_000 + rng.int(10_000)})`;
  const id = pick(ids, rng);
  const invented = id.replace(/\d/g, () => String(rng.int(10))).replace(/\d$/, '9');
  return invented === id ? text.replace(id, `${id}9`) : text.replace(id, invented);
}
