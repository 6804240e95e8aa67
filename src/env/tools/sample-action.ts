// Random actions of family `tools`, for checks: something is said, or a tool is called with arguments of the right types.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import type { ToolsSpace } from '../../core/environment.js';
import type { Rng } from '../../core/rng.js';
import type { ToolsAction } from './tools-family.js';

const SAYINGS = ['How can I help you?', 'Which number do you mean?', 'It is done. Is there anything else?'];
const TEXTS = ['a', '1', 'M1', 'B1', 'x y'];

/** One call in three of four actions, else a sentence. Arguments have the types their schema asks for, if it is simple. */
export function sampleToolsAction({ tools }: ToolsSpace, rng: Rng): ToolsAction {
  const tool = tools[rng.int(Math.max(1, tools.length))] as { function?: { name: string; parameters: JsonObject } };
  if (tool?.function === undefined || rng.int(4) === 0) return { content: SAYINGS[rng.int(SAYINGS.length)] };
  const { name, parameters } = tool.function;
  return { content: null, toolCalls: [{ id: '', name, arguments: sampleValue(parameters, rng) as JsonObject }] };
}

function sampleValue(schema: JsonObject, rng: Rng): Json {
  const { type, minimum } = schema;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[rng.int(schema.enum.length)];
  switch (Array.isArray(type) ? type[0] : type) {
    case 'object':
      return sampleObject(schema, rng);
    case 'array':
      return [sampleValue((schema.items ?? {}) as JsonObject, rng)];
    case 'integer':
    case 'number':
      return (typeof minimum === 'number' ? Math.ceil(minimum) : 0) + rng.int(5);
    case 'boolean':
      return rng.int(2) === 0;
    case 'null':
      return null;
    default:
      return TEXTS[rng.int(TEXTS.length)];
  }
}

function sampleObject({ properties, required }: JsonObject, rng: Rng): JsonObject {
  const needed = Array.isArray(required) ? required : [];
  const entries = Object.entries((properties ?? {}) as Record<string, JsonObject>)
    .filter(([key]) => needed.includes(key) || rng.int(2) === 0)
    .map(([key, schema]) => [key, sampleValue(schema, rng)] as const);
  return Object.fromEntries(entries);
}
