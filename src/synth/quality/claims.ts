// Filters of what the agent knows and may do: ids in its calls must have been seen before, a failed call is not learnt, and
// what changed has to be allowed by the domain's rules. No model is asked.

import { isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { applyOperations } from '../../env/state/operations.js';
import { valueAt } from '../../env/state/state.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import { type AssistantMessage, callsOf, type Message, type ToolCall } from '../../env/tools/message.js';
import { Phrases } from '../../env/tools/phrases.js';
import type { Operation } from '../../env/tools/prediction.js';
import { isWorkedOutLater } from '../../env/tools/rules-responder.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { idPatternOf, wordsIn, wordsOf } from '../../worldmodel/tools/checks.js';
import {
  agentTurns,
  answerOf,
  cutOrDrop,
  type Filter,
  isMasked,
  type Judgement,
  KEEP,
  type QualityContext,
  withMasked,
} from './filter.js';

/** Names of arguments that hold ids, whatever they look like. */
const ID_NAME = /(^|_)(id|ids|uuid|number)$|[a-z](Id|Ids)$/;
/** Values that are ids by their looks: letters and digits together, a long number, or capitals with a hyphen (`SW-QUILL`). */
const ID_VALUE = /^#?(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{3,64}$|^#?\d{5,}$|^#?[A-Z]{2,8}(?:-[A-Z]+)+$/;
const DATE = /^\d{4}-\d{2}-\d{2}(T[\d:.]+Z?)?$/;

/**
 * An id in a call must have been seen before: said by the user, answered by a tool, or written in the policy. An agent that makes
 * one up and is refused made a mistake (masked); one that gets away with it learnt nonsense (cut).
 */
export function provenanceFilter(): Filter {
  const judge = (record: EpisodeRecord): Judgement => {
    const masked: number[] = [];
    const seen = new SeenText();
    let heard = 0;
    for (const { index, message } of agentTurns(record)) {
      for (; heard < index; heard++) seen.add(record.messages[heard]);
      if (isMasked(record, index)) continue;
      const invented = callsOf(message).filter((call) => seen.lacksIdOf(call));
      if (invented.some((call) => !answerOf(record, call)?.isError))
        return cutOrDrop(withMasked(record, masked), index, 'an id out of nowhere');
      if (invented.length > 0) masked.push(index);
    }
    if (masked.length === 0) return KEEP;
    return { repaired: withMasked(record, masked), note: 'call with an invented id masked' };
  };
  return { name: 'provenance', judge };
}

/** What the agent has been told so far, for whole words of any case. */
export class SeenText {
  private text = ' ';
  private policy = ' ';

  add(message: Message): void {
    if (message.role === 'system') this.policy += `${message.content.toLowerCase()} `;
    else if (message.role !== 'assistant') this.text += `${message.content.toLowerCase()} `;
  }

  /** Whether a call has an id among its arguments that was not mentioned. */
  lacksIdOf(call: Pick<ToolCall, 'arguments'>): boolean {
    return idsOf(call).some((id) => !this.has(id));
  }

  /** An id, in lower case. A word of the policy is no id, however it is used: only what has a digit is taken from there. */
  has(id: string): boolean {
    return hasWord(this.text, id) || (/\d/.test(id) && hasWord(this.policy, id));
  }
}

/** Whether a text names a word as a whole; both in lower case. */
export function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const isPart = (index: number) => /[\p{L}\p{N}]/u.test(text[index] ?? '');
    if (!isPart(at - 1) && !isPart(at + word.length)) return true;
  }
  return false;
}

/** Ids among a call's arguments, in lower case, without a leading "#". */
function idsOf({ arguments: values }: Pick<ToolCall, 'arguments'>): string[] {
  const ids: string[] = [];
  const look = (name: string, value: Json): void => {
    if (Array.isArray(value)) for (const part of value) look(name, part);
    else if (typeof value === 'object' && value !== null)
      for (const [key, part] of Object.entries(value)) look(key, part);
    else if (isId(name, value)) ids.push(String(value).replace(/^#/, '').toLowerCase());
  };
  look('', values);
  return ids;
}

function isId(name: string, value: Json): boolean {
  if (typeof value !== 'string' || value.trim() === '' || DATE.test(value)) return false;
  return ID_NAME.test(name) ? /^\S{1,128}$/.test(value) : ID_VALUE.test(value);
}

/**
 * Failed calls, the text after them, and claims that contradict the state stay in the conversation and are masked; if an
 * injected fault caused the failure, call and text may be right.
 */
export function claimsFilter(): Filter {
  const judge = (record: EpisodeRecord, context: QualityContext): Judgement => {
    const { domain } = context;
    const faults = new Map<number, string>();
    const faulted = new Set(
      record.steps.flatMap(({ predictions }) => predictions.flatMap(({ fault }) => fault?.call.id ?? [])),
    );
    const stateAt = statesOf(record, context);
    for (const { index, message } of agentTurns(record)) {
      if (isMasked(record, index)) continue;
      const before = record.messages[index - 1];
      if (callsOf(message).some(({ id }) => faulted.has(id))) continue;
      if (isFailedCall(record, message, domain)) faults.set(index, 'a failed call');
      else if (
        callsOf(message).length === 0 &&
        before?.role === 'tool' &&
        before.isError &&
        !faulted.has(before.toolCallId)
      )
        faults.set(index, 'text after a failed call');
      else if (message.content) {
        const [state, said] = [stateAt(index), record.messages.slice(0, index)];
        if (state !== undefined && falseClaim(message.content, { domain, state, said }))
          faults.set(index, 'a false claim');
      }
    }
    if (faults.size === 0) return KEEP;
    const kinds = [...new Set(faults.values())].sort().join(' and ');
    return { repaired: withMasked(record, [...faults.keys()]), note: `masked: ${kinds}` };
  };
  return { name: 'claims', judge };
}

/** The state at a message, requested in order; undefined if unknown. */
function statesOf({ steps, task: id, source }: EpisodeRecord, { domain, taskOf }: QualityContext) {
  const task = taskOf(id);
  const isKnown = source !== 'real' && task !== undefined && !isWorkedOutLater(task);
  let state: JsonObject | undefined;
  let next = 0;
  return (message: number): JsonObject | undefined => {
    if (isKnown && next === 0) state ??= initialStateOf(domain, task);
    for (; next < steps.length && steps[next].message < message; next++)
      for (const { operations } of steps[next].predictions) state = state && applied(state, operations);
    return state;
  };
}

interface Utterance {
  readonly domain: ToolsDomain;
  /** The state at that time. */
  readonly state: JsonObject;
  /** Messages before it. */
  readonly said: readonly Message[];
}

/** The sentence is a statement: not a question, wish, denial or supposition. */
const STATES = /\b(?:is|are|was|were|has|have|had|now|status|i|we)\b|[:=]|['’]ve\b/i;
const SUPPOSES =
  /\?\s*$|n['’]t\b|\b(?:not|no|never|neither|nor|cannot|can|could|would|will|shall|should|may|might|must|if|unless|whether|when|once|before|until|after|please|want|like|need|let|as soon)\b/i;
const SENTENCE = /(?<=[.!?])\s+|[;\n]+/;
const DATE_OR_TIME = /\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}/g;
/** Six characters or more, or with a hyphen and three digits: unlike any word of a language. */
const MADE_ID = /^(?=(?:\D*\d){3})(?=.*[A-Z])(?:[A-Z0-9]{6,}|[A-Z0-9]+(?:-[A-Z0-9]+)+)$/;
const COUNTS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/**
 * Whether a text claims something about an entity, by its id, that contradicts the state: an enum value of a field,
 * a number beside a field's name, or an unknown id. Contents of the latest answer about that id may be repeated.
 */
function falseClaim(text: string, { domain, state, said }: Utterance): boolean {
  const isId = idPatternOf(domain);
  const mentions = (message: Message, word: string) => {
    const called = callsOf(message).map(({ arguments: given }) => JSON.stringify(given));
    return hasWord([message.content ?? '', ...called].join(' ').toLowerCase(), word.toLowerCase());
  };
  return text.split(SENTENCE).some((sentence) => {
    const words = wordsOf(sentence.replace(DATE_OR_TIME, ' ')).map((word) => word.replace(/^#/, ''));
    const ids = words.filter((word) => isId(word) || MADE_ID.test(word) || fieldsOf(domain, state, word).length > 0);
    const isKnown = (id: string) => wordsIn(state).has(id) || said.some((message) => mentions(message, id));
    if (ids.some((id) => !isKnown(id))) return true;
    if (!STATES.test(sentence) || SUPPOSES.test(sentence)) return false;
    // The claim may refer to several entities and fields: it is false if it is true of none.
    const fields = ids.flatMap((id) => fieldsOf(domain, state, id));
    const others = words.filter((word) => !ids.includes(word)).map((word) => word.toLowerCase());
    const about = said.findLast((message) => message.role === 'tool' && ids.some((id) => mentions(message, id)));
    const isSo = (claimed: string | number, { value }: Field) =>
      String(value).toLowerCase() === String(claimed) || (about !== undefined && mentions(about, String(claimed)));
    const allowing = (word: string) => fields.filter(({ allowed }) => allowed.includes(word));
    const chosen = others.filter((word) => allowing(word).length > 0);
    const counted = fields.filter(
      ({ name, value }) => typeof value === 'number' && name.every((part) => others.includes(part)),
    );
    const numbers = others
      .map((word) => (COUNTS.includes(word) ? COUNTS.indexOf(word) : Number(word)))
      .filter(Number.isFinite);
    return (
      (chosen.length > 0 && !chosen.some((word) => allowing(word).some((field) => isSo(word, field)))) ||
      (numbers.length > 0 &&
        counted.length > 0 &&
        !numbers.some((number) => counted.some((field) => isSo(number, field))))
    );
  });
}

interface Field {
  /** Words of its key, in lower case. */
  readonly name: readonly string[];
  readonly value: Json;
  /** Words that its schema lists, in lower case. */
  readonly allowed: readonly string[];
}

/** Fields of all entities with this key in a collection of the state. */
function fieldsOf({ stateSchema }: ToolsDomain, state: JsonObject, id: string): Field[] {
  return Object.entries(state).flatMap(([collection, entries]) => {
    const entity = isJsonObject(entries) && Object.hasOwn(entries, id) ? entries[id] : undefined;
    if (!isJsonObject(entity)) return [];
    const form = [collection, id].reduce(
      (schema, key) => partOf(stateSchema, schema, key),
      stateSchema as Json | undefined,
    );
    return Object.entries(entity).map(([key, value]): Field => {
      const field = resolved(stateSchema, partOf(stateSchema, form, key));
      const listed = Array.isArray(field?.enum) ? field.enum : [];
      const allowed = listed.flatMap((one) => (typeof one === 'string' ? [one.toLowerCase()] : []));
      const name = key.match(/[A-Z]?[a-z]+|[A-Z]+|\d+/g) ?? [key];
      return { name: name.map((word) => word.toLowerCase()), value, allowed };
    });
  });
}

/** The schema of an object's entry, from the object's schema. */
function partOf(root: JsonObject, schema: Json | undefined, key: string): Json | undefined {
  const { properties, patternProperties, additionalProperties } = resolved(root, schema) ?? {};
  if (isJsonObject(properties) && Object.hasOwn(properties, key)) return properties[key];
  const patterns = isJsonObject(patternProperties) ? Object.entries(patternProperties) : [];
  return patterns.find(([pattern]) => new RegExp(pattern, 'u').test(key))?.[1] ?? additionalProperties;
}

function resolved(root: JsonObject, schema: Json | undefined): JsonObject | undefined {
  let found = schema;
  for (let hops = 0; isJsonObject(found) && typeof found.$ref === 'string' && hops < 8; hops++)
    found = valueAt(root, found.$ref.replace(/^#/, ''));
  return isJsonObject(found) ? found : undefined;
}

/** Whether all calls of a turn were refused, by an error or in the domain's words. */
function isFailedCall(record: EpisodeRecord, turn: AssistantMessage, domain: ToolsDomain): boolean {
  const phrases = Phrases.of(domain);
  const calls = callsOf(turn);
  const isRefused = (call: ToolCall) => {
    const answer = answerOf(record, call);
    return answer !== undefined && (answer.isError === true || phrases.isRefusal(answer.content));
  };
  return calls.length > 0 && calls.every(isRefused);
}

/**
 * Recorded changes are held against the domain's exact rules, where there are any: a conversation is cut before a call that had to fail
 * and did not, and before a change that does not apply or breaks an invariant.
 */
export function policyFilter(): Filter {
  const judge = (record: EpisodeRecord, { domain, taskOf }: QualityContext): Judgement => {
    const { rules } = domain;
    const task = taskOf(record.task);
    // Without rules, or without knowing what it began with, nothing can be said exactly.
    if (rules === undefined || task === undefined || record.source === 'real') return KEEP;
    let state = initialStateOf(domain, task);
    for (const { message, action, predictions } of record.steps) {
      for (const [index, { operations, isError }] of predictions.entries()) {
        const call = action.toolCalls?.[index];
        const after = applied(state, operations);
        if (after === undefined) return cutOrDrop(record, message, 'a change that does not apply');
        const hadToHold = call !== undefined && !isError && !isMasked(record, message);
        if (hadToHold && rules.preconditions(state, call).length > 0)
          return cutOrDrop(record, message, 'a call that had to fail and did not');
        if (operations.length > 0 && rules.invariants(state, after).length > 0)
          return cutOrDrop(record, message, 'a change that breaks an invariant');
        state = after;
      }
    }
    return KEEP;
  };
  return { name: 'policy', judge };
}

/** The state after some changes; undefined where one does not apply. */
function applied(state: JsonObject, operations: readonly Operation[]): JsonObject | undefined {
  try {
    return applyOperations(state, operations);
  } catch (error) {
    if (error instanceof ReverieError && error.code === 'OPERATION_INVALID') return undefined;
    throw error;
  }
}
