// What is proposed as a new task, and why one is not taken; and plays of calls as an agent would make them, in the state a task begins
// in, by which proposals are judged.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { remembered, rememberedIfFrozen } from '../../core/remembered.js';
import { applyOperations } from '../../env/state/operations.js';
import { compileSchema, type SchemaCheck, stateHash } from '../../env/state/state.js';
import type { CallSpec, CheckResult, EpisodeEnd, ToolSpec, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import type { Prediction } from '../../env/tools/prediction.js';
import { proposalOf } from '../../env/tools/process-checks.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { Responder } from '../../env/tools/tools-family.js';
import { verifyEpisode } from '../../env/tools/verify-episode.js';
import { Entities } from './entity-swap.js';

/** Why a proposal is no task, by kind. */
export type RejectionCode =
  | 'no_variant'
  | 'seed_split'
  | 'malformed'
  | 'bad_call'
  | 'unknown_id'
  | 'bad_start'
  | 'reference_fails'
  /** It needs a judge. */
  | 'undecidable'
  /** Its verifier lets a way to fail pass. */
  | 'verifier_weak'
  | 'near_duplicate';

export interface Rejection {
  readonly code: RejectionCode;
  /** One sentence. */
  readonly detail: string;
}

/** A task that may be added; or, where none could be made, why not. */
export interface TaskProposal {
  readonly task?: ToolsTask;
  readonly seed: ToolsTask;
  /** Why there is no task; empty where there is one. */
  readonly problems: readonly Rejection[];
}

/** How tasks are made from others, as their `origin` says it. */
export const STRATEGY = 'entity-swap';

/** Whether a task is kept apart to judge by: nothing is made from it. */
export function isForEvaluation({ split }: ToolsTask): boolean {
  return split === 'validation' || split === 'test';
}

export interface Played {
  readonly end: EpisodeEnd;
  /** One for each call that was reached: a call that ends the episode is the last. */
  readonly answers: readonly PlayedCall[];
}

interface PlayedCall {
  readonly call: ToolCall;
  readonly prediction: Prediction;
  /** The state after it. */
  readonly state: JsonObject;
}

interface Play {
  readonly domain: ToolsDomain;
  readonly task: ToolsTask;
  readonly responder: Responder;
  readonly seed?: number;
  /** Whether the user is asked for the required consent, and agrees. */
  readonly asks?: boolean;
}

/** What the conversation would be: the user's wish, the calls and their answers, what is said at the end. */
export async function playCalls(
  { domain, task, responder, seed = 0, asks = true }: Play,
  calls: readonly CallSpec[],
  say?: string,
): Promise<Played> {
  const initialState = initialStateOf(domain, task);
  const messages: Message[] = [
    { role: 'system', content: domain.policy },
    { role: 'user', content: task.user.opening ?? task.user.goal },
  ];
  const answers: PlayedCall[] = [];
  let state = initialState;
  let hasEnded = false;
  for (const [step, { name, arguments: given }] of calls.entries()) {
    const call: ToolCall = { id: `call_${step}`, name, arguments: given };
    if (asks && task.verifier.confirmed?.includes(name))
      messages.push({ role: 'assistant', content: proposalOf(call) }, { role: 'user', content: 'Yes, please.' });
    messages.push({ role: 'assistant', content: null, toolCalls: [call] });
    const prediction = await responder.answer({ domain, task, state, messages: [...messages], call, step, seed });
    const { observation, isError, operations } = prediction;
    messages.push({ role: 'tool', toolCallId: call.id, name, content: observation, ...(isError ? { isError } : {}) });
    state = applyOperations(state, operations);
    answers.push({ call, prediction, state });
    hasEnded = prediction.terminated || (!isError && isLast(domain, name));
    if (hasEnded) break;
  }
  // Once a call has ended the episode, nothing more can be said.
  if (say !== undefined && !hasEnded) messages.push({ role: 'assistant', content: say });
  return { end: { initialState, finalState: state, messages }, answers };
}

function isLast({ tools }: ToolsDomain, name: string): boolean {
  return tools.find((tool) => tool.name === name)?.terminates === true;
}

/** What is wrong with calls as calls: unknown tools, arguments that break their schemas; one sentence each. */
export function callFaults(domain: ToolsDomain, calls: readonly CallSpec[]): string[] {
  return calls.flatMap(({ name, arguments: given }) => {
    const tool = domain.tools.find((known) => known.name === name);
    if (tool === undefined) return [`there is no tool "${name}"`];
    return argumentCheck(tool)(given).map((fault) => `${name}: ${fault}`);
  });
}

/** The check of a tool's arguments, compiled once. */
export function argumentCheck({ parameters, name }: ToolSpec): SchemaCheck {
  return compileSchema(parameters, `the arguments of tool "${name}"`);
}

/**
 * Checks that need no judge; `referenceState` is the end of the reference as it was played: where no rules could make that state,
 * it is what the verifier compares with.
 */
export function checksOf(
  domain: ToolsDomain,
  task: ToolsTask,
  end: EpisodeEnd,
  referenceState: JsonObject,
): readonly CheckResult[] {
  if (domain.rules !== undefined || task.verifier.state === undefined) return verifyEpisode(domain, task, end).checks;
  const { state: _, ...others } = task.verifier;
  const isSame = stateHash(end.finalState) === stateHash(referenceState);
  const reason = isSame ? 'the end state is that of the reference' : 'the end state differs from that of the reference';
  const rest = Object.keys(others).length === 0 ? [] : verifyEpisode(domain, { ...task, verifier: others }, end).checks;
  return [{ name: 'state: reference', passed: isSame, reason }, ...rest];
}

interface ReferenceCheck {
  /** Why the reference does not count as a solution. */
  readonly reasons: readonly Rejection[];
  readonly played: Played;
}

const references = new WeakMap<Responder, WeakMap<ToolsTask, Promise<ReferenceCheck>>>();

/** Plays the reference, which the task must have; remembered by task and responder: seeds are asked about again and again. */
export function checkReference(domain: ToolsDomain, task: ToolsTask, responder: Responder): Promise<ReferenceCheck> {
  const byTask = remembered(references, responder, () => new WeakMap<ToolsTask, Promise<ReferenceCheck>>());
  const check = remembered(byTask, task, () => playReference(domain, task, responder));
  // What failed for want of a budget or a server may succeed another time.
  check.catch(() => byTask.delete(task));
  return check;
}

async function playReference(domain: ToolsDomain, task: ToolsTask, responder: Responder): Promise<ReferenceCheck> {
  const { calls, say } = task.reference!;
  const played = await playCalls({ domain, task, responder }, calls, say);
  const { end, answers } = played;
  const faults = answers
    .filter(({ prediction }) => prediction.isError)
    .map(({ call, prediction }) => `${call.name} answers "${prediction.observation.slice(0, 200)}"`);
  const unreached = calls.length - answers.length;
  if (unreached > 0) faults.push(`its last ${unreached} calls come after its end`);
  const reasons: Rejection[] = [
    ...faults.map((detail): Rejection => ({ code: 'reference_fails', detail })),
    ...unknownIds(end.initialState, answers).map((detail): Rejection => ({ code: 'unknown_id', detail })),
  ];
  return { reasons: reasons.length > 0 ? reasons : verdictFaults(checksOf(domain, task, end, end.finalState)), played };
}

function verdictFaults(checks: readonly CheckResult[]): Rejection[] {
  const refused = checks.filter(({ passed }) => passed === false);
  if (refused.length > 0)
    return refused.map(({ name, reason }) => ({ code: 'reference_fails', detail: `${name}: ${reason}` }));
  if (checks.some(({ passed }) => passed === true)) return [];
  return [{ code: 'undecidable', detail: 'none of its checks can be decided without a judge' }];
}

const ID_KEY = /(^|_)ids?$|Ids?$/;

/** One sentence for each id in calls that neither the state nor any answer before the call has: such a task cannot be solved. */
function unknownIds(initialState: JsonObject, answers: readonly PlayedCall[]): string[] {
  let state = initialState;
  let told = '';
  const faults: string[] = [];
  for (const { call, prediction, state: after } of answers) {
    for (const id of idsIn(call.arguments)) {
      if (!told.includes(id) && !isKnown(state, id))
        faults.push(`${call.name} is given the id "${id}", which nothing has`);
    }
    told += `\n${prediction.observation}`;
    state = after;
  }
  return faults;
}

/** Strings under keys that name ids, at any depth. */
export function idsIn(value: Json, key = ''): string[] {
  if (typeof value === 'string') return ID_KEY.test(key) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((part) => idsIn(part, key));
  return Object.entries(value).flatMap(([name, part]) => idsIn(part, name));
}

function isKnown(state: JsonObject, id: string): boolean {
  if (new Entities(state).find(id) !== undefined) return true;
  return Object.entries(state).some(([name, part]) => {
    if (name === id) return true;
    if (typeof part !== 'object' || part === null) return part === id;
    // Records stay the same objects from state to state, so what they hold is remembered by record.
    return Object.entries(part).some(([key, value]) => key === id || valuesOf(value as Json).has(id));
  });
}

const held = new WeakMap<object, ReadonlySet<string>>();

/** Whole strings and keys that a value holds, at any depth. */
function valuesOf(value: Json): ReadonlySet<string> {
  if (typeof value !== 'object' || value === null) return new Set(typeof value === 'string' ? [value] : []);
  return rememberedIfFrozen(held, value, () => {
    const keys = Array.isArray(value) ? [] : Object.keys(value);
    return new Set([...keys, ...Object.values(value as JsonObject).flatMap((part) => [...valuesOf(part)])]);
  });
}
