// Filters of form: that a conversation hangs together, and that calls fit their tools' schemas.

import type { ToolsDomain } from '../../env/tools/domain.js';
import { type AssistantMessage, callsOf, type Message, type ToolCall } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { argumentCheck, callFaults } from '../tasks/task-checks.js';
import {
  agentTurns,
  answerOf,
  cutOrDrop,
  drop,
  type Filter,
  isMasked,
  type Judgement,
  KEEP,
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

/**
 * Every call names a tool there is, with arguments that fit its schema. A call that was refused stays as a mistake not to be learnt from;
 * where a wrong call was answered as if it were right, the rest is cut.
 * @throws SCHEMA_INVALID if a tool's parameters are no JSON Schema
 */
export function schemaFilter(domain: ToolsDomain): Filter {
  for (const tool of domain.tools) argumentCheck(tool);
  const judge = (record: EpisodeRecord): Judgement => {
    const refused: number[] = [];
    for (const { index, message } of agentTurns(record)) {
      if (isMasked(record, index)) continue;
      for (const call of message.toolCalls ?? []) {
        const isRefused = answerOf(record, call)?.isError === true;
        // What was written and could not be read is not the call without arguments that stands for it.
        const isUnread = isRefused && call.rawArguments !== undefined;
        if (!isUnread && callFaults(domain, [call]).length === 0) continue;
        if (!isRefused) return cutOrDrop(withMasked(record, refused), index, 'a call that does not fit its schema');
        refused.push(index);
      }
    }
    return refused.length === 0 ? KEEP : { repaired: withMasked(record, refused), note: 'refused call masked' };
  };
  return { name: 'schema', judge };
}
