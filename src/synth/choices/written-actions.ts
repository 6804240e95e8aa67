// Actions of an agent of tools as it writes them itself: a JSON object, of a call or of what is said. What may be written is one JSON Schema,
// made of those of the tools, so that whoever is held to it writes nothing that a tool's schema refuses.
//
//   {"name":"get_employee","arguments":{"employee_id":"EMP-1003"}}
//   {"say":"The account is unlocked."}

import type { Json, JsonObject } from '../../core/json.js';
import type { ToolSpec } from '../../env/index.js';
import type { ActionForms, ChosenAction, OfferedActions } from './call-forms.js';

export class WrittenActions implements ActionForms {
  /** What may be written; the same object for the same tools, so that it need be understood once. */
  readonly schema: JsonObject;
  private readonly properties: ReadonlyMap<string, readonly string[]>;

  constructor(tools: readonly ToolSpec[]) {
    this.schema = schemaOf(tools);
    this.properties = new Map(tools.map(({ name, parameters }) => [name, Object.keys(parameters.properties ?? {})]));
  }

  /** Whatever has been said, everything may be written. */
  offer(): OfferedActions {
    return { admissible: [], schema: this.schema, actionOf: (text) => actionOf(text) };
  }

  /** With arguments in the order of the tool's schema. */
  textOf({ content, call }: ChosenAction): string {
    if (call === undefined) return JSON.stringify({ say: content });
    const given = Object.entries(call.arguments);
    const order = this.properties.get(call.name) ?? [];
    const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
    given.sort(([a], [b]) => place(a) - place(b));
    return JSON.stringify({ name: call.name, arguments: Object.fromEntries(given) });
  }

  /** The tool that is called, or `say`. */
  kindOf(text: string): string {
    return actionOf(text)?.call?.name ?? 'say';
  }
}

/** The action that a text is; undefined if it is none. */
function actionOf(text: string): ChosenAction | undefined {
  let written: Json;
  try {
    written = JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
  if (!isObject(written)) return undefined;
  const { say, name, arguments: given } = written;
  if (typeof say === 'string') return { content: say };
  if (typeof name !== 'string' || given === undefined || !isObject(given)) return undefined;
  return { content: null, call: { name, arguments: given } };
}

/** One alternative for what is said and for each tool; the tools' own schemas are definitions, to which their references are moved. */
function schemaOf(tools: readonly ToolSpec[]): JsonObject {
  const said = { type: 'object', properties: { say: { type: 'string', pattern: '\\S' } }, required: ['say'] };
  const calls = tools.map(({ name }, i) => ({
    type: 'object',
    properties: { name: { const: name }, arguments: { $ref: `#/$defs/${i}` } },
    required: ['name', 'arguments'],
  }));
  const definitions = tools.map(({ parameters }, i) => [i, { type: 'object', ...moved(parameters, `#/$defs/${i}`) }]);
  return { anyOf: [said, ...calls], $defs: Object.fromEntries(definitions) as JsonObject };
}

/** A schema whose references into itself begin at another place. */
function moved(schema: JsonObject, place: string): JsonObject {
  const entries = Object.entries(schema).map(([key, value]): [string, Json] => {
    if (key === '$ref' && typeof value === 'string' && value.startsWith('#')) return [key, `${place}${value.slice(1)}`];
    return [key, movedValue(value, place)];
  });
  return Object.fromEntries(entries);
}

function movedValue(value: Json, place: string): Json {
  if (Array.isArray(value)) return value.map((one: Json) => movedValue(one, place));
  return isObject(value) ? moved(value, place) : value;
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
