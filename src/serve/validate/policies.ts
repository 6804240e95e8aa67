// Who acts while a server is checked: somebody at random, and somebody who does nothing.

import type { JsonObject } from '../../json.js';
import { Rng } from '../../rng.js';
import { sampleJson } from './sample-json.js';
import { NotChecked, type Subject, type Tool } from './validate-contract.js';

/** Random actions, the same for the same seed; those of `subject` fit its schema. */
export function randomActions({ schemas, tools, options }: Subject, stream: string): JsonObject[] {
  const rng = Rng.fromSeed(options.seed).split('validate', stream);
  return Array.from({ length: options.steps }, () =>
    tools.length > 0 ? randomCall(tools, rng) : (sampleJson(schemas.action, rng) as JsonObject),
  );
}

function randomCall(tools: readonly Tool[], rng: Rng): JsonObject {
  const { name, input_schema: schema } = tools[rng.int(tools.length)];
  return callOf(name, sampleJson({ ...schema, type: 'object' }, rng) as JsonObject);
}

export function callOf(name: string, given: JsonObject): JsonObject {
  return { type: 'call_tool', tool_name: name, arguments: given };
}

const SPEAKING = /respond|reply|answer|say|speak|message|submit|finish|done/i;
const NOTHING = 'I cannot help with that. Goodbye.';

/** Nothing: numbers at rest, a word that means nothing, or good-bye. @throws NotChecked where there is no such action */
export function idleActions({ schemas, tools, options }: Subject): JsonObject[] {
  const idle = tools.length > 0 ? idleCall(tools) : resting(schemas.action);
  return Array.from({ length: options.steps }, () => idle);
}

function idleCall(tools: readonly Tool[]): JsonObject {
  for (const { name, input_schema: schema } of tools.filter((tool) => SPEAKING.test(tool.name))) {
    const required = (schema['required'] ?? []) as string[];
    const properties = (schema['properties'] ?? {}) as Record<string, JsonObject>;
    if (required.length === 1 && properties[required[0]]?.['type'] === 'string') {
      return callOf(name, { [required[0]]: NOTHING });
    }
  }
  throw new NotChecked('no tool says or submits a text, so nobody can do nothing');
}

/** Zero where it is allowed, else the nearest bound; `wait` for a text. */
function resting(action: JsonObject): JsonObject {
  const properties = (action['properties'] ?? {}) as Record<string, JsonObject>;
  const required = (action['required'] ?? []) as string[];
  const rest = (schema: JsonObject): JsonObject[string] => {
    if (schema['type'] === 'string') return 'wait';
    if (schema['type'] === 'array') {
      const { items = {}, minItems = 1 } = schema;
      return Array.from({ length: Number(minItems) }, () => rest(items as JsonObject));
    }
    if (schema['type'] === 'number' || schema['type'] === 'integer') {
      const { minimum = -Infinity, maximum = Infinity } = schema;
      return Math.min(Math.max(0, Number(minimum)), Number(maximum));
    }
    return sampleJson(schema, Rng.fromSeed(0));
  };
  return Object.fromEntries(required.map((key) => [key, rest(properties[key] ?? {})]));
}
