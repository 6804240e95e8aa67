// An agent that calls tools at random with arguments that fit their schemas: the floor that any agent should beat.
// Ids are taken from what it has seen, so that its calls are not all errors.

import type { Json, JsonObject } from '../../../core/canonical-json.js';
import { NO_COST } from '../../../core/cost.js';
import { Rng } from '../../../core/rng.js';
import type { CallSpec, ToolSpec } from '../../../env/tools/domain.js';
import { recoveryFrom } from '../../../env/tools/faults.js';
import { callsOf, type Message } from '../../../env/tools/message.js';
import { agreementTo, proposalOf } from '../../../env/tools/process-checks.js';
import type { ToolsAction, ToolsPolicy, ToolsPolicyQuery } from '../../../env/tools/tools-family.js';

export class RandomAgent implements ToolsPolicy {
  readonly version: string;

  /**
   * @param steps calls it makes before it says good-bye
   * @param offered whether it chooses among what the world offers at the moment, where it tells
   */
  constructor(
    private readonly steps = 6,
    private readonly offered = false,
  ) {
    this.version = `random, ${steps} calls${offered ? ', of those on offer' : ''}`;
  }

  act(query: ToolsPolicyQuery): { action: ToolsAction; cost: typeof NO_COST } {
    const { tools, seed, step } = query;
    if (step >= this.steps || tools.length === 0) return { action: { content: 'Good-bye.' }, cost: NO_COST };
    const rng = Rng.fromSeed(seed).split('random agent', step);
    const call = { id: `call_${step}`, ...(this.anyOffered(query, rng) ?? anyCall(query, rng)) };
    return { action: { content: null, toolCalls: [call] }, cost: NO_COST };
  }

  private anyOffered({ admissible }: ToolsPolicyQuery, rng: Rng): CallSpec | undefined {
    const found = this.offered ? admissible?.() : undefined;
    if (found === undefined || found.lines.length === 0) return undefined;
    return found.callOf(found.lines[rng.int(found.lines.length)]);
  }
}

function anyCall({ messages, tools }: ToolsPolicyQuery, rng: Rng): CallSpec {
  const tool = tools[rng.int(tools.length)];
  return { name: tool.name, arguments: sampleArguments(tool, seenWords(messages), rng) };
}

/** Arguments that fit the tool's schema as far as types and enumerations go. */
export function sampleArguments({ parameters }: ToolSpec, words: readonly string[], rng: Rng): JsonObject {
  return sampled(parameters, words, rng) as JsonObject;
}

/** Words of the conversation that look like ids or names. */
export function seenWords(messages: readonly Message[]): string[] {
  const text = messages.filter(({ role }) => role !== 'system').map(({ content }) => content ?? '');
  const words = text.join(' ').match(/[A-Za-z0-9#_@.-]*[0-9_@][A-Za-z0-9#_@.-]*/g) ?? [];
  return [...new Set(words.map((word) => word.replace(/[.,-]+$/, '')))];
}

function sampled(schema: JsonObject, words: readonly string[], rng: Rng): Json {
  const choices = schema.enum as readonly Json[] | undefined;
  if (choices !== undefined) return choices[rng.int(choices.length)];
  switch (schema.type) {
    case 'object': {
      const properties = (schema.properties ?? {}) as Record<string, JsonObject>;
      const required = (schema.required ?? []) as readonly string[];
      const given = Object.keys(properties).filter((key) => required.includes(key) || rng.uniform() < 0.3);
      return Object.fromEntries(given.map((key) => [key, sampled(properties[key], words, rng)]));
    }
    case 'array':
      return [sampled((schema.items ?? { type: 'string' }) as JsonObject, words, rng)];
    case 'integer':
    case 'number':
      return Number(schema.minimum ?? 0) + rng.int(5);
    case 'boolean':
      return rng.uniform() < 0.5;
    default:
      return words.length > 0 ? words[rng.int(words.length)] : 'unknown';
  }
}

/** What its questions begin with. */
export const QUESTION = 'To go on, please tell me your';
/** Where a task has nothing of its own to be said. */
export const CLOSING = 'That is done. Is there anything else I can help with?';

/** Asks the user for arguments by their names. */
function questionFor(names: readonly string[]): string {
  return `${QUESTION} ${names.map((name) => name.replaceAll('_', ' ')).join(', ')}`;
}

export class ReferenceAgent implements ToolsPolicy {
  readonly version: string;

  /** @param error probability, for each call of the solution, of getting it wrong */
  constructor(private readonly error = 0) {
    this.version = error === 0 ? 'reference' : `reference, ${error} wrong`;
  }

  act(query: ToolsPolicyQuery): { action: ToolsAction; cost: typeof NO_COST } {
    const { messages, tools, faults = [] } = query;
    const made = messages.flatMap(callsOf);
    const { uncounted, next, apology } = recoveryFrom(faults, messages, tools);
    if (apology !== undefined) return { action: { content: apology }, cost: NO_COST };
    const call = next ?? this.solution(query)[made.filter(({ id }) => !uncounted.has(id)).length];
    if (call === undefined) return { action: { content: query.task.reference?.say ?? CLOSING }, cost: NO_COST };
    const unknown = hasAsked(query.messages) ? [] : unknownArguments(call, query.messages);
    if (unknown.length === 0 && mustPropose(call, query))
      return { action: { content: proposalOf(call) }, cost: NO_COST };
    const action: ToolsAction =
      unknown.length > 0
        ? { content: questionFor(unknown) }
        : { content: null, toolCalls: [{ id: `call_${made.length}`, ...call }] };
    return { action, cost: NO_COST };
  }

  private solution({ task, seed }: ToolsPolicyQuery): CallSpec[] {
    const rng = Rng.fromSeed(seed).split('reference errors');
    const calls = task.reference?.calls ?? [];
    return calls.flatMap((call) => (rng.uniform() < this.error ? mistaken(call, calls, rng) : [call]));
  }
}

/** Whether the task requires the user's consent to this call, and the agent has not asked for it. */
export function mustPropose(call: CallSpec, { task, messages }: Pick<ToolsPolicyQuery, 'task' | 'messages'>): boolean {
  if (!task.verifier.confirmed?.includes(call.name) || agreementTo(call, messages) !== 'unasked') return false;
  return messages.at(-1)?.role !== 'user' || messages.at(-2)?.content !== proposalOf(call);
}

/** Names of arguments that look like ids and that was not mentioned. */
function unknownArguments({ arguments: given }: CallSpec, messages: readonly Message[]): string[] {
  const seen = messages.map(({ content }) => content ?? '').join('\n');
  const isId = (value: Json): value is string =>
    typeof value === 'string' && /\d/.test(value) && !/\s|^\d{4}-\d\d-\d\d$/.test(value);
  return Object.entries(given).flatMap(([name, value]) => (isId(value) && !seen.includes(value) ? [name] : []));
}

/** Whether the agent has asked already: a user without more to say would leave. */
function hasAsked(messages: readonly Message[]): boolean {
  return messages.some(({ role, content }) => role === 'assistant' && content?.startsWith(QUESTION));
}

/** The call left out, or with one argument taken from elsewhere in the solution or made up. */
function mistaken(call: CallSpec, all: readonly CallSpec[], rng: Rng): CallSpec[] {
  const names = Object.keys(call.arguments);
  if (names.length === 0 || rng.uniform() < 0.4) return [];
  const name = names[rng.int(names.length)];
  return [{ name: call.name, arguments: { ...call.arguments, [name]: otherValue(call.arguments[name], all, rng) } }];
}

function otherValue(value: Json, all: readonly CallSpec[], rng: Rng): Json {
  const others = all.flatMap(({ arguments: given }) => valuesOf(given)).filter((other) => other !== value);
  const alike = others.filter((other) => typeof other === typeof value);
  if (alike.length > 0 && rng.uniform() < 0.5) return alike[rng.int(alike.length)];
  if (typeof value === 'number') return value + 1 + rng.int(9);
  if (typeof value !== 'string') return value;
  // Ids keep their shape and name nothing that exists; words become another word.
  return /\d/.test(value) ? value.replaceAll(/\d/g, () => String(rng.int(10))) : `${value} or so`;
}

function valuesOf(given: JsonObject): Json[] {
  return Object.values(given).filter((value) => typeof value !== 'object');
}
