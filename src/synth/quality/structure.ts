// Filter: a conversation must hang together. Every call is answered once, right after the message that makes it, and every
// answer has a call; a call left open is fine only at the very end. Ids used twice are made unique.

import type { Message, ToolCall } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { agentTurns, cutOrDrop, drop, type Filter, type Judgement, KEEP } from './filter.js';

const FAULT = 'a call without its answer';

export function structureFilter(): Filter {
  return { name: 'structure', judge };
}

function judge(record: EpisodeRecord): Judgement {
  if (agentTurns(record).length === 0) return drop('the agent never acts');
  const at = firstBreak(record.messages);
  const unique = withUniqueIds(record);
  if (at !== undefined)
    return cutOrDrop(unique, at, { kind: FAULT, because: 'calls and answers do not match from here on' });
  return unique === record ? KEEP : { repaired: unique, note: 'ids of calls made unique' };
}

/** Index of the message before which the conversation must be cut, or undefined. */
function firstBreak(messages: readonly Message[]): number | undefined {
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (message.role === 'tool') return index;
    if (message.role !== 'assistant') continue;
    const ids = (message.toolCalls ?? []).map((call) => call.id);
    if (new Set(ids).size < ids.length) return index;
    const answered = answers(messages, index + 1);
    const isOpenEnd = index + answered.length === messages.length - 1;
    const known = answered.slice(0, ids.length);
    if (known.some((id) => !ids.includes(id)) || new Set(known).size < known.length) return index;
    if (answered.length < ids.length && !isOpenEnd) return index;
    if (answered.length > ids.length) return index + ids.length + 1;
    index += answered.length;
  }
  return undefined;
}

function answers(messages: readonly Message[], from: number): string[] {
  const ids: string[] = [];
  for (let index = from; index < messages.length; index++) {
    const message = messages[index];
    if (message.role !== 'tool') break;
    ids.push(message.toolCallId);
  }
  return ids;
}

/** The record itself where no id was used by two messages. */
function withUniqueIds(record: EpisodeRecord): EpisodeRecord {
  const uses = new Map<string, number>();
  const names = record.messages.map((message) => namesFor(message, uses));
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

function namesFor(message: Message, uses: Map<string, number>): ReadonlyMap<string, string> {
  const renamed = new Map<string, string>();
  if (message.role !== 'assistant') return renamed;
  for (const { id } of message.toolCalls ?? []) {
    const use = (uses.get(id) ?? 0) + 1;
    uses.set(id, use);
    if (use > 1) renamed.set(id, `${id}-${use}`);
  }
  return renamed;
}

function renamedTurn<T extends { readonly toolCalls?: readonly ToolCall[] }>(
  turn: T,
  names: ReadonlyMap<string, string>,
): T {
  if (names.size === 0 || !turn.toolCalls) return turn;
  return { ...turn, toolCalls: turn.toolCalls.map((call) => ({ ...call, id: names.get(call.id) ?? call.id })) };
}
