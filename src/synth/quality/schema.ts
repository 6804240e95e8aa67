// Filter: every call names a tool there is, with arguments that fit its schema. Wrongly written arguments are mended; a
// call that was refused stays as a mistake not to be learnt from; where a wrong call was answered as if it were right,
// the rest of the conversation is not worth keeping.

import { jsonrepair } from 'jsonrepair';
import { isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { compileSchema, type SchemaCheck } from '../../env/state/schema.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { ToolCall } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import {
  agentTurns,
  answerOf,
  cutOrDrop,
  drop,
  type Fault,
  type Filter,
  isMasked,
  type Judgement,
  KEEP,
  withCalls,
  withMasked,
  withoutMessages,
} from './filter.js';

const FAULT = 'a call that does not fit its schema';

/** @throws SCHEMA_INVALID if a tool's parameters are no JSON Schema */
export function schemaFilter(domain: ToolsDomain): Filter {
  const checks = new Map(
    domain.tools.map((tool) => {
      const check = compileSchema(tool.parameters, `the arguments of tool "${tool.name}"`);
      return [tool.name, { check, parameters: tool.parameters }] as const;
    }),
  );
  return { name: 'schema', judge: (record) => judge(record, checks) };
}

type Checks = ReadonlyMap<string, { readonly check: SchemaCheck; readonly parameters: JsonObject }>;

function judge(lived: EpisodeRecord, checks: Checks): Judgement {
  const idle = idleTurns(lived, checks);
  const record = idle.size > 0 ? withoutMessages(lived, idle) : lived;
  const judgement = judgeCalls(record, checks);
  if (idle.size === 0) return judgement;
  // Places in the shorter record are none of the one that was given.
  if ('keep' in judgement && !judgement.keep) return drop(judgement.reason);
  const note = 'calls of unknown tools without effect taken out';
  if ('repaired' in judgement) return { repaired: judgement.repaired, note: `${note} and ${judgement.note}` };
  return { repaired: record, note };
}

/** Turns, with their answers, that only called a tool there is not, to no effect (a "think" tool of another release). */
function idleTurns(record: EpisodeRecord, checks: Checks): Set<number> {
  const steps = new Map(record.steps.map((step) => [step.message, step]));
  const idle = new Set<number>();
  for (const { index, message } of agentTurns(record)) {
    const [call, ...others] = message.toolCalls ?? [];
    const hasEffect =
      steps.get(index)?.reward || steps.get(index)?.predictions.some((one) => one.operations.length > 0);
    if (!call || others.length > 0 || checks.has(call.name) || message.content || hasEffect) continue;
    if (answerOf(record, call)?.content.trim() !== '') continue;
    idle.add(index).add(index + 1);
  }
  return idle;
}

function judgeCalls(record: EpisodeRecord, checks: Checks): Judgement {
  const mended = new Map<string, ToolCall>();
  const refused: Fault[] = [];
  for (const { index, message } of agentTurns(record)) {
    if (isMasked(record, index)) continue;
    for (const call of message.toolCalls ?? []) {
      if (fits(call, checks)) continue;
      const answer = answerOf(record, call);
      const better = mend(call, checks);
      if (answer?.isError) refused.push({ message: index, kind: 'a refused call', because: answer.content });
      else if (better) mended.set(call.id, better);
      else {
        const because = faultsOf(call, checks).join('; ');
        return cutOrDrop(repaired(record, mended, refused), index, { kind: FAULT, because }, refused);
      }
    }
  }
  if (mended.size === 0 && refused.length === 0) return KEEP;
  const notes = [mended.size > 0 && 'arguments mended', refused.length > 0 && 'refused call masked'];
  return { repaired: repaired(record, mended, refused), note: notes.filter(Boolean).join(' and '), faults: refused };
}

function repaired(record: EpisodeRecord, mended: ReadonlyMap<string, ToolCall>, refused: readonly Fault[]) {
  const whole = mended.size > 0 ? withCalls(record, mended) : record;
  const masked = refused.map(({ message }) => message);
  return masked.length > 0 ? withMasked(whole, masked) : whole;
}

function fits(call: ToolCall, checks: Checks): boolean {
  return faultsOf(call, checks).length === 0;
}

function faultsOf(call: ToolCall, checks: Checks): readonly string[] {
  return checks.get(call.name)?.check(call.arguments) ?? [`there is no tool "${call.name}"`];
}

/** The same call, well written; undefined where its writing is not what is wrong. */
function mend(call: ToolCall, checks: Checks): ToolCall | undefined {
  const known = checks.get(call.name);
  if (!known) return undefined;
  const given = call.arguments as Json;
  const object = typeof given === 'string' ? parseObject(given) : given;
  if (object === undefined) return undefined;
  const { rawArguments, ...rest } = call;
  const raw = rawArguments ?? (typeof given === 'string' ? given : JSON.stringify(given));
  const better: ToolCall = {
    ...rest,
    arguments: coerceTo(known.parameters, object) as JsonObject,
    rawArguments: raw,
  };
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

/** A text read as a JSON object, mended where it is nearly one; undefined if it is none. */
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
  if (types.length === 0 || types.some((type) => isOfType(type, value))) return value;
  for (const type of types) {
    const turned = turnedToOne(type, value);
    if (turned !== undefined) return turned;
  }
  return value;
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
