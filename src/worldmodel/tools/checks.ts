// Keeps a typed state honest: what a backend proposes for a call is believed only if the state can do it, stays what its
// schema and its invariants say, and nothing is spoken of that does not exist.

import { canonicalJson, isJsonObject, type Json, type JsonObject, parsedJson } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { applyOperations } from '../../env/state/operations.js';
import { remembered, rememberedIfFrozen } from '../../env/state/records.js';
import { compileSchema } from '../../env/state/state.js';
import { callChecks } from '../../env/tools/check-action.js';
import { allTools, type ToolSpec, type ToolsDomain } from '../../env/tools/domain.js';
import { callsOf, type Message, type ToolCall, type ToolMessage } from '../../env/tools/message.js';
import type { Operation, Prediction, StateCheck } from '../../env/tools/prediction.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { ExperienceStep } from '../../replay/experience/experience.js';
import { callText, MAX_HISTORY } from '../../replay/experience/terms.js';
import type { RawProposal, Trust } from './backend-model.js';
import { type HeldToState, heldToState } from './state-checks.js';

/** Of one call: operations, levels of a value that one brings, and characters of what is said. */
const MAX_OPERATIONS = 200;
const MAX_DEPTH = 32;
const MAX_OBSERVATION_CHARS = 100_000;

/** The agent's view of a call that no backend could answer. */
export const REFUSAL = 'Error: the call could not be carried out. Nothing was changed.';

/** What a proposal is checked for beside schema, preconditions and invariants, as `model.check` of a scenario says. */
interface CheckSettings {
  /** Whether made-up ids are a fault. */
  readonly provenance?: boolean;
  /** Whether a success must show what it says it did. */
  readonly outcome?: boolean;
  /** State checks to skip. */
  readonly skip?: readonly StateCheck[];
}

interface ProposalQuery {
  readonly domain: ToolsDomain;
  readonly state: JsonObject;
  readonly call: Pick<ToolCall, 'name' | 'arguments'>;
  /** The conversation: ids said there may be spoken of. */
  readonly messages: readonly Message[];
  readonly proposal: Pick<RawProposal, 'operations' | 'observation' | 'isError' | 'confidence' | 'claim'>;
  /** `proposal` if absent. */
  readonly trust?: Trust;
  readonly check?: CheckSettings;
  /** Records of the real environment near this call. */
  readonly records?: readonly ExperienceStep[];
}

type CheckedProposal = { readonly findings?: HeldToState['findings'] } & (
  | {
      readonly operations: readonly Operation[];
      readonly after: JsonObject;
      /** What the agent is shown: as the domain draws it from the state, where it does. */
      readonly observation: string;
      readonly problems?: undefined;
    }
  | { readonly problems: readonly string[] }
);

/** The state after the proposal, or everything that is wrong with it: sentences that a model can repair it by. */
export function checkProposal(query: ProposalQuery): CheckedProposal {
  const { domain, state, proposal } = query;
  // Exact code has limits of its own, and what the real environment did has been done.
  const oversize = query.trust === 'exact' ? [] : sizeProblems(proposal);
  if (oversize.length > 0) return { problems: oversize };
  const applied = afterOperations(state, proposal.operations);
  if (typeof applied === 'string') return { problems: [applied, ...callProblems(query)] };
  const { findings, problems: untrue } = againstState(query, applied);
  const problems = [
    ...callProblems(query),
    ...stateProblems(query, applied),
    ...unmetProblems(query, applied),
    ...idProblems(query),
    ...untrue,
  ];
  if (problems.length > 0) return { problems, findings };
  const { operations, isError, observation } = proposal;
  const isTested = operations.some(({ op }) => op === 'test');
  const kept = isTested ? operations.filter(({ op }) => op !== 'test') : operations;
  // Errors are told in the words of who answers.
  const shown = isError ? observation : (domain.rendering?.(applied) ?? observation);
  return { operations: kept, after: applied, observation: shown, findings };
}

/** Requires tools that distinguish reads from writes: a world with a single tool has its own mechanics. */
function againstState(query: ProposalQuery, after: JsonObject): HeldToState {
  const { domain, state, call, proposal, trust, check, records } = query;
  const tool = toolOf(domain, call.name);
  if (trust === 'exact' || tool === undefined || domain.tools.every(({ kind }) => kind !== 'read'))
    return { findings: {}, problems: [] };
  return heldToState({
    ...{ domain, tool, state, after, call, proposal, records, skip: check?.skip, isId: idPatternOf(domain) },
    isKnown: (word) => stateMentions(state, word),
  });
}

function sizeProblems({ operations, observation, confidence }: ProposalQuery['proposal']) {
  const problems: string[] = [];
  if (!(confidence >= 0 && confidence <= 1)) problems.push(`confidence is ${confidence}; it must lie in [0, 1].`);
  if (operations.length > MAX_OPERATIONS)
    problems.push(`There are ${operations.length} operations; at most ${MAX_OPERATIONS} are allowed.`);
  if (observation.length > MAX_OBSERVATION_CHARS)
    problems.push(`The observation has ${observation.length} characters; at most ${MAX_OBSERVATION_CHARS}.`);
  const deep = operations.find((operation) => 'value' in operation && isDeeper(operation.value, MAX_DEPTH));
  if (deep !== undefined) problems.push(`The value at "${deep.path}" is nested deeper than ${MAX_DEPTH} levels.`);
  return problems;
}

function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || (Object.values(value) as Json[]).some((part) => isDeeper(part, levels - 1));
}

function afterOperations(state: JsonObject, operations: readonly Operation[]): JsonObject | string {
  try {
    return applyOperations(state, operations);
  } catch (error) {
    if (error instanceof ReverieError && error.code === 'OPERATION_INVALID') return error.message;
    throw error;
  }
}

/** What the call itself forbids: changes by reads and by errors, success where it must fail. */
function callProblems({ domain, state, call, proposal, trust }: ProposalQuery): string[] {
  const changes = proposal.operations.some(({ op }) => op !== 'test');
  const problems: string[] = [];
  const spec = toolOf(domain, call.name);
  if (changes && spec?.kind !== 'write')
    problems.push(`Tool ${call.name} is of kind ${spec?.kind ?? 'unknown'}: it must not change the state.`);
  if (changes && proposal.isError) problems.push('A call that fails must not change the state.');
  if (proposal.isError || trust === 'exact') return problems;
  const reasons = (domain.rules ?? domain.declared)?.preconditions(state, call as ToolCall) ?? [];
  return [
    ...problems,
    ...reasons.map((reason) => `The call must fail here, with an error: ${reason}`),
    ...callChecks(allTools(domain)).answerProblems(call.name, proposal.observation),
  ];
}

function stateProblems({ domain, state }: ProposalQuery, after: JsonObject): string[] {
  if (after === state) return [];
  const fits = compileSchema(domain.stateSchema, `the state of domain "${domain.id}"`);
  const faults = fits(changedPart(state, after, domain.stateSchema));
  const broken = (domain.rules ?? domain.declared)?.invariants(state, after) ?? [];
  return [
    ...faults.map((fault) => `The state would not fit its schema: ${fault}.`),
    ...broken.map((reason) => `The state would break a rule: ${reason}`),
  ];
}

/** What a call that is said to have succeeded must show: what calls like it do, and what the proposal claims of this one. */
function unmetProblems(query: ProposalQuery, after: JsonObject): string[] {
  const { domain, state, call, proposal, trust, check } = query;
  if (trust === 'exact' || proposal.isError || check?.outcome === false) return [];
  const unmet = (domain.rules ?? domain.declared)?.unmet?.(after, call, state) ?? [];
  const { claim } = proposal;
  const unshown = claim === undefined ? [] : (domain.rules?.unshown?.(state, after, claim) ?? []);
  return [
    ...unmet.map((reason) => `The call is said to have succeeded, but ${reason}.`),
    ...unshown.map((reason) => `The changes are not what they are said to be: ${reason}.`),
  ];
}

function idProblems({ proposal, trust, check, ...query }: ProposalQuery): string[] {
  if (trust === 'exact' || check?.provenance === false) return [];
  const { operations, observation } = proposal;
  const unknown = unknownIds({ ...query, operations, observation }, idPatternOf(query.domain));
  if (unknown.length === 0) return [];
  return [`These ids are in neither state, call nor conversation, and nothing creates them: ${unknown.join(', ')}.`];
}

// The part of a state that a check must look at again: entities that are the same object as before were found right
// before. Leaves a 3 MB state of 3,000 entities with the few that changed, where its schema allows to judge them alone.

/** Keywords of a collection's schema that speak of its entries one by one. */
const ENTRYWISE = new Set(['type', 'additionalProperties', 'title', 'description', '$comment', 'default']);
/** Keywords of the state's schema that speak of its parts one by one. */
const PARTWISE = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'title', 'description', '$schema', '$id', '$comment'],
  ...['$defs', 'definitions'],
]);

/** `after` without what is known to be right, as its schema judges entry by entry. */
function changedPart(before: JsonObject, after: JsonObject, schema: JsonObject): JsonObject {
  if (!isOnlyOf(schema, PARTWISE)) return after;
  const parts = (schema.properties ?? {}) as JsonObject;
  const entries = Object.entries(after).map(([key, part]) => [key, changedEntries(before[key], part, parts[key])]);
  return Object.fromEntries(entries);
}

function changedEntries(before: Json | undefined, after: Json, schema: Json | undefined): Json {
  // Of a list nothing is left out, as faults are named by the place of an entry.
  if (!isJsonObject(before) || !isJsonObject(after) || !isJsonObject(schema)) return after;
  if (!isOnlyOf(schema, ENTRYWISE)) return after;
  return Object.fromEntries(Object.entries(after).filter(([key, entry]) => entry !== before[key]));
}

function isOnlyOf(schema: JsonObject, keywords: ReadonlySet<string>): boolean {
  return Object.keys(schema).every((keyword) => keywords.has(keyword));
}

/** A word: letters and digits, joined by `_`, `-` or `.`, with a leading `#` where ids have one. */
const WORD = /#?[\p{L}\p{N}]+(?:[_.-][\p{L}\p{N}]+)*/gu;

/** Longer texts are free text, not values that are looked up. */
const MAX_VALUE_CHARS = 200;

export function wordsOf(text: string): string[] {
  return text.match(WORD) ?? [];
}

const known = new WeakMap<object, ReadonlySet<string>>();

/** Keys, whole strings, numbers and words of strings in `value`. Remembered for frozen values, as states share their parts. */
export function wordsIn(value: Json): ReadonlySet<string> {
  if (typeof value !== 'object' || value === null) return collect(value, new Set());
  return rememberedIfFrozen(known, value, () => collect(value, new Set()));
}

function collect(value: Json, into: Set<string>): Set<string> {
  const open: Json[] = [value];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (typeof part === 'string') addText(part, into);
    else if (typeof part === 'number') into.add(String(part));
    else if (typeof part === 'object' && part !== null) {
      if (!Array.isArray(part)) for (const key of Object.keys(part)) addText(key, into);
      for (const child of Object.values(part) as Json[]) open.push(child);
    }
  }
  return into;
}

function addText(text: string, into: Set<string>): void {
  if (text.length <= MAX_VALUE_CHARS) into.add(text);
  for (const word of wordsOf(text)) into.add(word);
}

/** JSON in canonical form, other text with its white space evened out: equal for observations that say the same. */
export function comparableObservation(observation: string): string {
  const value = parsedJson(observation);
  return value === undefined ? observation.replace(/\s+/g, ' ').trim() : canonicalJson(value);
}

export function toolOf(domain: ToolsDomain, name: string): ToolSpec | undefined {
  return allTools(domain).find((tool) => tool.name === name);
}

/**
 * Weight of an episode in training, in [0, 1]: the product, over answers less sure than `downWeightBelow`, of confidence
 * over it. A refused call has confidence 0, so an episode that rests on one weighs nothing. A repeated answer is the same doubt, not another.
 */
export function episodeWeight(
  predictions: readonly Pick<Prediction, 'confidence' | 'backend'>[],
  { downWeightBelow }: { readonly downWeightBelow: number },
): number {
  return predictions.reduce((weight, { confidence, backend }) => {
    return confidence < downWeightBelow && backend !== 'memory' ? (weight * confidence) / downWeightBelow : weight;
  }, 1);
}

/** The last eight, oldest first, each `name(arguments)`. */
export function callsBefore({ messages, call }: Pick<CallQuery, 'messages' | 'call'>): string[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  const at = calls.findIndex(({ id }) => id === call.id);
  const before = at < 0 ? calls : calls.slice(0, at);
  return before.slice(-MAX_HISTORY).map(callText);
}

/** The earlier answer to the same read of an unchanged state; taken from the conversation, so forks and resumed episodes have the same. */
export function answeredBefore({ domain, messages, call }: Pick<CallQuery, 'domain' | 'messages' | 'call'>) {
  if (toolOf(domain, call.name)?.kind !== 'read') return undefined;
  const asked = callText(call);
  const calls = new Map(messages.flatMap(callsOf).map((each) => [each.id, each]));
  let found: ToolMessage | undefined;
  for (const message of messages) {
    // Users' own calls change the same state.
    if (message.role === 'user' && 'calls' in message) found = undefined;
    if (message.role !== 'tool') continue;
    const earlier = calls.get(message.toolCallId);
    if (earlier === undefined || earlier.id === call.id) continue;
    if (toolOf(domain, earlier.name)?.kind === 'write' && !message.isError) found = undefined;
    else if (callText(earlier) === asked && message.content !== REFUSAL) found = message;
  }
  return found;
}

/** Whether a word looks like an id of the domain. */
type IdPattern = (word: string) => boolean;

/** From this many shapes on, ids of one make are told by case and length alone. */
const MANY_SHAPES = 8;
/** Shorter numbers are amounts and counts as well. */
const SHORTEST_NUMBER = 6;
const ID_FIELD = /(^|_)ids?$|Ids?$/;
const DATE = /^\d{4}-\d{2}(-\d{2})?(T|$)/;

/** Least and most characters of each run of a shape, and of the whole word. */
type Lengths = readonly (readonly [number, number])[];

const learned = new WeakMap<JsonObject, IdPattern>();

/** Learned once for a domain's initial state. */
export function idPatternOf(domain: ToolsDomain): IdPattern {
  return remembered(learned, domain.initialState, () => learnPattern(domain.initialState));
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
  if (isJsonObject(value)) return [key];
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

type ProvenanceQuery = Omit<ProposalQuery, 'proposal' | 'trust' | 'check'> &
  Pick<RawProposal, 'operations' | 'observation'>;

/** Ids in operations and observation that come from nowhere. */
export function unknownIds(query: ProvenanceQuery, isId: IdPattern): string[] {
  const created = createdIds(query.operations);
  const words = new Set([...wordsOf(query.observation), ...query.operations.flatMap(wordsOfOperation)]);
  const suspects = [...words].filter((word) => isId(word) && !created.has(word));
  return suspects.filter((word) => !isMentioned(word, query));
}

function isMentioned(word: string, { domain, state, call, messages }: ProvenanceQuery): boolean {
  const spellings = [word, word.toLowerCase(), word.toUpperCase()];
  if (spellings.some((each) => wordsIn(call.arguments).has(each) || stateMentions(state, each))) return true;
  if (domain.policy.includes(word)) return true;
  return messages.some((message) => message.role !== 'system' && says(message, word));
}

function says(message: Message, word: string): boolean {
  if (message.role === 'assistant' && message.toolCalls?.some((call) => wordsIn(call.arguments).has(word))) return true;
  const said = message.content ?? '';
  return said.includes(word) && wordsOf(said).includes(word);
}

/** Ids among a call's arguments that no message has mentioned and no policy names: an agent cannot know them. */
export function unsaidIds(
  given: JsonObject,
  messages: readonly Message[],
  { policy }: ToolsDomain,
  isId: IdPattern,
): string[] {
  const ids = [...wordsIn(Object.values(given))].filter((word) => isId(word));
  return ids.filter((id) => !policy.includes(id) && !messages.some((message) => says(message, id)));
}

/** Whether a word is a key, a value or part of a value of the state. Entities are remembered one by one, as they are shared. */
function stateMentions(value: Json, word: string, depth = 0): boolean {
  if (depth === 2 || typeof value !== 'object' || value === null) return wordsIn(value).has(word);
  if (!Array.isArray(value) && Object.hasOwn(value, word)) return true;
  return (Object.values(value) as Json[]).some((part) => stateMentions(part, word, depth + 1));
}

function wordsOfOperation(operation: Operation): string[] {
  const path = operation.path.split('/').flatMap((part) => wordsOf(unescapePointer(part)));
  return 'value' in operation ? [...path, ...wordsIn(operation.value)] : path;
}

/** Ids of entities that `add` makes: their keys, and what they call themselves. */
function createdIds(operations: readonly Operation[]): Set<string> {
  const created = new Set<string>();
  for (const operation of operations) {
    if (operation.op !== 'add') continue;
    const parts = operation.path.split('/').slice(1).map(unescapePointer);
    const key = parts.at(-1)!;
    const collection = parts.at(-2) ?? '';
    for (const word of wordsOf(key)) created.add(word);
    for (const own of ownIds(operation.value, collection)) created.add(own);
  }
  return created;
}

/** An entity's own id: its `id`, or `<singular of its collection>_id` (`ticket_id` in `tickets`). */
function ownIds(value: Json, collection: string): string[] {
  if (!isJsonObject(value)) return [];
  const singular = collection.endsWith('ies') ? `${collection.slice(0, -3)}y` : collection.replace(/s$/, '');
  return ['id', `${singular}_id`, `${singular}Id`].map((name) => value[name]).filter((own) => typeof own === 'string');
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
