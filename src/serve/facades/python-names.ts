// Tools under names that Python can bind. TRL makes a method of each tool: it skips those whose names are no identifiers,
// breaks on keywords, and sends null for arguments that were left out.

import type { Json, JsonObject } from '../../core/json.js';
import type { OfferedTool } from './tool-calls.js';

/** A tool as it is offered, and the way back to the domain's names. */
export interface PythonTool {
  readonly tool: OfferedTool;
  /** Its name in the domain. */
  readonly name: string;
  /** The arguments under the domain's names, without nulls that stand for "not given". */
  argumentsOf(given: JsonObject): JsonObject;
}

const KEYWORDS = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global if ' +
    'import in is lambda nonlocal not or pass raise return try while with yield self reset get_reward'
  ).split(' '),
);

/** By the name that each is offered under. */
export function pythonTools(tools: readonly OfferedTool[]): ReadonlyMap<string, PythonTool> {
  const names = identifiers(tools.map(({ name }) => name));
  return new Map(tools.map((tool, i) => [names[i], pythonTool(tool, names[i])]));
}

function pythonTool(tool: OfferedTool, name: string): PythonTool {
  const properties = (tool.parameters['properties'] ?? {}) as Readonly<Record<string, JsonObject>>;
  const required = (tool.parameters['required'] ?? []) as readonly string[];
  const keys = Object.keys(properties);
  const aliases = identifiers(keys);
  const aliasOf = new Map(keys.map((key, i) => [key, aliases[i]]));
  const keyOf = new Map(keys.map((key, i) => [aliases[i], key]));
  const isAbsent = (key: string, value: Json) =>
    value === null && keys.includes(key) && !required.includes(key) && !allowsNull(properties[key]);
  const parameters = {
    ...tool.parameters,
    properties: Object.fromEntries(keys.map((key) => [aliasOf.get(key), properties[key]])),
    required: required.map((key) => aliasOf.get(key) ?? key),
  } as JsonObject;
  return {
    name: tool.name,
    tool: { name, description: tool.description, parameters },
    argumentsOf: (given) => {
      const back = Object.entries(given).map(([key, value]) => [keyOf.get(key) ?? key, value] as const);
      return Object.fromEntries(back.filter(([key, value]) => !isAbsent(key, value)));
    },
  };
}

/** One for each name, all different; a name that is one already stays as it is. */
function identifiers(names: readonly string[]): string[] {
  const taken = new Set(names.filter((name) => identifier(name) === name));
  return names.map((name) => {
    const plain = identifier(name);
    if (plain === name) return name;
    let free = plain;
    for (let n = 2; taken.has(free); n++) free = `${plain}_${n}`;
    taken.add(free);
    return free;
  });
}

function identifier(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, '_');
  if (KEYWORDS.has(plain)) return `${plain}_`;
  return /^[A-Za-z]/.test(plain) ? plain : `x${plain}`;
}

function allowsNull(schema: Json | undefined): boolean {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return true;
  const { type, anyOf, oneOf, enum: values, const: value } = schema as JsonObject;
  if (type !== undefined) return type === 'null' || (Array.isArray(type) && type.includes('null'));
  if (Array.isArray(values)) return values.includes(null);
  const options = anyOf ?? oneOf;
  if (Array.isArray(options)) return options.some(allowsNull);
  return value === undefined || value === null;
}
