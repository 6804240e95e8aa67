// Calls that go wrong where a right one would be made, as agents get them wrong: a digit, a name for an id, a word that is not
// among those allowed, an argument left out, a step too early. Only one that was refused and changed nothing is a mistake that can
// be put right by the right call.

import { isJsonObject, type Json, type JsonObject } from '../../../../core/json.js';
import type { Rng } from '../../../../core/rng.js';
import {
  applyOperations,
  type CallSpec,
  initialStateOf,
  type Message,
  Phrases,
  rulesResponder,
  type ToolCall,
  type ToolsDomain,
  type ToolsTask,
} from '../../../../env/index.js';
import { callFaults } from '../../../tasks/task-play.js';
import { isId } from '../../agents/told-ids.js';

/** In random order; the caller takes the first that holds. */
export function mistakesFor(call: CallSpec, domain: ToolsDomain, task: ToolsTask, rng: Rng): CallSpec[] {
  const tool = domain.tools.find(({ name }) => name === call.name);
  const properties = (tool?.parameters.properties ?? {}) as Record<string, JsonObject>;
  const entries = Object.entries(call.arguments);
  const made = entries.flatMap(([name, value]) => {
    const wrong = wrongValues(value, properties[name], domain, rng);
    return [...wrong.map((other) => ({ ...call.arguments, [name]: other })), without(call.arguments, name)];
  });
  const later = (task.reference?.calls ?? []).filter((other) => other.name === call.name || isWrite(other, domain));
  const all = [...made.map((given) => ({ name: call.name, arguments: given })), ...later];
  return Array.from(rng.permutation(all.length), (at) => all[at]);
}

/**
 * Whether the call would be refused now, and change nothing: by its schema, or by the domain's rules after what was done so far.
 * Where nobody can say, it is no mistake that is known to be harmless.
 */
export async function isHarmless(
  call: CallSpec,
  { domain, task, messages }: { domain: ToolsDomain; task: ToolsTask; messages: readonly Message[] },
): Promise<boolean> {
  if (callFaults(domain, [call]).length > 0) return true;
  if (domain.rules === undefined) return false;
  const responder = rulesResponder(domain, 'rules');
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  let state = initialStateOf(domain, task);
  const answer = (made: ToolCall, step: number) =>
    responder.answer({ domain, task, state, messages, call: made, step, seed: 0 });
  for (const [step, made] of calls.entries()) {
    if (callFaults(domain, [made]).length === 0) state = applyOperations(state, (await answer(made, step)).operations);
  }
  const { isError, operations, observation } = await answer({ ...call, id: 'call_mistaken' }, calls.length);
  return operations.length === 0 && (isError || Phrases.of(domain).isRefusal(observation));
}

function wrongValues(value: Json, schema: JsonObject | undefined, domain: ToolsDomain, rng: Rng): Json[] {
  if (typeof value !== 'string') return [];
  const choices = (schema?.enum ?? []) as readonly string[];
  if (choices.length > 0)
    return [`${value}${value.endsWith('e') ? 'd' : 'ed'}`, ...choices.filter((other) => other !== value)];
  if (!/\d/.test(value)) return [];
  const name = isId(value) ? nameOf(value, domain.initialState) : undefined;
  return [Phrases.of(domain).slip(value, rng), ...(name === undefined ? [] : [name])];
}

/** What the record with this id is called. */
function nameOf(id: string, state: JsonObject): string | undefined {
  for (const collection of Object.values(state)) {
    const record = isJsonObject(collection) ? collection[id] : undefined;
    if (isJsonObject(record) && typeof record.name === 'string') return record.name;
  }
  return undefined;
}

function isWrite(call: CallSpec, { tools }: ToolsDomain): boolean {
  return tools.find(({ name }) => name === call.name)?.kind === 'write';
}

function without(given: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(given).filter(([key]) => key !== name));
}
