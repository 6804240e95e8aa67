// Filters of form: that a conversation hangs together, that calls fit their tools' schemas, and that it does not go in circles and is
// neither too short nor too long.

import { jsonrepair } from 'jsonrepair';
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { compileSchema, type SchemaCheck } from '../../env/state/state.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import { type AssistantMessage, callsOf, type Message, type ToolCall } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import {
  agentTurns,
  answerOf,
  cutBefore,
  cutOrDrop,
  drop,
  type Filter,
  isMasked,
  type Judgement,
  KEEP,
  stepsByMessage,
  withCalls,
  withMasked,
} from './filter.js';

/**
 * Every call is answered once, right after the message that makes it, and every answer has a call; a call left open is fine only
 * at the very end. No turn of the agent is empty. Ids used twice are made unique.
 */
export function structureFilter(): Filter {
  const judge = (record: EpisodeRecord): Judgement => {
    if (agentTurns(record).length === 0) return drop('the agent never acts');
    const at = firstBreak(record.messages);
    const unique = withUniqueIds(record);
    const empty = emptyTurn(record) ?? record.messages.length;
    if (at !== undefined && at <= empty) return cutOrDrop(unique, at, 'a call without its answer');
    if (empty < record.messages.length) return cutOrDrop(unique, empty, 'an empty turn');
    return unique === record ? KEEP : { repaired: unique, note: 'ids of calls made unique' };
  };
  return { name: 'structure', judge };
}

/** Where the agent first says and does nothing. */
function emptyTurn(record: EpisodeRecord): number | undefined {
  const isEmpty = ({ content, toolCalls = [] }: AssistantMessage) => toolCalls.length === 0 && !content?.trim();
  return agentTurns(record).find(({ index, message }) => !isMasked(record, index) && isEmpty(message))?.index;
}

/** Index of the message before which the conversation must be cut, or undefined. */
function firstBreak(messages: readonly Message[]): number | undefined {
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (message.role === 'tool') return index;
    if (message.role !== 'assistant') continue;
    const ids = callsOf(message).map((call) => call.id);
    if (new Set(ids).size < ids.length) return index;
    const answered = answersFrom(messages, index + 1);
    const isOpenEnd = index + answered.length === messages.length - 1;
    const known = answered.slice(0, ids.length);
    if (known.some((id) => !ids.includes(id)) || new Set(known).size < known.length) return index;
    if (answered.length < ids.length && !isOpenEnd) return index;
    if (answered.length > ids.length) return index + ids.length + 1;
    index += answered.length;
  }
  return undefined;
}

function answersFrom(messages: readonly Message[], from: number): string[] {
  const ids: string[] = [];
  for (let at = from; messages[at]?.role === 'tool'; at++)
    ids.push((messages[at] as Message & { role: 'tool' }).toolCallId);
  return ids;
}

/** The record itself where no id was used by two messages. */
function withUniqueIds(record: EpisodeRecord): EpisodeRecord {
  const uses = new Map<string, number>();
  const names = record.messages.map((message) => {
    const renamed = new Map<string, string>();
    for (const { id } of callsOf(message)) {
      const use = (uses.get(id) ?? 0) + 1;
      uses.set(id, use);
      if (use > 1) renamed.set(id, `${id}-${use}`);
    }
    return renamed;
  });
  if (names.every((renamed) => renamed.size === 0)) return record;
  let current: ReadonlyMap<string, string> = new Map();
  const messages = record.messages.map((message, index): Message => {
    if (message.role === 'tool')
      return { ...message, toolCallId: current.get(message.toolCallId) ?? message.toolCallId };
    current = names[index];
    return message.role === 'assistant' ? renamedTurn(message, current) : message;
  });
  const steps = record.steps.map((step) => ({ ...step, action: renamedTurn(step.action, names[step.message]) }));
  return { ...record, messages, steps };
}

function renamedTurn<T extends { readonly toolCalls?: readonly ToolCall[] }>(
  turn: T,
  names: ReadonlyMap<string, string>,
): T {
  if (names.size === 0 || !turn.toolCalls) return turn;
  return { ...turn, toolCalls: turn.toolCalls.map((call) => ({ ...call, id: names.get(call.id) ?? call.id })) };
}

/** Calls of a turn with their answers, to tell turns apart by. */
function answeredCalls(record: EpisodeRecord, message: Message) {
  return callsOf(message).map((call) => [call.name, call.arguments, answerOf(record, call)?.content ?? null]);
}

const MAX_PERIOD = 6;

/**
 * An agent that goes round in circles, the same actions with the same outcome in the same states: all from the second round on is
 * cut off. `rounds`: how often the same run of actions must come in a row to be a loop.
 */
export function loopFilter(rounds: number): Filter {
  const judge = (record: EpisodeRecord): Judgement => {
    const steps = stepsByMessage(record);
    const turns = agentTurns(record);
    const keys = turns.map(({ index, message }) =>
      canonicalJson([message.content ?? '', answeredCalls(record, message), steps.get(index)?.stateHash ?? '']),
    );
    const again = secondRound(keys, rounds);
    return again === undefined ? KEEP : cutOrDrop(record, turns[again].index, 'going round in circles');
  };
  return { name: 'loops', judge };
}

/** Where the second round of the first loop begins, or undefined. */
function secondRound(keys: readonly string[], rounds: number): number | undefined {
  for (let from = 0; from < keys.length; from++) {
    for (let period = 1; period <= MAX_PERIOD && from + period * rounds <= keys.length; period++) {
      const repeats = keys.slice(from + period, from + period * rounds);
      if (repeats.every((key, i) => key === keys[from + i])) return from + period;
    }
  }
  return undefined;
}

interface LengthCaps {
  /** Turns of the agent. */
  readonly minTurns: number;
  readonly maxTurns: number;
  /** All text of the conversation, arguments of calls as JSON. */
  readonly maxCharacters: number;
}

/** Conversations that are too long are cut where they become so, those too short are dropped. */
export function lengthFilter(caps: LengthCaps): Filter {
  const judge = (record: EpisodeRecord): Judgement => {
    if (agentTurns(record).length < caps.minTurns) return drop('too short');
    const end = endWithin(record, caps);
    if (end === record.messages.length) return KEEP;
    const cut = cutBefore(record, end);
    const isShort = agentTurns(cut).length < Math.max(1, caps.minTurns);
    return isShort ? drop('too long') : { repaired: cut, note: 'cut for length' };
  };
  return { name: 'lengths', judge };
}

/** How many messages fit; never a turn of the agent without the answers to its calls. */
function endWithin({ messages }: EpisodeRecord, { maxTurns, maxCharacters }: LengthCaps): number {
  let [characters, turns, whole] = [0, 0, 0];
  for (const [index, message] of messages.entries()) {
    characters += lengthOf(message);
    if (message.role === 'assistant') turns++;
    if (characters > maxCharacters || turns > maxTurns) return whole;
    if (messages[index + 1]?.role !== 'tool') whole = index + 1;
  }
  return messages.length;
}

function lengthOf(message: Message): number {
  const written = callsOf(message).map((call) => call.name.length + JSON.stringify(call.arguments).length);
  const thoughts = message.role === 'assistant' ? (message.reasoning?.length ?? 0) : 0;
  return (message.content ?? '').length + thoughts + written.reduce((sum, length) => sum + length, 0);
}

type Checks = ReadonlyMap<string, { readonly check: SchemaCheck; readonly parameters: JsonObject }>;

/**
 * Every call names a tool there is, with arguments that fit its schema. Wrongly written arguments are repaired; a call that was
 * refused stays as a mistake not to be learnt from; where a wrong call was answered as if it were right, the rest is cut.
 * @throws SCHEMA_INVALID if a tool's parameters are no JSON Schema
 */
export function schemaFilter(domain: ToolsDomain): Filter {
  const checks: Checks = new Map(
    domain.tools.map(({ name, parameters }) => {
      const check = compileSchema(parameters, `the arguments of tool "${name}"`);
      return [name, { check, parameters }] as const;
    }),
  );
  return { name: 'schema', judge: (record) => judgeCalls(record, checks) };
}

function judgeCalls(record: EpisodeRecord, checks: Checks): Judgement {
  const repaired = new Map<string, ToolCall>();
  const refused: number[] = [];
  const changed = () => withMasked(withCalls(record, repaired), refused);
  for (const { index, message } of agentTurns(record)) {
    if (isMasked(record, index)) continue;
    for (const call of message.toolCalls ?? []) {
      if (fits(call, checks)) continue;
      const better = rewritten(call, checks);
      if (answerOf(record, call)?.isError) refused.push(index);
      else if (better) repaired.set(call.id, better);
      else return cutOrDrop(changed(), index, 'a call that does not fit its schema');
    }
  }
  if (repaired.size === 0 && refused.length === 0) return KEEP;
  const notes = [repaired.size > 0 && 'arguments repaired', refused.length > 0 && 'refused call masked'];
  return { repaired: changed(), note: notes.filter(Boolean).join(' and ') };
}

function fits(call: ToolCall, checks: Checks): boolean {
  return checks.get(call.name)?.check(call.arguments).length === 0;
}

/** The same call, well written; undefined where its writing is not what is wrong. */
function rewritten(call: ToolCall, checks: Checks): ToolCall | undefined {
  const known = checks.get(call.name);
  if (!known) return undefined;
  const given = call.arguments as Json;
  const object = typeof given === 'string' ? parsed(given) : given;
  if (!isJsonObject(object)) return undefined;
  const { rawArguments, ...rest } = call;
  const raw = rawArguments ?? (typeof given === 'string' ? given : JSON.stringify(given));
  const better = { ...rest, arguments: coerceTo(known.parameters, object) as JsonObject, rawArguments: raw };
  return fits(better, checks) ? better : undefined;
}

// Arguments brought to the types their schema names, where only the writing was wrong: JSON in a string, a number in
// quotes, a number where its text is wanted. Nothing is invented; what does not fit stays as it was.

/** The value as the schema wants it, as far as that can be had without guessing. */
function coerceTo(schema: Json | undefined, value: Json): Json {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return value;
  const rules = schema as JsonObject;
  const turned = turnedTo(typesOf(rules), value);
  if (Array.isArray(turned)) return turned.map((part) => coerceTo(rules.items, part));
  if (!isJsonObject(turned)) return turned;
  const properties = isJsonObject(rules.properties) ? rules.properties : {};
  return Object.fromEntries(Object.entries(turned).map(([key, part]) => [key, coerceTo(properties[key], part)]));
}

function typesOf({ type }: JsonObject): readonly Json[] {
  return Array.isArray(type) ? type : type === undefined ? [] : [type];
}

function turnedTo(types: readonly Json[], value: Json): Json {
  if (types.some((type) => isOfType(type, value))) return value;
  return types.map((type) => turnedToOne(type, value)).find((turned) => turned !== undefined) ?? value;
}

function turnedToOne(type: Json, value: Json): Json | undefined {
  if (type === 'string' && typeof value === 'number') return String(value);
  if (typeof value !== 'string' || type === 'string' || type === 'null') return undefined;
  const read = parsed(value.trim());
  return read !== undefined && isOfType(type, read) ? read : undefined;
}

/** A text read as JSON, repaired where it is nearly so; undefined where it is not. */
function parsed(text: string): Json | undefined {
  for (const read of [JSON.parse, (broken: string) => JSON.parse(jsonrepair(broken))]) {
    try {
      return read(text) as Json;
    } catch {
      // Not JSON this way: the next reader is more patient, and a text that none reads stays undefined.
    }
  }
  return undefined;
}

function isOfType(type: Json, value: Json): boolean {
  if (type === 'null') return value === null;
  if (type === 'integer') return Number.isSafeInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isJsonObject(value);
  return typeof value === type;
}
