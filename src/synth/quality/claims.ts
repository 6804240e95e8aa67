// Filters of what the agent knows and may do: ids in its calls must have been seen before, what it says has to agree with what it was
// told and with the typed state, and what changed has to be allowed by the domain's rules. No model is asked; where the state cannot
// tell, the turn stays.

import { isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { applyOperations } from '../../env/state/operations.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import { type AssistantMessage, callsOf, type Message, type ToolCall } from '../../env/tools/message.js';
import { Phrases } from '../../env/tools/phrases.js';
import type { Operation } from '../../env/tools/prediction.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import {
  agentTurns,
  answerOf,
  cutOrDrop,
  type Filter,
  isMasked,
  type Judgement,
  KEEP,
  type QualityContext,
  stepsByMessage,
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

  /** Whether a call has an id among its arguments that nobody has mentioned. */
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
    if (!/[\p{L}\p{N}]/u.test(text[at - 1]) && !/[\p{L}\p{N}]/u.test(text[at + word.length])) return true;
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

/** A turn that does not agree is masked: it stays in the conversation, and teaches nothing. */
export function claimsFilter(domain: ToolsDomain): Filter {
  const words = new StateWords(domain.initialState);
  return { name: 'claims', judge: (record, context) => judgeClaims(record, context, words) };
}

function judgeClaims(record: EpisodeRecord, { domain, taskOf }: QualityContext, words: StateWords): Judgement {
  const faults = new Map<number, string>();
  const told = new SeenText();
  const task = record.source === 'real' ? undefined : taskOf(record.task);
  let state = task && initialStateOf(domain, task);
  const steps = stepsByMessage(record);
  record.messages.forEach((message, index) => {
    if (message.role === 'assistant' && !isMasked(record, index)) {
      const before = record.messages[index - 1];
      const fault = isFailedCall(record, message, domain)
        ? 'a failed call'
        : faultOf(message, { before, told, state, words });
      if (fault !== undefined) faults.set(index, fault);
    }
    told.add(message);
    const operations = steps.get(index)?.predictions.flatMap((prediction) => prediction.operations) ?? [];
    if (state !== undefined && operations.length > 0) state = applied(state, operations);
  });
  if (faults.size === 0) return KEEP;
  const kinds = [...new Set(faults.values())].sort().join(' and ');
  return { repaired: withMasked(record, [...faults.keys()]), note: `masked: ${kinds}` };
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

interface Known {
  readonly before: Message | undefined;
  readonly told: SeenText;
  /** Undefined where it is not known. */
  readonly state: JsonObject | undefined;
  readonly words: StateWords;
}

function faultOf(turn: AssistantMessage, { before, told, state, words }: Known): string | undefined {
  const calls = callsOf(turn);
  const said = turn.content ?? '';
  if (calls.length === 0 && before?.role === 'tool' && before.isError) return 'text after a failed call';
  const written = [said, ...calls.flatMap((call) => textsIn(call.arguments))];
  const isUnknown = written.flatMap((text) => words.idsIn(text)).some((id) => !told.has(id.toLowerCase()));
  if (isUnknown) return 'an unknown id in a text';
  const sentences = said.split(/(?<=[.!?])\s+|\n+/);
  const isContradicted = state !== undefined && sentences.some((sentence) => words.isContradicted(sentence, state));
  return isContradicted ? 'a claim against the state' : undefined;
}

function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const TOKEN = /[\p{L}\p{N}][\p{L}\p{N}_-]*[\p{L}\p{N}]/gu;
/** A sentence with one of these may speak of what is not so, or not yet. */
const OPEN =
  /\?|n't\b|\b(not|no|never|cannot|nor|without|unless|if|whether|would|could|should|shall|will|can|may|might|must|to be|until|before|once|when|want|wanted|like|from)\b/i;
/** More values than this, and a field holds data rather than one of some states. */
const MOST_VALUES = 12;
const WORD = /^[a-z]+([ _-][a-z]+)*$/;

/** How ids of a domain look, and the words that its records' fields choose from: read off its first state. */
class StateWords {
  private readonly shapes = new Set<string>();
  /** Of each collection, by field: the words it chooses from. */
  private readonly choices = new Map<string, Map<string, ReadonlySet<string>>>();

  constructor(initialState: JsonObject) {
    for (const [name, collection] of Object.entries(initialState)) {
      if (!isJsonObject(collection)) continue;
      for (const id of Object.keys(collection)) if (/^[A-Za-z]+-\d+$/.test(id)) this.shapes.add(shapeOf(id));
      this.choices.set(name, choicesOf(Object.values(collection).filter(isJsonObject)));
    }
  }

  /** Words of a text that look as ids of the domain do: the same letters, then digits. */
  idsIn(text: string): string[] {
    return (text.match(TOKEN) ?? []).filter((token) => this.shapes.has(shapeOf(token)));
  }

  /** Whether a sentence about one record names a value of a field which the record does not have. */
  isContradicted(sentence: string, state: JsonObject): boolean {
    if (OPEN.test(sentence)) return false;
    const ids = [...new Set(this.idsIn(sentence))];
    if (ids.length !== 1) return false;
    // What is said of a record follows its id, up to the next comma: another clause may speak of something else.
    const [clause] = sentence.slice(sentence.indexOf(ids[0]) + ids[0].length).split(/[,;:]/);
    const heard = ` ${(clause.toLowerCase().match(TOKEN) ?? []).join(' ').replaceAll(/[_-]/g, ' ')} `;
    const says = (word: string) => heard.includes(` ${word.replaceAll(/[_-]/g, ' ')} `);
    return Object.entries(state).some(([name, collection]) => {
      const record = isJsonObject(collection) ? collection[ids[0]] : undefined;
      if (!isJsonObject(record)) return false;
      const values = new Set(Object.values(record));
      return [...(this.choices.get(name) ?? [])].some(([field, choices]) => {
        const now = record[field];
        if (typeof now !== 'string' || says(now)) return false;
        return [...choices].some((choice) => !values.has(choice) && says(choice));
      });
    });
  }
}

function shapeOf(id: string): string {
  return id.toUpperCase().replace(/\d+/g, '9');
}

function choicesOf(records: readonly JsonObject[]): Map<string, ReadonlySet<string>> {
  const values = new Map<string, Set<string>>();
  for (const [field, value] of records.flatMap((record) => Object.entries(record)))
    if (typeof value === 'string') values.set(field, (values.get(field) ?? new Set()).add(value));
  const isChoice = (words: ReadonlySet<string>) =>
    words.size > 1 && words.size <= MOST_VALUES && [...words].every((word) => WORD.test(word));
  return new Map([...values].filter(([, words]) => isChoice(words)));
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
