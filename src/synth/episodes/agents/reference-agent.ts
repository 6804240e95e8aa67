// An agent that knows the solution: it makes the task's reference calls in order and says what the task wants said. What
// nobody has told it yet it asks the user for first, as an agent without the solution would have to. With errors asked for, it errs like a hasty agent would, seeded: it forgets a call, mixes up a value, or ends early.

import type { Json, JsonObject } from '../../../core/canonical-json.js';
import { NO_COST } from '../../../core/cost.js';
import { Rng } from '../../../core/rng.js';
import type { CallSpec } from '../../../env/tools/domain.js';
import type { Message } from '../../../env/tools/message.js';
import type { ToolsAction, ToolsPolicy, ToolsPolicyQuery } from '../../../env/tools/tools-family.js';

/** What its questions begin with. */
export const QUESTION = 'To go on, please tell me your';
/** Where a task has nothing of its own to be said. */
export const CLOSING = 'That is done. Is there anything else I can help with?';

/** Asks the user for arguments by their names. */
export function questionFor(names: readonly string[]): string {
  return `${QUESTION} ${names.map((name) => name.replaceAll('_', ' ')).join(', ')}`;
}

export class ReferenceAgent implements ToolsPolicy {
  readonly version: string;

  /** @param error probability, for each call of the solution, of getting it wrong */
  constructor(private readonly error = 0) {
    this.version = error === 0 ? 'reference' : `reference, ${error} wrong`;
  }

  act(query: ToolsPolicyQuery): { action: ToolsAction; cost: typeof NO_COST } {
    const made = query.messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
    const call = this.solution(query)[made.length];
    if (call === undefined) return { action: { content: query.task.reference?.say ?? CLOSING }, cost: NO_COST };
    const unknown = hasAsked(query.messages) ? [] : unknownArguments(call, query.messages);
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

/** Names of arguments that look like ids and that nobody has mentioned. */
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
