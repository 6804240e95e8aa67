// An agent that calls tools at random with arguments that fit their schemas: the floor that any agent should beat.
// Ids are taken from what it has seen, so that its calls are not all errors.

import type { Json, JsonObject } from '../../../core/canonical-json.js';
import { NO_COST } from '../../../core/cost.js';
import { Rng } from '../../../core/rng.js';
import type { CallSpec, ToolSpec } from '../../../env/tools/domain.js';
import type { Message } from '../../../env/tools/message.js';
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
