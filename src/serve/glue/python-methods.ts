// Tools as typed methods of a Python class with docstrings: what TRL makes a model's tools of.

import type { Json, JsonObject } from '../../core/json.js';
import { pythonTools } from '../facades/python-names.js';
import type { OfferedTool } from '../facades/tool-calls.js';

const TYPES: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  array: 'list',
  object: 'dict',
};

/** One method a tool; `bodyOf` says what it returns, given the Python dict of its arguments. Indented by four. */
export function pythonMethods(
  tools: readonly OfferedTool[],
  bodyOf: (tool: OfferedTool, args: string) => string,
): string {
  const bound = [...pythonTools(tools).values()];
  return bound.map(({ tool }, i) => method(tools[i], tool, bodyOf(tools[i], 'given'))).join('\n');
}

/**
 * Python: of each tool that has another name as a method, or an argument that has, its name to the method's and the
 * names of these arguments.
 */
export function renamedNames(tools: readonly OfferedTool[]): string {
  const renamed = [...pythonTools(tools).entries()].flatMap(([method, { name, tool }], i) => {
    const own = Object.keys(propertiesOf(tools[i]));
    const pairs = Object.keys(propertiesOf(tool)).map((key, at) => [own[at], key] as const);
    const keys = pairs.filter(([before, after]) => before !== after);
    if (name === method && keys.length === 0) return [];
    const written = keys.map(([before, after]) => `${JSON.stringify(before)}: ${JSON.stringify(after)}`);
    return [`${JSON.stringify(name)}: (${JSON.stringify(method)}, {${written.join(', ')}})`];
  });
  return `{${renamed.join(', ')}}`;
}

/** @param bound  the tool under names that Python allows, its properties in the same order */
function method(tool: OfferedTool, bound: OfferedTool, body: string): string {
  const parameters = parametersOf(tool, Object.keys(propertiesOf(bound)));
  const signature = parameters.map(({ name, type, required }) =>
    required ? `${name}: ${type}` : `${name}: ${type} | None = None`,
  );
  const args = parameters.map(({ key, name }) => `${JSON.stringify(key)}: ${name}`).join(', ');
  const doc = parameters.length === 0 ? [] : ['', '        Args:', ...parameters.map(docLine)];
  return [
    `    def ${bound.name}(${['self', ...signature].join(', ')}) -> str:`,
    `        """${oneLine(tool.description)}`,
    ...doc,
    '        """',
    `        given = {key: value for key, value in {${args}}.items() if value is not None}`,
    `        return ${body}`,
    '',
  ].join('\n');
}

interface Parameter {
  readonly key: string;
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
}

/** Required ones first, as Python wants it. */
function parametersOf(tool: OfferedTool, names: readonly string[]): Parameter[] {
  const required = new Set((tool.parameters['required'] ?? []) as string[]);
  const all = Object.entries(propertiesOf(tool)).map(([key, schema], i) => ({
    key,
    name: names[i],
    type: typeOf(schema),
    required: required.has(key),
    description: oneLine(String(schema['description'] ?? key)) + choicesOf(schema['enum']),
  }));
  return all.sort((a, b) => Number(b.required) - Number(a.required));
}

function propertiesOf({ parameters }: OfferedTool): Readonly<Record<string, JsonObject>> {
  return (parameters['properties'] ?? {}) as Record<string, JsonObject>;
}

function docLine({ name, description }: Parameter): string {
  return `            ${name}: ${description}`;
}

/** As transformers reads it out of a docstring. */
function choicesOf(values: Json | undefined): string {
  return Array.isArray(values) ? ` (choices: ${JSON.stringify(values)})` : '';
}

function typeOf(schema: JsonObject): string {
  const type = Array.isArray(schema['type']) ? schema['type'].find((one) => one !== 'null') : schema['type'];
  if (type === 'array' && typeof schema['items'] === 'object' && schema['items'] !== null) {
    return `list[${typeOf(schema['items'] as JsonObject)}]`;
  }
  return TYPES[String(type)] ?? 'str';
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('\\', '\\\\').replaceAll('"""', "'''").trim();
}
