// Filter: every call names a tool there is, with arguments that fit its schema. Wrongly written arguments are repaired; a
// call that was refused stays as a mistake not to be learnt from; where a wrong call was answered as if it were right,
// the rest of the conversation is not worth keeping.

import { jsonrepair } from 'jsonrepair';
import { isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { compileSchema, type SchemaCheck } from '../../env/state/state.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { ToolCall } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import {
  agentTurns,
  answerOf,
  cutOrDrop,
  drop,
  type Filter,
  isMasked,
  type Judgement,
  KEEP,
  stepsByMessage,
  withCalls,
  withMasked,
  withoutMessages,
} from './filter.js';

type Checks = ReadonlyMap<string, { readonly check: SchemaCheck; readonly parameters: JsonObject }>;

/** @throws SCHEMA_INVALID if a tool's parameters are no JSON Schema */
export function schemaFilter(domain: ToolsDomain): Filter {
  const checks: Checks = new Map(
    domain.tools.map(({ name, parameters }) => {
      const check = compileSchema(parameters, `the arguments of tool "${name}"`);
      return [name, { check, parameters }] as const;
    }),
  );
  return { name: 'schema', judge: (record) => judge(record, checks) };
}

function judge(given: EpisodeRecord, checks: Checks): Judgement {
  const idle = idleTurns(given, checks);
  if (idle.size === 0) return judgeCalls(given, checks);
  const record = withoutMessages(given, idle);
  const judgement = judgeCalls(record, checks);
  if ('keep' in judgement && !judgement.keep) return drop(judgement.reason);
  const note = 'calls of unknown tools without effect taken out';
  if ('repaired' in judgement) return { repaired: judgement.repaired, note: `${note} and ${judgement.note}` };
  return { repaired: record, note };
}

/** Turns, with their answers, that only called a tool there is not, to no effect (a "think" tool of another release). */
function idleTurns(record: EpisodeRecord, checks: Checks): Set<number> {
  const steps = stepsByMessage(record);
  const idle = new Set<number>();
  for (const { index, message } of agentTurns(record)) {
    const [call, ...others] = message.toolCalls ?? [];
    const step = steps.get(index);
    const hasEffect = step?.reward || step?.predictions.some((one) => one.operations.length > 0);
    if (!call || others.length > 0 || checks.has(call.name) || message.content || hasEffect) continue;
    if (answerOf(record, call)?.content.trim() !== '') continue;
    idle.add(index).add(index + 1);
  }
  return idle;
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
  const notes = [repaired.size > 0 && 'arguments mended', refused.length > 0 && 'refused call masked'];
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
  const object = typeof given === 'string' ? parseObject(given) : given;
  if (object === undefined) return undefined;
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

/** A text read as a JSON object, repaired where it is nearly one; undefined if it is none. */
function parseObject(text: string): JsonObject | undefined {
  for (const read of [JSON.parse, (broken: string) => JSON.parse(jsonrepair(broken))]) {
    try {
      const value: Json = read(text);
      if (isJsonObject(value)) return value;
    } catch {
      // Not JSON this way: the next reader is more patient, and a text that none reads stays undefined.
    }
  }
  return undefined;
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
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (type === 'number' && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Number(text);
  if (type === 'integer' && /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  if (type === 'object') return parseObject(text);
  if (type === 'array') return parsedArray(text);
  return undefined;
}

function parsedArray(text: string): Json | undefined {
  const wrapped = parseObject(`{"value":${text}}`);
  return Array.isArray(wrapped?.value) ? wrapped.value : undefined;
}

function isOfType(type: Json, value: Json): boolean {
  if (type === 'null') return value === null;
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isJsonObject(value);
  return typeof value === type;
}
