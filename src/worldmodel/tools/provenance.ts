// Where ids come from: an id that neither state, call nor conversation knows, and that nothing creates, was made up.
// (Simia-plus checks the arguments of calls so; here it is what a world model answers.)

import type { Json, JsonObject } from '../../core/canonical-json.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { IdPattern } from './id-pattern.js';
import { wordsIn, wordsOf } from './tokens.js';

export interface ProvenanceQuery {
  readonly domain: ToolsDomain;
  readonly state: JsonObject;
  readonly call: Pick<ToolCall, 'name' | 'arguments'>;
  readonly messages: readonly Message[];
  readonly operations: readonly Operation[];
  readonly observation: string;
}

/** Ids in operations and observation that come from nowhere. */
export function unknownIds(query: ProvenanceQuery, isId: IdPattern): string[] {
  const created = createdIds(query.operations);
  const words = new Set([...wordsOf(query.observation), ...query.operations.flatMap(wordsOfOperation)]);
  const suspects = [...words].filter((word) => isId(word) && !created.has(word));
  return suspects.filter((word) => !isMentioned(word, query));
}

function isMentioned(word: string, { domain, state, call, messages }: ProvenanceQuery): boolean {
  if (wordsIn(call.arguments).has(word) || stateMentions(state, word)) return true;
  if (domain.policy.includes(word)) return true;
  return messages.some((message) => message.role !== 'system' && says(message, word));
}

function says(message: Message, word: string): boolean {
  if (message.role === 'assistant' && message.toolCalls?.some((call) => wordsIn(call.arguments).has(word))) return true;
  const said = message.content ?? '';
  return said.includes(word) && wordsOf(said).includes(word);
}

/** Ids among a call's arguments that nobody has said and no policy names: an agent cannot know them. */
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
export function stateMentions(value: Json, word: string, depth = 0): boolean {
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
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  const names = ['id', `${singular(collection)}_id`, `${singular(collection)}Id`];
  const entity = value as JsonObject;
  return names.map((name) => entity[name]).filter((own) => typeof own === 'string');
}

function singular(word: string): string {
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.replace(/s$/, '');
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
