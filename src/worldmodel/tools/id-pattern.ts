// What an id looks like in a domain, learned from the ids its state has: the shape of each (`HAT001`: three capitals, three
// digits), or, where ids are of many shapes (`4WQ150`), their letters' case and length. Words without a digit are never ids.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import { wordsOf } from './tokens.js';

/** Whether a word looks like an id of the domain. */
export type IdPattern = (word: string) => boolean;

/** From this many shapes on, ids of one make are told by case and length alone. */
const MANY_SHAPES = 8;
/** Shorter numbers are amounts and counts as well. */
const SHORTEST_NUMBER = 6;
const ID_FIELD = /(^|_)ids?$|Ids?$/;
const DATE = /^\d{4}-\d{2}(-\d{2})?(T|$)/;

/** Least and most characters of each run of a shape, and of the whole word. */
type Lengths = readonly (readonly [number, number])[];

const learned = new WeakMap<JsonObject, IdPattern>();

/** `more`: regular expressions of ids that the state does not show. Learned once for a domain's initial state. */
export function idPatternOf(domain: ToolsDomain, more: readonly string[] = []): IdPattern {
  const fromState = learned.get(domain.initialState) ?? learnPattern(domain.initialState);
  learned.set(domain.initialState, fromState);
  if (more.length === 0) return fromState;
  const expressions = more.map((source) => new RegExp(`^(?:${source})$`, 'u'));
  return (word) => fromState(word) || expressions.some((expression) => expression.test(word));
}

function learnPattern(state: JsonObject): IdPattern {
  const fine = new Map<string, Lengths>();
  const coarse = new Map<string, Lengths>();
  const shapesOfMake = new Map<string, Set<string>>();
  for (const id of idsIn(state)) {
    const shape = fineShape(id);
    const make = coarseShape(id);
    fine.set(shape, widened(fine.get(shape), runLengths(id, FINE_RUN)));
    coarse.set(make, widened(coarse.get(make), runLengths(id, COARSE_RUN)));
    shapesOfMake.set(make, (shapesOfMake.get(make) ?? new Set()).add(shape));
  }
  return (word) => {
    if (!isIdLike(word)) return false;
    if (fits(fine.get(fineShape(word)), runLengths(word, FINE_RUN))) return true;
    const make = coarseShape(word);
    if ((shapesOfMake.get(make)?.size ?? 0) < MANY_SHAPES) return false;
    return fits(coarse.get(make), runLengths(word, COARSE_RUN));
  };
}

function idsIn(state: JsonObject): Set<string> {
  const ids = new Set<string>();
  const open: Json[] = [state];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (typeof part !== 'object' || part === null) continue;
    const isList = Array.isArray(part);
    for (const [key, value] of Object.entries(part) as [string, Json][]) {
      if (!isList) for (const id of idsOfField(key, value)) if (isIdLike(id)) ids.add(id);
      open.push(value);
    }
  }
  return ids;
}

function idsOfField(key: string, value: Json): readonly string[] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return [key];
  if (!ID_FIELD.test(key)) return [];
  const values: readonly Json[] = Array.isArray(value) ? value : [value];
  return values.filter((id) => typeof id === 'string');
}

function isIdLike(word: string): boolean {
  if (!/\d/.test(word) || DATE.test(word)) return false;
  if (/^\d+$/.test(word)) return word.length >= SHORTEST_NUMBER;
  return wordsOf(word)[0] === word;
}

const FINE_RUN = /\p{Lu}+|\p{Ll}+|\p{N}+/gu;
const COARSE_RUN = /[\p{L}\p{N}]+/gu;

/** `mia_li_3668`: `a_a_9`. */
function fineShape(word: string): string {
  return word.replace(FINE_RUN, (run) => (/\p{N}/u.test(run) ? '9' : /\p{Lu}/u.test(run) ? 'A' : 'a'));
}

/** `4WQ150`: `A:x`; `4wq-150`: `a:x-x`. */
function coarseShape(word: string): string {
  const cases = `${/\p{Lu}/u.test(word) ? 'A' : ''}${/\p{Ll}/u.test(word) ? 'a' : ''}`;
  return `${cases}:${word.replace(COARSE_RUN, 'x')}`;
}

function runLengths(word: string, run: RegExp): number[] {
  return [word.length, ...(word.match(run) ?? []).map((part) => part.length)];
}

function widened(before: Lengths | undefined, lengths: readonly number[]): Lengths {
  return lengths.map((length, i) => {
    const [least, most] = before?.[i] ?? [length, length];
    return [Math.min(least, length), Math.max(most, length)];
  });
}

function fits(range: Lengths | undefined, lengths: readonly number[]): boolean {
  return range !== undefined && lengths.every((length, i) => length >= range[i][0] && length <= range[i][1]);
}
