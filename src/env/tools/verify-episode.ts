// Did an episode solve its task? Every check that needs no judge, with its reason.

import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { stateHash, valueAt } from '../state/state.js';
import type { CallSpec, CheckResult, EpisodeEnd, ToolsDomain, ToolsTask, Verdict } from './domain.js';
import { asHappened, checksAfterFaults } from './faults.js';
import { type SpokenMessage, spokenMessages, successfulCalls } from './message.js';
import { initialStateOf, referenceStateOf } from './situation.js';

/**
 * Checks every part of the task's verifier. The reward is 1 if all passed, 0 if any failed, and null if none failed but
 * one could not be decided (rubrics need a judge; some parts need rules the domain may not have) or nothing need be done to pass.
 */
export function verifyEpisode(domain: ToolsDomain, task: ToolsTask, end: EpisodeEnd): Verdict {
  const own = checksOf(domain, task, asHappened(end));
  const checks = end.faults === undefined ? own : checksAfterFaults(domain, task, end, own);
  if (isSolvedAtStart(domain, task)) checks.push(result('start', null, SOLVED_AT_START));
  return { reward: rewardOf(checks), checks };
}

export const SOLVED_AT_START = 'its verifier passes before anything is done, so passing it earns no reward';

const solvedAtStart = new WeakMap<ToolsDomain, WeakMap<ToolsTask, boolean>>();

/** Whether the verifier passes before anything is done, and forbids nothing: not where the task is to leave all as it is. */
export function isSolvedAtStart(domain: ToolsDomain, task: ToolsTask): boolean {
  const { state, notCalled = [] } = task.verifier;
  if (state !== undefined || notCalled.length > 0) return false;
  const known = solvedAtStart.get(domain) ?? new WeakMap<ToolsTask, boolean>();
  solvedAtStart.set(domain, known);
  const before = known.get(task);
  if (before !== undefined) return before;
  const start = initialStateOf(domain, task);
  const reward = rewardOf(checksOf(domain, task, { initialState: start, finalState: start, messages: [] }));
  known.set(task, reward === 1);
  return reward === 1;
}

function checksOf(domain: ToolsDomain, task: ToolsTask, end: EpisodeEnd): CheckResult[] {
  const { state, assert, communicate, called, notCalled, checks, rubric, rewards } = task.verifier;
  const calls = successfulCalls(end.messages);
  const results = [
    ...(state === 'reference' ? [checkReference(domain, task, end.finalState)] : []),
    ...(assert ?? []).map((expected) => checkValue(expected, end.finalState)),
    ...(communicate ?? []).map((text) => checkTold(text, communicate ?? [], end)),
    ...(called ?? []).map((call) => checkCalled(call, calls)),
    ...(notCalled ?? []).map((name) => checkNotCalled(name, calls)),
    ...(checks ?? []).map((name) => checkByRules(domain, name, end)),
    ...(rubric ?? []).map((sentence) => result(`rubric: ${sentence}`, null, 'needs a judge')),
    ...(rewards === 'sum' ? [checkPaid(end)] : []),
  ];
  if (results.length === 0) results.push(result('verifier', null, 'the task says nothing that could be checked'));
  return results;
}

/** What a check decided alone; else 1, 0, or null where a check is undecided and none failed. */
export function rewardOf(checks: readonly CheckResult[]): number | null {
  const decided = checks.find(({ reward }) => reward !== undefined);
  if (decided !== undefined) return decided.reward!;
  if (checks.some(({ passed }) => passed === false)) return 0;
  return checks.some(({ passed }) => passed === null) ? null : 1;
}

const SHOWN_DIFFERENCES = 3;

function checkReference(domain: ToolsDomain, task: ToolsTask, final: JsonObject): CheckResult {
  const name = 'state: reference';
  const expected = referenceStateOf(domain, task);
  if (expected === undefined) {
    const lack = task.reference === undefined ? 'the task has none' : 'the domain has no rules to run them all';
    return result(name, null, `no reference calls to compare with: ${lack}`);
  }
  if (stateHash(expected) === stateHash(final)) return result(name, true, 'the end state is that of the reference');
  const paths = stateChanges(expected, final).map(({ path }) => `/${path.join('/')}`);
  const shown = paths.slice(0, SHOWN_DIFFERENCES).join(', ');
  const more = paths.length > SHOWN_DIFFERENCES ? ` and ${paths.length - SHOWN_DIFFERENCES} more` : '';
  return result(name, false, `the end state differs from that of the reference at ${shown}${more}`);
}

function checkValue(
  { path, equals, exists }: { path: string; equals?: Json; exists?: boolean },
  state: JsonObject,
): CheckResult {
  const found = valueAt(state, path);
  const name = `state: ${path}`;
  if (exists !== undefined && exists !== (found !== undefined)) {
    return result(
      name,
      false,
      found === undefined ? 'nothing is there' : `${shown(found)} is there, nothing should be`,
    );
  }
  if (equals === undefined) return result(name, true, found === undefined ? 'nothing is there' : 'it is there');
  if (found === undefined) return result(name, false, `nothing is there, ${shown(equals)} should be`);
  const isEqual = canonicalJson(found) === canonicalJson(equals);
  return result(name, isEqual, isEqual ? `it is ${shown(found)}` : `it is ${shown(found)}, not ${shown(equals)}`);
}

const TOLD = {
  told: 'the user was told',
  alternative: 'it was said as one of several alternatives',
  untold: 'the user was never told',
};

function checkTold(text: string, all: readonly string[], { messages }: EpisodeEnd): CheckResult {
  const told = toldValue(text, all, spokenMessages(messages));
  return result(`communicate: ${text}`, told === 'told', TOLD[told]);
}

function checkCalled(expected: CallSpec, calls: readonly CallSpec[]): CheckResult {
  const given = Object.entries(expected.arguments);
  const isMade = calls.some(
    (call) =>
      call.name === expected.name &&
      given.every(([key, value]) => Object.hasOwn(call.arguments, key) && isSame(call.arguments[key], value)),
  );
  const name = `called: ${expected.name}(${given.length > 0 ? shown(expected.arguments) : ''})`;
  return result(name, isMade, isMade ? 'it was called and succeeded' : 'no such call succeeded');
}

function checkNotCalled(tool: string, calls: readonly CallSpec[]): CheckResult {
  const call = calls.find(({ name }) => name === tool);
  const reason = call === undefined ? 'no such call succeeded' : `it was called with ${shown(call.arguments)}`;
  return result(`not called: ${tool}`, call === undefined, reason);
}

/** Above this an episode counts as a success, wherever successes are counted. */
const SUCCESS = 0.5;

function checkPaid({ paid = null }: EpisodeEnd): CheckResult {
  if (paid === null) return result('rewards', null, 'the real environment paid nothing that could be summed');
  return { ...result('rewards', paid > SUCCESS, `the real environment paid ${paid}`), reward: paid };
}

function checkByRules({ rules }: ToolsDomain, name: string, end: EpisodeEnd): CheckResult {
  if (rules === undefined) return result(`check: ${name}`, null, 'the domain has no rules');
  try {
    const { passed, reason } = rules.check(name, end);
    return result(`check: ${name}`, passed, reason);
  } catch (error) {
    if (error instanceof ReverieError && error.code === 'RULES_FAILED') {
      return result(`check: ${name}`, null, error.message);
    }
    throw error;
  }
}

function isSame(a: Json, b: Json): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

function shown(value: Json): string {
  const text = canonicalJson(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function result(name: string, passed: boolean | null, reason: string): CheckResult {
  return { name, passed, reason };
}

// What changed between two states that share their unchanged parts, found in time linear in what is not shared. Elements of lists are
// compared by position.

/** A change in immer's form: keys instead of a pointer. */
export interface StateChange {
  readonly op: 'add' | 'remove' | 'replace';
  readonly path: readonly (string | number)[];
  readonly value?: Json;
}

/**
 * Changes that lead from one state to the other, in an order in which they apply; none if they are equal. The result has
 * its keys in the same order too, as what rules answer may depend on it.
 */
export function stateChanges(before: JsonObject, after: JsonObject): StateChange[] {
  const changes: StateChange[] = [];
  compare(before, after, [], changes);
  return changes;
}

function compare(a: Json, b: Json, path: readonly (string | number)[], changes: StateChange[]): void {
  if (a === b) return;
  if (Array.isArray(a) && Array.isArray(b)) compareLists(a, b, path, changes);
  else if (isJsonObject(a) && isJsonObject(b)) compareObjects(a, b, path, changes);
  else changes.push({ op: 'replace', path, value: b });
}

function compareLists(a: readonly Json[], b: readonly Json[], path: readonly (string | number)[], out: StateChange[]) {
  const common = Math.min(a.length, b.length);
  for (let i = 0; i < common; i++) compare(a[i], b[i], [...path, i], out);
  for (let i = a.length - 1; i >= common; i--) out.push({ op: 'remove', path: [...path, i] });
  for (let i = common; i < b.length; i++) out.push({ op: 'add', path: [...path, i], value: b[i] });
}

function compareObjects(a: JsonObject, b: JsonObject, path: readonly (string | number)[], out: StateChange[]) {
  const kept = Object.keys(a).filter((key) => Object.hasOwn(b, key));
  const added = Object.keys(b).filter((key) => !Object.hasOwn(a, key));
  if (!isInOrder(Object.keys(b), [...kept, ...added])) {
    out.push({ op: 'replace', path, value: b });
    return;
  }
  for (const key of Object.keys(a)) {
    if (!Object.hasOwn(b, key)) out.push({ op: 'remove', path: [...path, key] });
    else compare(a[key], b[key], [...path, key], out);
  }
  for (const key of added) out.push({ op: 'add', path: [...path, key], value: b[key] });
}

/** Whether keys that are made one after the other come in this order; whole numbers go first in any object. */
function isInOrder(order: readonly string[], made: readonly string[]): boolean {
  const names = made.filter((key) => !/^\d+$/.test(key));
  return names.every((key, i) => order[order.length - names.length + i] === key);
}

type Told = 'told' | 'alternative' | 'untold';

/**
 * Whether the assistant told the user `wanted`: case does not count. `all` are the values the task wants told: a list of them is no guess,
 * one with any other value is.
 */
function toldValue(wanted: string, all: readonly string[], messages: readonly SpokenMessage[]): Told {
  const said = messages.flatMap((message) => (message.role === 'assistant' ? [message.content] : []));
  const found = said.map((text) => toldIn(text, wanted, all));
  if (found.includes('told')) return 'told';
  return found.includes('alternative') ? 'alternative' : 'untold';
}

interface Token {
  readonly text: string;
  readonly at: number;
  readonly end: number;
}

/** A number with its separators: 1,120.50 or 1.120,50 or 1'120 or 12,5. */
const NUMBER =
  /[-−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:['’\u00a0\u202f]\d{3})+(?:[.,]\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d+\.\d+|\d+,\d{1,2}(?![\d,])|\d+)/y;
/** Ids, dates, times and other words, with what holds them together. */
const WORD = /[\p{L}\p{N}]+(?:[-_][\p{L}\p{N}]+|(?<=\d)[.:/](?=\d)[\p{L}\p{N}]+)*/uy;

function toldIn(text: string, wanted: string, all: readonly string[]): Told {
  const isToken = numberOf(wanted) !== undefined || (/\d/.test(wanted) && tokensOf(wanted)[0]?.text === wanted);
  if (!isToken) return holdsPhrase(text, wanted) ? 'told' : 'untold';
  const values = tokensOf(text).filter((token) => /\d/.test(token.text));
  const at = values.flatMap((token, i) => (isSameValue(token.text, wanted) ? [i] : []));
  if (at.length === 0) return 'untold';
  const isOther = ({ text: value }: Token) => !all.some((each) => isSameValue(value, each));
  return at.some((i) => !alternativesOf(text, values, i).some(isOther)) ? 'told' : 'alternative';
}

function isSameValue(said: string, wanted: string): boolean {
  const number = numberOf(wanted);
  return number === undefined ? fold(said) === fold(wanted) : numberOf(said) === number;
}

/** Values this many and more in a row, with only commas between, are a list to choose from. */
const LISTED = 3;
const OR = /^(?:\s*[\p{L}\p{Sc}%]+){0,2}\s*,?\s*\b(?:and\/)?or\b(?:\s+(?:maybe|perhaps|even|possibly))?\s*\p{Sc}?$/iu;
const COMMA = /^\s*[,;|–]\s*\p{Sc}?$/u;

/** The values said as others that might be meant beside one: joined by "or", by a dash or in a bare list, but not by "and". */
function alternativesOf(text: string, values: readonly Token[], at: number): readonly Token[] {
  const gap = (i: number) => text.slice(values[i].end, values[i + 1]?.at);
  const isNumber = (i: number) => numberOf(values[i].text) !== undefined;
  const joins = (i: number) => isNumber(i) === isNumber(i + 1) && (OR.test(gap(i)) || COMMA.test(gap(i)));
  let [first, last] = [at, at];
  while (first > 0 && joins(first - 1)) first--;
  while (last + 1 < values.length && joins(last)) last++;
  const list = values.slice(first, last + 1);
  const gaps = list.slice(1).map((_, i) => gap(first + i));
  if (gaps.some((each) => OR.test(each) || each.trim().startsWith('–'))) return list;
  const isEnumerated = last + 1 < values.length && /^\s*,?\s*(?:and|&)\s*\p{Sc}?$/iu.test(gap(last));
  const before = text.slice(0, values[first].at);
  if (isEnumerated && /\bbetween\s*\p{Sc}?$/iu.test(before)) return [...list, values[last + 1]];
  if (first > 0 && /\bbetween\s+\S+\s+and\s*\p{Sc}?$/iu.test(before)) return [values[first - 1], ...list];
  return isEnumerated || list.length < LISTED ? [] : list;
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    NUMBER.lastIndex = at;
    WORD.lastIndex = at;
    const word = WORD.exec(text)?.[0] ?? '';
    const number = NUMBER.exec(text)?.[0] ?? '';
    // "12kg" tells 12, "12-B" and "2026-05-12" are names of their own.
    const unit = /^\p{L}*$/u.test(word.slice(number.length)) || number.length > word.length;
    const token = number !== '' && unit ? number : word;
    if (token !== '') tokens.push({ text: token, at, end: at + token.length });
    at += Math.max(1, token.length);
    // The rest of "12kg" is its unit.
    if (token === number && token !== '') while (/\p{L}/u.test(text[at] ?? '')) at++;
  }
  return tokens;
}

/** The number that a text writes, without its currency or percent sign. */
function numberOf(text: string): number | undefined {
  const bare = text
    .trim()
    .replace(/^([-−]?)\s*\p{Sc}\s*/u, '$1')
    .replace(/\s*[\p{Sc}%]$/u, '');
  NUMBER.lastIndex = 0;
  if (NUMBER.exec(bare)?.[0] !== bare || bare === '') return undefined;
  const plain = bare.replace('−', '-').replaceAll(/['’\u00a0\u202f]/g, '');
  const isComma = /,\d{1,2}$/.test(plain) || /\.\d{3},\d+$/.test(plain);
  return Number(isComma ? plain.replaceAll('.', '').replace(',', '.') : plain.replaceAll(',', ''));
}

/** Several words, as they stand: no letter or digit may go on at either end. */
function holdsPhrase(text: string, phrase: string): boolean {
  const [whole, part] = [fold(text), fold(phrase)];
  for (let at = whole.indexOf(part); at >= 0 && part !== ''; at = whole.indexOf(part, at + 1)) {
    const goesOn = (i: number, edge: number) =>
      /[\p{L}\p{N}]/u.test(whole[i] ?? '') && /[\p{L}\p{N}]/u.test(part.at(edge)!);
    if (!goesOn(at - 1, 0) && !goesOn(at + part.length, -1)) return true;
  }
  return false;
}

function fold(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/(?<=\d),(?=\d{3})/g, '')
    .replaceAll(/\s+/g, ' ');
}
