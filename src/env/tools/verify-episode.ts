// Did an episode solve its task? Every check that needs no judge, with its reason.

import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { remembered } from '../state/records.js';
import { stateHash, valueAt } from '../state/state.js';
import type { CallSpec, CheckResult, EpisodeEnd, ToolsDomain, ToolsTask, Verdict, VerifierSpec } from './domain.js';
import { checksAfterFaults } from './faults.js';
import { successfulCalls } from './message.js';
import { isSuccess } from './outcome.js';
import { isForbidding, processChecks } from './process-checks.js';
import { isSameBut, schemasAt } from './same-sets.js';
import { initialStateOf, referenceStateOf } from './situation.js';
import { matchOf } from './stated-values.js';

/**
 * Checks every part of the task's verifier. The reward is 1 if all passed, 0 if any failed (of a task with partial credit as `worthOf`
 * says), and null if none failed but one could not be decided (rubrics need a judge; some parts need rules the domain may not have)
 * or nothing need be done to pass.
 */
export function verifyEpisode(domain: ToolsDomain, task: ToolsTask, end: EpisodeEnd): Verdict {
  const found = (end: EpisodeEnd) => checksOf(domain, task, end);
  const checks = end.faults === undefined ? found(end) : checksAfterFaults(domain, task, end, found);
  if (isSolvedAtStart(domain, task)) checks.push(result('start', null, SOLVED_AT_START));
  return { reward: worthOf(domain, task, checks), checks };
}

/**
 * With partial credit a failure is worth the share of required changes: what passes before anything is done earns nothing. It is 0 if
 * something forbidden was done, and null while a part is undecided.
 */
export function worthOf(domain: ToolsDomain, task: ToolsTask, checks: readonly CheckResult[]): number | null {
  const reward = rewardOf(checks);
  if (reward !== 0 || task.verifier.partial !== true) return reward;
  if (checks.some(({ name, passed }) => passed === false && isForbidding(name))) return 0;
  const before = [...checksAtStart(domain, task)];
  const wanted = checks.filter(({ name, passed }) => {
    const at = before.findIndex((one) => one.name === name);
    const isGiven = at >= 0 && before.splice(at, 1)[0].passed === true;
    return passed === false || !(isGiven || isForbidding(name));
  });
  if (wanted.some(({ name, passed }) => passed === null && name !== 'start')) return null;
  return wanted.filter(({ passed }) => passed === true).length / wanted.length;
}

export const SOLVED_AT_START = 'its verifier passes before anything is done, so passing it earns no reward';

const atStart = new WeakMap<ToolsDomain, WeakMap<ToolsTask, readonly CheckResult[]>>();

function checksAtStart(domain: ToolsDomain, task: ToolsTask): readonly CheckResult[] {
  const ofDomain = remembered(atStart, domain, () => new WeakMap<ToolsTask, readonly CheckResult[]>());
  return remembered(ofDomain, task, () => {
    const start = initialStateOf(domain, task);
    return checksOf(domain, task, { initialState: start, finalState: start, messages: [] });
  });
}

/** Whether the verifier passes before anything is done, and forbids nothing: not where the task is to leave all as it is. */
export function isSolvedAtStart(domain: ToolsDomain, task: ToolsTask): boolean {
  const { state, notCalled = [], never = [] } = task.verifier;
  if (state !== undefined || notCalled.length + never.length > 0) return false;
  return rewardOf(checksAtStart(domain, task)) === 1;
}

function checksOf(domain: ToolsDomain, task: ToolsTask, end: EpisodeEnd): CheckResult[] {
  const { state, assert, communicate, called, notCalled, checks, rubric, rewards } = task.verifier;
  const calls = successfulCalls(end.messages);
  const results = [
    ...(state === 'reference' ? [checkReference(domain, task, end.finalState)] : []),
    ...(assert ?? []).map((expected) => checkValue(expected, end.finalState, domain)),
    ...(communicate ?? []).map((text) => checkStated(text, task.verifier, end)),
    ...(called ?? []).map((call) => checkCalled(call, calls, domain)),
    ...(notCalled ?? []).map((name) => checkNotCalled(name, calls)),
    ...processChecks(task.verifier, end.messages),
    ...(checks ?? []).map((name) => checkByRules(domain, name, end)),
    ...(rubric ?? []).map((sentence) => result(`rubric: ${sentence}`, null, 'needs a judge')),
    ...(rewards === 'sum' ? [checkPaid(end)] : []),
  ];
  if (results.length === 0) results.push(result('verifier', null, 'the task says nothing that could be checked'));
  return results;
}

/** What a check decided alone; else 1, 0, or null where a check is undecided and none failed. */
function rewardOf(checks: readonly CheckResult[]): number | null {
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
  if (stateHash(expected) === stateHash(final) || isSameBut(expected, final, schemasAt(domain.stateSchema)))
    return result(name, true, 'the end state is that of the reference');
  const paths = stateChanges(expected, final).map(({ path }) => `/${path.join('/')}`);
  const shown = paths.slice(0, SHOWN_DIFFERENCES).join(', ');
  const more = paths.length > SHOWN_DIFFERENCES ? ` and ${paths.length - SHOWN_DIFFERENCES} more` : '';
  return result(name, false, `the end state differs from that of the reference at ${shown}${more}`);
}

function checkValue(
  { path, equals, exists }: { path: string; equals?: Json; exists?: boolean },
  state: JsonObject,
  { stateSchema }: ToolsDomain,
): CheckResult {
  const found = valueAt(state, path);
  const name = `state: ${path}`;
  const held = found === undefined ? 'nothing is there' : `${shown(found)} is there, nothing should be`;
  if (exists !== undefined && exists !== (found !== undefined)) return result(name, false, held);
  if (equals === undefined) return result(name, true, found === undefined ? 'nothing is there' : 'it is there');
  if (found === undefined) return result(name, false, `nothing is there, ${shown(equals)} should be`);
  const isEqual = isSameBut(found, equals, schemasAt(stateSchema, path));
  return result(name, isEqual, isEqual ? `it is ${shown(found)}` : `it is ${shown(found)}, not ${shown(equals)}`);
}

const MATCH_REASONS = {
  stated: 'the user was told',
  unread: 'it was said before any answer of a tool held it',
  alternative: 'it was said as one of several alternatives',
  missing: 'the user was never told',
};

function checkStated(text: string, { communicate = [], grounded = false }: VerifierSpec, { messages }: EpisodeEnd) {
  const match = matchOf(text, communicate, messages, grounded);
  return result(`communicate: ${text}`, match === 'stated', MATCH_REASONS[match]);
}

function checkCalled(expected: CallSpec, calls: readonly CallSpec[], { tools }: ToolsDomain): CheckResult {
  const given = Object.entries(expected.arguments);
  const { parameters = {} } = tools.find(({ name }) => name === expected.name) ?? {};
  const isSame = (key: string, a: Json, b: Json) => isSameBut(a, b, schemasAt(parameters, pointerOf(key)));
  const isMade = calls.some(
    (call) =>
      call.name === expected.name &&
      given.every(([key, value]) => Object.hasOwn(call.arguments, key) && isSame(key, call.arguments[key], value)),
  );
  const name = `called: ${expected.name}(${given.length > 0 ? shown(expected.arguments) : ''})`;
  return result(name, isMade, isMade ? 'it was called and succeeded' : 'no such call succeeded');
}

function checkNotCalled(tool: string, calls: readonly CallSpec[]): CheckResult {
  const call = calls.find(({ name }) => name === tool);
  const reason = call === undefined ? 'no such call succeeded' : `it was called with ${shown(call.arguments)}`;
  return result(`not called: ${tool}`, call === undefined, reason);
}

function checkPaid({ paid = null }: EpisodeEnd): CheckResult {
  if (paid === null) return result('rewards', null, 'the real environment paid nothing that could be summed');
  return { ...result('rewards', isSuccess(paid), `the real environment paid ${paid}`), reward: paid };
}

function checkByRules({ rules }: ToolsDomain, name: string, end: EpisodeEnd): CheckResult {
  if (rules === undefined) return result(`check: ${name}`, null, 'the domain has no rules');
  try {
    const { passed, reason } = rules.check(name, end);
    return result(`check: ${name}`, passed, reason);
  } catch (error) {
    if (error instanceof ReverieError && error.code === 'RULES_FAILED')
      return result(`check: ${name}`, null, error.message);
    throw error;
  }
}

const pointerOf = (key: string) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;

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
