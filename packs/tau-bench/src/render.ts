// What a tool returns, as the text an agent sees: `json.dumps` of the value. The successor writes the fields of its data
// model in order, null for what is missing; the first release writes whatever the data holds.

import type { Json, JsonObject } from 'reverie/extend';
import type { DataModel, RecordModel } from './data-model.js';
import { pythonAtom, pythonFloat, pythonJsonString, pythonList, pythonNumber, pythonObject } from './python-text.js';

export interface RenderStyle {
  /** Whether records are written by their model, rather than as they are. */
  readonly byModel: boolean;
  /** Whether decimals always have a point: 10.0, not 10. */
  readonly decimalPoint: boolean;
  /** Where in the data's file a key of digits stands: JavaScript sorts such keys, Python keeps their order. */
  readonly keyRanks: ReadonlyMap<string, number>;
}

/** Ranks of the keys of digits in a JSON text, by where they first stand. */
export function rankDigitKeys(json: string): ReadonlyMap<string, number> {
  const ranks = new Map<string, number>();
  for (const [, key] of json.matchAll(/(?<!\\)"(\d+)"\s*:/g)) {
    if (!ranks.has(key)) ranks.set(key, ranks.size);
  }
  return ranks;
}

export function renderJson(value: Json, model: DataModel | undefined, style: RenderStyle): string {
  if (Array.isArray(value)) {
    const of = model?.kind === 'list' ? model.of : undefined;
    return pythonList(value.map((part: Json) => renderJson(part, of, style)));
  }
  if (typeof value === 'object' && value !== null) return renderObject(value as JsonObject, model, style);
  if (typeof value === 'number' && model?.kind === 'decimal') {
    return style.decimalPoint ? pythonFloat(value) : pythonNumber(value);
  }
  return pythonAtom(value);
}

function renderObject(value: JsonObject, model: DataModel | undefined, style: RenderStyle): string {
  if (model?.kind === 'union') return renderObject(value, model.of[String(value[model.by])], style);
  if (model?.kind === 'record' && style.byModel) return renderRecord(value, model, style);
  const partOf = (key: string): DataModel | undefined => {
    if (model?.kind === 'map') return model.of;
    return model?.kind === 'record' ? model.fields[key] : undefined;
  };
  return pythonObject(keysInOrder(value, style).map((key) => [key, renderJson(value[key], partOf(key), style)]));
}

function renderRecord(value: JsonObject, { fields }: RecordModel, style: RenderStyle): string {
  return pythonObject(
    Object.entries(fields).map(([key, part]) => [key, key in value ? renderJson(value[key], part, style) : 'null']),
  );
}

function keysInOrder(value: JsonObject, { keyRanks }: RenderStyle): readonly string[] {
  const keys = Object.keys(value);
  if (keys.length < 2 || !/^\d+$/.test(keys[0])) return keys;
  const rank = (key: string) => keyRanks.get(key) ?? keyRanks.size;
  return keys.sort((a, b) => rank(a) - rank(b));
}

/** A mapping of names, sorted by them, as `json.dumps(..., sort_keys=True)`. */
export function renderSorted(entries: ReadonlyMap<string, string>): string {
  const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return pythonObject(sorted.map(([key, text]) => [key, pythonJsonString(text)]));
}
