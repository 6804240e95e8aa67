// Finds defects of tasks by running them: the reference as an agent would follow it, and cheats, which the verifier has to
// refuse. A defect excludes only its own task from rewards; a finding that may be intended is only reported.

import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { remembered } from '../../core/remembered.js';
import { stateHash } from '../../env/state/state.js';
import type { CallSpec, EpisodeEnd, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { firstTools, proposalOf } from '../../env/tools/process-checks.js';
import { isWorkedOutLater, rulesResponder } from '../../env/tools/rules-responder.js';
import { isSameBut, schemasAt } from '../../env/tools/same-sets.js';
import { holdsValue, valuesIn } from '../../env/tools/stated-values.js';
import type { Responder } from '../../env/tools/tools-family.js';
import { isSolvedAtStart, SOLVED_AT_START } from '../../env/tools/verify-episode.js';
import { Entities } from './entity-swap.js';
import { hiddenIds } from './hidden-ids.js';
import { checkReference, checksOf, type Played, playCalls } from './task-checks.js';

export type FindingKind =
  | 'solved-at-start'
  | 'reference-fails'
  | 'untold-id'
  | 'passes-nothing'
  | 'passes-words'
  | 'passes-alternatives'
  | 'passes-failure'
  | 'passes-left-out'
  | 'passes-other'
  | 'passes-out-of-order'
  | 'passes-unasked'
  | 'passes-unread'
  | 'fails-other-order';

export interface TaskFinding {
  readonly task: string;
  readonly kind: FindingKind;
  /** One sentence. */
  readonly problem: string;
  /** Whether it excludes the task from rewards. */
  readonly shuts: boolean;
}

type Found = Omit<TaskFinding, 'task'>;

interface Linted {
  readonly domain: ToolsDomain;
  readonly task: ToolsTask;
  readonly responder: Responder;
}

const known = new WeakMap<object, WeakMap<ToolsTask, Promise<readonly TaskFinding[]>>>();

/**
 * Uses the domain's exact rules; without rules only static findings. Tasks whose work is computed at their start are
 * left out, since each start may take minutes. Cached.
 */
export function lintTask(domain: ToolsDomain, task: ToolsTask): Promise<readonly TaskFinding[]> {
  const key = domain.rules ?? domain.initialState;
  const ofDomain = remembered(known, key, () => new WeakMap<ToolsTask, Promise<readonly TaskFinding[]>>());
  return remembered(ofDomain, task, () => linted(domain, task));
}

export async function lintTasks(domain: ToolsDomain, tasks: readonly ToolsTask[]): Promise<TaskFinding[]> {
  const findings: TaskFinding[] = [];
  for (const task of tasks) findings.push(...(await lintTask(domain, task)));
  return findings;
}

/** Why episodes of a task receive no reward; undefined if they may. */
export async function defectOf(domain: ToolsDomain, task: ToolsTask): Promise<string | undefined> {
  const defect = (await lintTask(domain, task)).find(({ shuts }) => shuts);
  return defect && `the task is not fit to be rewarded: ${defect.problem}`;
}

async function linted(domain: ToolsDomain, task: ToolsTask): Promise<readonly TaskFinding[]> {
  if (isWorkedOutLater(task)) return [];
  const { rules } = domain;
  const { reference, failures = [], verifier } = task;
  if (isSolvedAtStart(domain, task)) return [{ task: task.id, ...defect('solved-at-start', SOLVED_AT_START) }];
  const found: Found[] = [];
  const called = [...(reference?.calls ?? []), ...failures.flatMap(({ calls }) => calls)];
  if (rules !== undefined && reference !== undefined && called.every(({ name }) => rules.tools.has(name))) {
    const spoken = { ...reference, say: reference.say ?? verifier.communicate?.join('. ') };
    const asked: Linted = { domain, task: { ...task, reference: spoken }, responder: rulesResponder(domain, 'rules') };
    found.push(...(await playedFindings(asked)));
  }
  return found.map((one) => ({ task: task.id, ...one }));
}

async function playedFindings(asked: Linted): Promise<Found[]> {
  const { domain, task, responder } = asked;
  const { played } = await checkReference(domain, task, responder);
  const { end, answers } = played;
  const lost = checksOf(domain, task, end, end.finalState).find(({ passed }) => passed === false);
  if (lost !== undefined)
    return [defect('reference-fails', `its verifier fails its reference: ${lost.name}: ${lost.reason}`)];
  const found: Found[] = [];
  const refused = answers.find(({ call, prediction }) => prediction.isError && toolOf(domain, call)?.kind === 'write');
  // A reference that should change something but does not is invalid.
  const isFutile = task.verifier.state === 'reference' && stateHash(end.initialState) === stateHash(end.finalState);
  if (refused !== undefined) {
    const problem = `its reference's ${refused.call.name} is refused: ${refused.prediction.observation.slice(0, 200)}`;
    found.push({ kind: 'reference-fails', problem, shuts: isFutile });
  }
  const late = task.reference!.calls.length - answers.length;
  if (late > 0) found.push(defect('reference-fails', `the last ${late} calls of its reference come after its end`));
  for (const { at, problem } of await hiddenIds(asked, answers)) {
    const { calls, say } = task.reference!;
    const others = calls.filter((_, i) => i !== at);
    const { end: without } = await playCalls(asked, others, say);
    // An unnecessary look-up does not invalidate the reward.
    const shuts = checksOf(domain, task, without, end.finalState).some(({ passed }) => passed === false);
    found.push({ kind: 'untold-id', problem, shuts });
  }
  // Cheats cannot be tested on parts that a judge decides.
  if (task.verifier.rubric?.length) return found;
  return [...found, ...(await cheatFindings(asked, played)).findings, ...(await orderFindings(asked, played))];
}

interface Cheat {
  readonly kind: FindingKind;
  /** Description: "leaves out cancel_order". */
  readonly who: string;
  readonly calls: readonly CallSpec[];
  readonly say?: string;
  /** Index of the call that it omits or changes. */
  readonly at?: number;
  /** Whether it calls without the required consent. */
  readonly asks?: false;
  readonly shuts?: boolean;
  /** Advice. */
  readonly hint?: string;
}

/** These omit look-ups, and otherwise equal the reference. */
const UNDONE: readonly FindingKind[] = ['passes-unread', 'passes-out-of-order'];

/** Maximum number of cheats derived from the reference, beside the task's own. */
const MOST_CHEATS = 24;

/** Cheats that the verifier passes, and the number that it refuses. */
export async function cheatFindings(
  asked: Linted,
  reference: Played,
): Promise<{ findings: TaskFinding[]; refused: number }> {
  const { domain, task } = asked;
  const { finalState, initialState } = reference.end;
  const { state } = task.verifier;
  const idle = { initialState, finalState: initialState, messages: [] };
  const isIdle = checksOf(domain, task, idle, finalState).every(({ passed }) => passed !== false);
  const given = (task.failures ?? []).map(
    ({ name, ...failure }): Cheat => ({ kind: 'passes-failure', who: name, ...failure }),
  );
  const findings: TaskFinding[] = [];
  let refused = 0;
  // Calls that the verifier does not require.
  const needless = new Set<number | undefined>();
  for (const cheat of [...given, ...cheatsOf(asked, reference, isIdle).slice(0, MOST_CHEATS)]) {
    const { kind, who, calls, say, asks, at, shuts = true, hint = '' } = cheat;
    if (kind === 'passes-other' && needless.has(at)) continue;
    const isRefused = async (words: string | undefined) => {
      const { end } = await playCalls({ ...asked, asks }, calls, words);
      return checksOf(domain, task, end, finalState).some(({ passed }) => passed === false);
    };
    // If the verifier ignores messages, their wording does not matter.
    if (kind === 'passes-alternatives' && !(await isRefused(undefined))) continue;
    const { end } = await playCalls({ ...asked, asks }, calls, say);
    // An episode equal to the reference is not a cheat.
    if (!given.includes(cheat) && asks !== false && !UNDONE.includes(kind) && isAlike(domain, end, reference.end))
      continue;
    if (checksOf(domain, task, end, finalState).some(({ passed }) => passed === false)) refused++;
    else {
      // If the end state is the same without a call, the call was not needed.
      const isSame =
        state === 'reference' && kind === 'passes-left-out' && stateHash(end.finalState) === stateHash(finalState);
      const isEnd = at !== undefined && toolOf(domain, task.reference!.calls[at])?.terminates === true;
      findings.push({
        task: task.id,
        kind,
        problem: `the verifier lets pass who ${who}${hint}`,
        shuts: shuts && (!isSame || isEnd),
      });
      if (at !== undefined) needless.add(at);
    }
  }
  return { findings, refused };
}

/** Same end state, effective calls and last message. */
function isAlike(domain: ToolsDomain, a: EpisodeEnd, b: EpisodeEnd): boolean {
  if (stateHash(a.finalState) !== stateHash(b.finalState)) return false;
  const deeds = ({ messages }: EpisodeEnd) =>
    messages.flatMap((one) => {
      if (one.role !== 'assistant') return [];
      const calls = (one.toolCalls ?? []).filter((call) => toolOf(domain, call)?.kind !== 'read');
      return [
        ...calls.map(({ name, arguments: given }) => canonicalJson([name, given])),
        ...(one.content ? [one.content] : []),
      ];
    });
  return canonicalJson(deeds(a)) === canonicalJson(deeds(b));
}

/** @param isIdle whether an episode without actions passes: the task is to change nothing */
function cheatsOf({ domain, task }: Linted, { answers, end }: Played, isIdle: boolean): Cheat[] {
  const { calls, say } = task.reference!;
  const { communicate = [], confirmed = [], state, checks = [] } = task.verifier;
  const without = (left: (i: number) => boolean) => calls.filter((_, i) => !left(i));
  // Effective calls: those that change the state or end the episode.
  const acts = answers.flatMap(({ call, prediction }, i) =>
    (prediction.operations.length > 0 && !isIdle) || toolOf(domain, call)?.terminates ? [i] : [],
  );
  const cheats: Cheat[] = [];
  const add = (kind: FindingKind, who: string, made: Partial<Cheat>) => cheats.push({ kind, who, calls, say, ...made });
  if (!isIdle || acts.length > 0) add('passes-nothing', 'does nothing', { calls: [], say: undefined });
  else {
    const stalling = { calls: [], say: 'One moment, please.', hint: ': nothing that is said is verified' };
    add('passes-nothing', 'does nothing and says anything', { ...stalling, shuts: false });
  }
  const asked = calls.flatMap((call) => (confirmed.includes(call.name) ? [proposalOf(call)] : [])).join('\n');
  if (communicate.some((value) => !holdsValue(asked, value))) add('passes-words', 'tells nothing', { say: undefined });
  if (acts.length > 0)
    add('passes-words', 'claims without doing', { calls: without((i) => acts.includes(i)), say: say ?? 'Done.' });
  // A word may describe a refusal without a look-up; a number or an id was read somewhere.
  else if (communicate.some((value) => /\d/.test(value)) && calls.length > 0) {
    const words = [task.user.opening ?? task.user.goal, ...(task.user.script ?? []).map((line) => line.say)].join('\n');
    const isGiven = communicate.every((value) => holdsValue(words, value));
    const hint = isGiven ? ', which the user has said' : ': `grounded: true` asks that it was read first';
    add('passes-unread', 'says it and looks nothing up', { calls: [], hint, shuts: isGiven });
  }
  for (const [at, call] of calls.entries()) {
    const answer = answers[at]?.prediction.observation ?? '';
    const later = JSON.stringify([calls.slice(at + 1), say ?? '']);
    const isDeed = toolOf(domain, call)?.kind === 'generic' && answer !== '';
    if (acts.includes(at) ? acts.length < 2 : !isDeed || valuesIn(answer).some((value) => holdsValue(later, value)))
      continue;
    // If the domain's code decides, an optional call may be irrelevant, as may a call without effect.
    const left = { at, calls: without((i) => i === at), shuts: acts.includes(at) && checks.length === 0 };
    add('passes-left-out', `leaves out ${call.name} (call ${at + 1})`, left);
  }
  const changes = acts.filter((at) => answers[at].prediction.operations.length > 0);
  const entities = new Entities(end.initialState);
  const wish = [task.user.opening, task.user.goal].join('\n').toLowerCase().replaceAll('_', ' ');
  // `state: reference` already refuses other end states.
  for (const at of state === undefined ? changes : []) {
    const properties = (toolOf(domain, calls[at])?.parameters.properties ?? {}) as JsonObject;
    for (const [key, value] of Object.entries(calls[at].arguments))
      for (const other of otherValues(value, { entities, wish, schema: properties[key] })) {
        const wrong = { ...calls[at], arguments: { ...calls[at].arguments, [key]: other } };
        add('passes-other', `${wrong.name} with ${key} ${String(other)}`, { at, calls: calls.with(at, wrong) });
      }
  }
  const hedged = alternatives(say ?? '', communicate);
  if (hedged !== say) add('passes-alternatives', 'lists alternatives', { say: hedged });
  const isConfirmed = calls.some(({ name }) => confirmed.includes(name));
  if (isConfirmed || (changes.length > 0 && asksForConsent(domain.policy))) {
    const hint = isConfirmed ? '' : ', though the policy wants a yes first: `confirmed` verifies that';
    add('passes-unasked', 'does it without asking', { asks: false, shuts: isConfirmed, hint });
  }
  for (const first of changes.length > 0 ? askedFirst(domain) : []) {
    const at = calls.findIndex(({ name }) => name === first);
    if (at < 0 || at > changes[0]) continue;
    const isDeclared = Object.keys(task.verifier.before ?? {}).some((names) => firstTools(names).includes(first));
    const hint = isDeclared ? '' : ', which the policy asks for first: `before` verifies that';
    const left = { calls: without((i) => calls[i].name === first), shuts: isDeclared, hint };
    add('passes-out-of-order', `goes without ${first}`, left);
  }
  return cheats;
}

/** Reordered solutions with the same end state, list order aside, must pass as well. */
async function orderFindings(asked: Linted, { answers, end }: Played): Promise<Found[]> {
  const { domain, task } = asked;
  const { calls, say } = task.reference!;
  const found: Found[] = [];
  const tried = async (made: readonly CallSpec[], found: (why: string) => void) => {
    const other = await playCalls(asked, made, say);
    const isDone =
      other.answers.length === calls.length && other.answers.every(({ prediction }) => !prediction.isError);
    if (!isDone || !isSameBut(other.end.finalState, end.finalState, schemasAt(ANY_ORDER))) return;
    const lost = checksOf(domain, task, other.end, end.finalState).find(({ passed }) => passed === false);
    if (lost?.name.startsWith('state')) found(lost.reason);
  };
  const changes = answers.flatMap(({ prediction }, i) => (prediction.operations.length > 0 ? [i] : []));
  for (const [i, at] of changes.slice(1, MOST_SWAPS + 1).entries()) {
    const before = changes[i];
    const swapped = calls.map((call, j) => (j === at ? calls[before] : j === before ? calls[at] : call));
    const which = `${calls[at].name} (call ${at + 1}) before ${calls[before].name} (call ${before + 1})`;
    await tried(swapped, (why) =>
      found.push(
        defect(
          'fails-other-order',
          `the verifier fails ${which}, which comes to the same: ${why}; \`uniqueItems\` says that a list is a set`,
        ),
      ),
    );
  }
  for (const at of changes) {
    const turned = calls.map((call, i) => (i === at ? { ...call, arguments: reversed(call.arguments) } : call));
    if (canonicalJson(turned[at].arguments) === canonicalJson(calls[at].arguments)) continue;
    const problem = `the verifier fails ${calls[at].name} (call ${at + 1}) with its lists in another order`;
    await tried(turned, (why) =>
      found.push({
        kind: 'fails-other-order',
        problem: `${problem}: ${why}; if that does not matter, \`uniqueItems\` says so`,
        shuts: false,
      }),
    );
  }
  return found;
}

const MOST_SWAPS = 6;

/** Treats every list as a set. */
const ANY_ORDER = { uniqueItems: true, items: { $ref: '#' }, additionalProperties: { $ref: '#' } };

function reversed(given: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(given).map(([key, value]) => [key, isPlainList(value) ? [...value].reverse() : value]),
  );
}

function isPlainList(value: Json): value is Json[] {
  return Array.isArray(value) && value.every((part) => typeof part !== 'object');
}

function defect(kind: FindingKind, problem: string): Found {
  return { kind, problem, shuts: true };
}

const toolOf = ({ tools }: ToolsDomain, call: { readonly name: string }) =>
  tools.find(({ name }) => name === call.name);

const SENTENCES = /(?<=[.!?:])\s+|\n+/;

function asksForConsent(policy: string): boolean {
  return policy
    .split(SENTENCES)
    .some(
      (sentence) =>
        /\b(?:yes|confirm\w*|consent|agree\w*)\b/i.test(sentence) &&
        /\b(?:before|first|until|only (?:after|once|when))\b/i.test(sentence) &&
        /\b(?:get|obtain|ask|explicit\w*|until|user|customer|guest|client|caller|member)\b/i.test(sentence),
    );
}

/** Tools that the policy requires before others. */
function askedFirst({ policy, tools }: ToolsDomain): string[] {
  const sentences = policy.split(SENTENCES).filter((sentence) => /\b(?:before|first)\b/i.test(sentence));
  const firsts = sentences.flatMap((sentence) => {
    const named = tools.flatMap(({ name }) => {
      const at = sentence.search(new RegExp(`(?<![\\w-])${name.replaceAll(/[^\w]/g, '\\$&')}(?![\\w-])`));
      return at < 0 ? [] : [{ name, at }];
    });
    return named
      .sort((a, b) => a.at - b.at)
      .slice(0, 1)
      .map(({ name }) => name);
  });
  return [...new Set(firsts)];
}

/** The text with each number and id as one of three alternatives. */
function alternatives(say: string, values: readonly string[]): string {
  const listed = (values.length > 0 ? values : valuesIn(say)).filter((value) => /\d/.test(value));
  return listed.reduce((text, value) => {
    const digits = /\d+(?=\D*$)/.exec(value)?.[0] ?? '';
    const other = (by: number) =>
      value.replace(/\d+(?=\D*$)/, String(Number(digits) + by).padStart(digits.length, '0'));
    const at = text.indexOf(value);
    return at < 0 ? text : `${text.slice(0, at)}${other(1)}, ${value} or ${other(2)}${text.slice(at + value.length)}`;
  }, say);
}

interface Context {
  readonly entities: Entities;
  /** The user's request in lower case. */
  readonly wish: string;
  readonly schema: Json | undefined;
}

/** Other entities of the same collection; for values that the user names, other values of the schema. The rules may refuse the first. */
function otherValues(value: Json, { entities, wish, schema }: Context): Json[] {
  const entity = typeof value === 'string' ? entities.find(value) : undefined;
  if (entity !== undefined) {
    const ids = [...entities.collections.get(entity.collection)!.keys()];
    const next = [1, 2].map((step) => ids[(ids.indexOf(entity.id) + step) % ids.length]);
    return [...new Set(next)].filter((id) => id !== entity.id);
  }
  const isNamed = typeof value === 'string' && value !== '' && wish.includes(value.toLowerCase().replaceAll('_', ' '));
  if (typeof value === 'number') return holdsValue(wish, String(value)) ? [value + 1, value - 1] : [];
  const choices = isJsonObject(schema ?? null) ? (schema as JsonObject).enum : undefined;
  return isNamed && Array.isArray(choices) ? choices.filter((choice) => choice !== value).slice(0, 1) : [];
}
