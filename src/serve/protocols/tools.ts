// Every environment as one that is acted in by calling tools: those of the domain and one to speak to the user; `act`
// {text} in family `text`; `step` {action} in family `vector`.

import { z } from 'zod';
import type { Json, JsonObject } from '../../core/canonical-json.js';
import type { Space, VectorSpace } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { describeSpace } from '../../env/space-values.js';
import type { ToolSpec } from '../../env/tools/domain.js';
import type { ToolsObservation } from '../../env/tools/tools-family.js';
import { faceOf } from '../../kinds/registry.js';
import type { Servable } from '../../run/servable.js';
import type { Action, Turn } from '../core/session-contract.js';
import { decodeAction } from '../core/tasks.js';
import { requestInvalid } from '../http/requests.js';

export interface GivenCall {
  /** The protocol's own, where it has one; else the episode gives one. */
  readonly id?: string;
  readonly name: string;
  /** An object; whatever came over the wire. */
  readonly arguments: unknown;
}

const argumentsSchema = z.record(z.string(), z.json());

/** What an agent may call; the same before and during an episode. */
export function offeredTools(served: Servable): readonly OfferedTool[] {
  const { acts } = faceOf(served);
  if (acts === 'numbers') return [stepTool(served)];
  const own = served.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  return acts === 'line' ? own : [...own, sayToolOf(served)];
}

/**
 * The action that a call is. Arguments that break a tool's schema, and unknown tools of a domain, are the environment's to
 * refuse: that is a step, as it is for an agent.
 * @throws REQUEST_INVALID, TOOL_NOT_OFFERED
 */
export function actionOfCall(served: Servable, call: GivenCall): Action {
  const read = argumentsSchema.safeParse(call.arguments);
  if (!read.success) throw requestInvalid(`arguments of ${call.name}: expected an object`);
  const { data } = read;
  const { acts, lineOf } = faceOf(served);
  if (acts === 'turn') return toolsAction(served, call, data as JsonObject);
  const known = offeredTools(served).map(({ name }) => name);
  if (!known.includes(call.name)) {
    throw reverieError('TOOL_NOT_OFFERED', { name: call.name, known: known.join(', ') });
  }
  return decodeAction(served, acts === 'line' ? lineOf?.({ name: call.name, arguments: data }) : data['action']);
}

function toolsAction(served: Servable, { id = '', name }: GivenCall, given: JsonObject): Action {
  if (name !== sayToolOf(served).name) return { content: null, toolCalls: [{ id, name, arguments: given }] };
  const { content } = given;
  if (typeof content === 'string' && content.trim() !== '') return { content };
  throw requestInvalid('content: expected a text that is not empty');
}

/** Whether a tool, not the protocol, said that a call failed. */
export function isToolError({ observation }: Turn): boolean {
  const { messages } = (observation ?? {}) as Partial<ToolsObservation>;
  return messages?.some((message) => message.role === 'tool' && message.isError === true) ?? false;
}

/** An observation as an agent reads it: what tools answered and what the user said, or numbers as a JSON list. */
export function observationText(observation: unknown): string {
  if (observation instanceof Float32Array) return JSON.stringify(Array.from(observation));
  if (typeof observation === 'string') return observation;
  const { messages } = observation as ToolsObservation;
  return messages.flatMap(({ role, content }) => (role === 'tool' || role === 'user' ? [content] : [])).join('\n');
}

/** What is told before an agent acts for the first time: rules (or how numbers are to be read), and what there is to see. */
export function openingOf(served: Servable, observation: unknown): { readonly rules: string; readonly first: string } {
  return { rules: rulesOf(served), first: observationText(observation) };
}

/** What an agent is to know of an environment before it sees anything. */
function rulesOf(served: Servable): string {
  const { policy, description, observationSpace, actionSpace } = served;
  if (faceOf(served).acts !== 'numbers') return policy;
  const rules = [
    description,
    `Observations are ${describeSpace(observationSpace)}.`,
    `Call step with an action of ${describeSpace(actionSpace)} until the episode ends.`,
  ];
  return rules.join('\n');
}

function stepTool({ description, actionSpace }: Servable): OfferedTool {
  return {
    name: 'step',
    description: `Takes one action and answers the next observation. ${description}`,
    parameters: {
      type: 'object',
      properties: { action: actionSchema(actionSpace as VectorSpace) },
      required: ['action'],
      additionalProperties: false,
    },
  };
}

/** A list of as many numbers as an action has elements. */
function actionSchema(space: VectorSpace): JsonObject {
  const description = `The action: ${describeSpace(space as Space)}`;
  if (space.type === 'discrete') {
    const items = { type: 'integer', minimum: space.start, maximum: space.start + space.n - 1 };
    return { type: 'array', description, items, minItems: 1, maxItems: 1 };
  }
  const [size] = space.shape;
  return { type: 'array', description, items: { type: 'number' }, minItems: size, maxItems: size };
}

// Protocols in which an agent acts by calling tools alone: there it speaks to the user by a tool too.

/** A tool as it is shown to a client; `parameters` is the JSON Schema of an object. */
export type OfferedTool = Pick<ToolSpec, 'name' | 'description' | 'parameters'>;

/** Python identifiers all, as TRL binds tools to methods. The first that the domain has no tool of. */
const NAMES = ['respond_to_user', 'say_to_user', 'send_message_to_user'];

/** The tool that says `content` to the user; family `tools`. */
export function sayToolOf({ tools }: Pick<Servable, 'tools'>): OfferedTool {
  const taken = new Set(tools.map(({ name }) => name));
  const name = NAMES.find((one) => !taken.has(one)) ?? `${NAMES[0]}_2`;
  return {
    name,
    description:
      "Says something to the user and answers what the user replies. The user sees nothing else of the agent's.",
    parameters: {
      type: 'object',
      properties: { content: { type: 'string', minLength: 1, description: 'What is said to the user' } },
      required: ['content'],
      additionalProperties: false,
    },
  };
}

const KEYWORDS = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global if ' +
    'import in is lambda nonlocal not or pass raise return try while with yield self reset get_reward'
  ).split(' '),
);

/** By the name that each is offered under. */
export function pythonTools(tools: readonly OfferedTool[]) {
  const names = identifiers(tools.map(({ name }) => name));
  return new Map(tools.map((tool, i) => [names[i], pythonTool(tool, names[i])]));
}

/** A tool as it is offered, and the way back to the domain's names. */
function pythonTool(tool: OfferedTool, name: string) {
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
    /** The arguments under the domain's names, without nulls that stand for "not given". */
    argumentsOf: (given: JsonObject): JsonObject => {
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
