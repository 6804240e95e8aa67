// Whether an answer says what is true, and whether a change is the one that should have been made. Typed values decide: what
// was said in other words, in another order or with less beside it still counts; what holds nothing of the truth does not.

import { isJsonObject, type Json, type JsonObject, parsedJson } from '../../core/canonical-json.js';
import { type StateChange, stateChanges } from '../../env/tools/verify-episode.js';

/** Where the truth of a read comes from: what the rules or a record answered, or the entries of the state that a call names. */
type TruthSource = 'rules' | 'record' | 'state';

export interface AnswerTruth {
  /** The answer as the environment writes it. */
  readonly says: string;
  readonly from: TruthSource;
}

/** Share of facts on which two answers must agree (Dice's coefficient), so that one counts as the other. */
const LEAST_AGREEMENT = 0.5;
const WORD = /[\p{L}\p{N}]+(?:[_.:-][\p{L}\p{N}]+)*/gu;
const SHORTEST_WORD = 3;

/** Facts that an answer to a call tells beyond what the call itself says. */
export function factsTold(answer: string, given: JsonObject): Set<string> {
  const values = jsonOf(answer);
  const facts = values === undefined ? wordsOf(answer) : new Set(leavesOf(values));
  for (const known of leavesOf(given)) facts.delete(known);
  return facts;
}

/**
 * Whether an answer to a call tells the truth: at least half of all facts of both agree. Of entries of the state
 * a tool tells a part: there at least half of what is told must be in them.
 */
export function isTrueAnswer({ says, from }: AnswerTruth, answer: string, given: JsonObject): boolean {
  const isData = [says, answer].every((text) => jsonOf(text) !== undefined);
  const facts = (text: string) => (isData ? factsTold(text, given) : withoutWords(wordsOf(text), given));
  const [truth, told] = [facts(says), facts(answer)];
  if (truth.size === 0) return told.size === 0 && answer.trim() !== '';
  return agreement(truth, told, from === 'state') >= LEAST_AGREEMENT;
}

/** Whether two calls changed a state alike, ids of new entries apart: at least half of all changed values agree. */
export function isTrueChange(before: JsonObject, should: JsonObject, is: JsonObject): boolean {
  const truth = new Set(stateChanges(before, should).flatMap(changedValues));
  return agreement(truth, new Set(stateChanges(before, is).flatMap(changedValues)), false) >= LEAST_AGREEMENT;
}

function agreement(truth: ReadonlySet<string>, told: ReadonlySet<string>, isPart: boolean): number {
  const common = [...told].filter((fact) => truth.has(fact)).length;
  if (common === 0) return 0;
  return isPart ? common / told.size : (2 * common) / (truth.size + told.size);
}

function changedValues({ op, path, value }: StateChange): string[] {
  const isEntry = op === 'add' && isJsonObject(value);
  const at = `/${(isEntry ? [...path.slice(0, -1), '*'] : path).join('/')}`;
  if (value === undefined) return [`${op} ${at}`];
  const leaves = leavesOf(value);
  return leaves.length === 0 ? [`${at}=${JSON.stringify(value)}`] : leaves.map((leaf) => `${at}=${leaf}`);
}

/** Scalars in a value, lower case; of truth values and nulls also their key, which alone says what they mean. */
function leavesOf(value: Json, key = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => leavesOf(each, key));
  if (isJsonObject(value)) return Object.entries(value).flatMap(([name, each]) => leavesOf(each, name));
  if (typeof value === 'boolean' || value === null) return [`${key}:${value}`.toLowerCase()];
  return [String(value).toLowerCase()];
}

function wordsOf(text: string): Set<string> {
  const words = (text.toLowerCase().match(WORD) ?? []).filter((word) => word.length >= SHORTEST_WORD);
  return new Set(words);
}

function withoutWords(words: Set<string>, given: JsonObject): Set<string> {
  for (const word of wordsOf(JSON.stringify(given))) words.delete(word);
  return words;
}

/** Data in an answer; undefined where it is a text, a number on its own among them. */
function jsonOf(text: string): JsonObject | Json[] | undefined {
  const value = parsedJson(text);
  return Array.isArray(value) || isJsonObject(value) ? (value as JsonObject | Json[]) : undefined;
}
