// Filters of what the agent knows and may do: ids in its calls must have been seen before, a failed call is not learnt, and
// what changed has to be allowed by the domain's rules. No model is asked.

import type { Json, JsonObject } from '../../core/canonical-json.js';
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

/** A failed call and a text right after it stay in the conversation, and teach nothing; where a fault made it fail, both may be right. */
export function claimsFilter(): Filter {
  const judge = (record: EpisodeRecord, { domain }: QualityContext): Judgement => {
    const faults = new Map<number, string>();
    const befallen = new Set(
      record.steps.flatMap(({ predictions }) => predictions.flatMap(({ fault }) => fault?.call.id ?? [])),
    );
    for (const { index, message } of agentTurns(record)) {
      if (isMasked(record, index)) continue;
      const before = record.messages[index - 1];
      if (callsOf(message).some(({ id }) => befallen.has(id))) continue;
      if (isFailedCall(record, message, domain)) faults.set(index, 'a failed call');
      else if (
        callsOf(message).length === 0 &&
        before?.role === 'tool' &&
        before.isError &&
        !befallen.has(before.toolCallId)
      )
        faults.set(index, 'text after a failed call');
    }
    if (faults.size === 0) return KEEP;
    const kinds = [...new Set(faults.values())].sort().join(' and ');
    return { repaired: withMasked(record, [...faults.keys()]), note: `masked: ${kinds}` };
  };
  return { name: 'claims', judge };
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
