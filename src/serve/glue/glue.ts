// `reverie client`: ready-to-run files that connect a trainer to a server. Templates lie in clients/glue; what several of them
// share, or what is an idea of its own, in its folder `parts`.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import type { Json, JsonObject } from '../../core/canonical-json.js';
import { ENV_FAMILIES } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { packageRoot } from '../../core/packs.js';
import { faceOf } from '../../kinds/registry.js';
import type { Servable } from '../../run/servable.js';
import { type OfferedTool, pythonTools, sayToolOf } from '../protocols/tools.js';

/** Trainers, and the template of each. */
const TEMPLATES = {
  trl: 'trl.py',
  verl: 'verl.py',
  gym: 'gym.py',
} as const;

export type GlueKind = keyof typeof TEMPLATES;
export const GLUE_KINDS = Object.keys(TEMPLATES) as readonly GlueKind[];

/** What a server answers that still opens what it serves; how long, and how often, it is asked again. */
const STARTING = 503;
const PATIENCE_MS = 30_000;
const PAUSE_MS = 250;

/** The environment a file is for, as its server tells of it. */
export interface GlueTarget {
  /** Of the server, e.g. `http://127.0.0.1:8000`. */
  readonly url: string;
  readonly name: string;
  readonly family: Servable['family'];
  readonly tools: readonly OfferedTool[];
  /** Tasks in split `train`; 0 where episodes differ by seed alone. */
  readonly trainTasks: number;
}

/** Items of an environment without tasks: seeds 0 to 63. */
const SEEDS = 64;

/** The file's text. @throws GLUE_UNFIT where trainer and family do not go together */
export function glueText(kind: GlueKind, target: GlueTarget): string {
  requireFit(kind, target);
  const url = target.url.replace(/\/+$/, '');
  const items = target.trainTasks || SEEDS;
  const values: Readonly<Record<string, string>> = {
    ...(kind === 'trl' ? trlValues(target) : {}),
    '@URL@': url,
    '@ORIGIN@': new URL(url).origin,
    '@ENV@': target.name,
    '@ITEMS@': String(items),
  };
  return Object.entries(values).reduce((text, [mark, value]) => text.replaceAll(mark, () => value), template(kind));
}

/** A template, each line `# @PART NAME@` of it replaced by that part. */
function template(kind: GlueKind): string {
  return glueFile(TEMPLATES[kind]).replaceAll(/^# @PART ([a-z-]+)@\n/gm, (_, name) => glueFile('parts', `${name}.py`));
}

function glueFile(...path: string[]): string {
  return readFileSync(join(packageRoot(), 'clients', 'glue', ...path), 'utf8');
}

function requireFit(kind: GlueKind, target: GlueTarget): void {
  const { family, name } = target;
  const { acts } = faceOf(target);
  const isLanguage = kind !== 'gym';
  if (isLanguage && acts === 'numbers') {
    const problem = 'it trains language models, and actions there are numbers';
    throw reverieError('GLUE_UNFIT', { kind, env: name, family, problem, other: 'gym' });
  }
  if (!isLanguage && acts === 'turn') {
    const problem = 'Gymnasium has no space of tool calls';
    throw reverieError('GLUE_UNFIT', { kind, env: name, family, problem, other: 'trl' });
  }
}

function trlValues(target: GlueTarget): Readonly<Record<string, string>> {
  const { acts } = faceOf(target);
  const say = sayToolOf({ tools: target.tools as Servable['tools'] });
  const speaking = `The user hears what you say by ${say.name} and nothing else: call it until they have no more to say.`;
  const isTurn = acts === 'turn';
  return {
    '@SAY@': isTurn ? JSON.stringify(say.name) : 'None',
    '@RENAMED@': isTurn ? renamedNames([...target.tools, say]) : '{}',
    '# @TOOLS@\n': methodsOf(target),
    '@HOW@': `Do what is asked, with the tools you have.${isTurn ? ` ${speaking}` : ''}`,
    '@STOPPING@': acts === 'line' ? 'True' : 'False',
  };
}

/** What the model may do, as methods. */
function methodsOf(target: GlueTarget): string {
  if (faceOf(target).acts === 'line') {
    return pythonMethods([ACT], () => `self._step(given["text"])`);
  }
  const say = sayToolOf({ tools: target.tools as Servable['tools'] });
  return pythonMethods([...target.tools, say], (tool, args) =>
    tool === say
      ? `self._step({"content": ${args}["content"]})`
      : `self._step({"tool_calls": [{"name": ${JSON.stringify(tool.name)}, "arguments": ${args}}]})`,
  );
}

const ACT: OfferedTool = {
  name: 'act',
  description: 'Does what the text says and answers what is seen then.',
  parameters: {
    type: 'object',
    properties: { text: { type: 'string', description: 'What to do' } },
    required: ['text'],
  },
};

// What a running server tells of one of its environments.

const card = z.object({
  name: z.string(),
  family: z.enum(ENV_FAMILIES),
  tools: z.array(z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.json()) })),
  splits: z.array(z.object({ name: z.string(), tasks: z.int() })),
});
const answer = z.object({ environments: z.array(card).min(1) });

/**
 * The environment `env` of the server at `url`; its first unless named.
 * @param token  sent where the server asks for one
 * @throws SERVER_UNREACHABLE, also where it is still starting after half a minute; ENV_NOT_SERVED
 */
export async function fetchGlueTarget(url: string, env?: string, token?: string): Promise<GlueTarget> {
  const { environments } = await environmentsOf(url, token);
  const found = env === undefined ? environments[0] : environments.find(({ name }) => name === env);
  if (found === undefined) {
    throw reverieError('ENV_NOT_SERVED', { env, known: environments.map(({ name }) => name).join(', ') });
  }
  const { name, family, tools, splits } = found;
  const trainTasks = splits.find((split) => split.name === 'train')?.tasks ?? 0;
  const offered = tools.map((tool) => ({ ...tool, parameters: tool.parameters as JsonObject }));
  return { url, name, family, tools: offered, trainTasks };
}

async function environmentsOf(url: string, token?: string): Promise<z.output<typeof answer>> {
  const refuse = (problem: string, cause?: unknown) => reverieError('SERVER_UNREACHABLE', { url, problem }, cause);
  const reply = await onceStarted(url, token).catch((error: Error) => {
    throw refuse(error.message, error);
  });
  if (reply.status === STARTING) throw refuse(`it is still starting after ${PATIENCE_MS / 1000} s`);
  if (!reply.ok) throw refuse(`it answered ${reply.status}`);
  const read = answer.safeParse(await reply.json().catch(() => undefined));
  if (!read.success) throw refuse('what it answered is not of Reverie');
  return read.data;
}

/** The answer of a server that has opened what it serves, or the last one within the patience. */
async function onceStarted(url: string, token?: string): Promise<Response> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const reply = await fetch(`${url.replace(/\/+$/, '')}/v1/environments`, { headers, redirect: 'error' });
    if (reply.status !== STARTING || Date.now() > until) return reply;
    await reply.body?.cancel();
    await setTimeout(PAUSE_MS);
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  array: 'list',
  object: 'dict',
};

/** One method a tool; `bodyOf` says what it returns, given the Python dict of its arguments. Indented by four. */
function pythonMethods(tools: readonly OfferedTool[], bodyOf: (tool: OfferedTool, args: string) => string): string {
  const bound = [...pythonTools(tools).values()];
  return bound.map(({ tool }, i) => method(tools[i], tool, bodyOf(tools[i], 'given'))).join('\n');
}

/**
 * Python: of each tool that has another name as a method, or an argument that has, its name to the method's and the
 * names of these arguments.
 */
function renamedNames(tools: readonly OfferedTool[]): string {
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
