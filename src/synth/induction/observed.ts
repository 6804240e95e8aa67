// What logs show: calls with their answers, and the records that answers are made of. A record is an object with an id: its
// first field that is called one (`booking_id`, `bookingId`), or an argument of the call where the answer is about one thing.

import { isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import type { ToolSpec, ToolsDomain } from '../../env/tools/domain.js';
import type { Message } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';

export interface ObservedCall {
  /** `log 2, call 3`: what a person finds it by. */
  readonly at: string;
  readonly tool: ToolSpec;
  readonly arguments: JsonObject;
  readonly text: string;
  /** The text as JSON, where it is an object or a list. */
  readonly answer?: JsonObject | readonly Json[];
  readonly isError: boolean;
}

export interface ObservedLog {
  readonly name: string;
  /** null where the log has none. */
  readonly reward: number | null;
  readonly messages: readonly Message[];
  readonly calls: readonly ObservedCall[];
}

export interface SeenRecord {
  readonly collection: string;
  readonly key: string;
  readonly fields: JsonObject;
}

/** Calls of tools that the domain does not have are left out: nobody could call them. */
export function observedLogs(episodes: readonly EpisodeRecord[], { tools }: Pick<ToolsDomain, 'tools'>): ObservedLog[] {
  return episodes.map(({ messages, verdict }, i) => {
    const name = `log ${i + 1}`;
    const answers = new Map(messages.flatMap((each) => (each.role === 'tool' ? [[each.toolCallId, each]] : [])));
    const made = messages.flatMap((each) => (each.role === 'assistant' ? (each.toolCalls ?? []) : []));
    const calls = made.flatMap(({ id, name: called, arguments: given }, number): ObservedCall[] => {
      const tool = tools.find((each) => each.name === called);
      const answer = answers.get(id);
      if (tool === undefined || answer === undefined) return [];
      const at = `${name}, call ${number + 1}`;
      const { content: text, isError = false } = answer;
      return [{ at, tool, arguments: given, text, ...parsed(text), isError }];
    });
    return { name, reward: verdict.reward, messages, calls };
  });
}

function parsed(text: string): Pick<ObservedCall, 'answer'> {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === 'object' && value !== null ? { answer: value } : {};
  } catch {
    return {};
  }
}

/** `booking_id`, `bookingId`, `id`. */
const ID_FIELD = /(?:^id|_id|[a-z]Id)$/;

/** Records of a successful call's answer, the one it is about first. */
export function recordsOf({ answer, isError, ...call }: ObservedCall): SeenRecord[] {
  if (answer === undefined || isError) return [];
  const list = listIn(answer);
  if (list === undefined) return recordOf(answer as JsonObject, call, true);
  return list.items.flatMap((item) => (isJsonObject(item) ? recordOf(item, call, false) : []));
}

/** The list that an answer is, or that alone it holds. */
export function listIn(answer: Json): { readonly items: readonly Json[]; readonly within?: string } | undefined {
  if (Array.isArray(answer)) return { items: answer };
  const entries = Object.entries(answer as JsonObject);
  const [[within, items] = []] = entries;
  return entries.length === 1 && Array.isArray(items) ? { items, within } : undefined;
}

function recordOf(fields: JsonObject, call: Pick<ObservedCall, 'arguments' | 'tool'>, isAlone: boolean): SeenRecord[] {
  const own = Object.keys(fields).find((field) => ID_FIELD.test(field) && isKey(fields[field]));
  const asked = Object.keys(call.arguments).filter((name) => ID_FIELD.test(name) && isKey(call.arguments[name]));
  if (own !== undefined && own !== 'id') return [seen(own, fields[own], fields)];
  if (own === 'id') {
    const name = asked.find((each) => call.arguments[each] === fields.id) ?? `${nounOf(call.tool.name)}_id`;
    return [seen(name, fields.id, fields)];
  }
  return isAlone && asked.length === 1 ? [seen(asked[0], call.arguments[asked[0]], fields)] : [];
}

function seen(idName: string, key: Json, fields: JsonObject): SeenRecord {
  return { collection: collectionOf(idName), key: String(key), fields };
}

function isKey(value: Json): boolean {
  return (typeof value === 'string' && value !== '') || Number.isInteger(value);
}

/** `find_rooms`: room. */
function nounOf(tool: string): string {
  const word = tool
    .split(/_|(?=[A-Z])/)
    .at(-1)!
    .toLowerCase();
  return word.replace(/ies$/, 'y').replace(/([^s])s$/, '$1');
}

/** `booking_id`: bookings. */
export function collectionOf(idName: string): string {
  const noun = idName.replace(/_?id$/i, '') || 'record';
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return /(?:s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
}

export function isIdName(name: string): boolean {
  return ID_FIELD.test(name);
}
