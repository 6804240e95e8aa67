// Who acts while a server is checked: somebody at random, and somebody who does nothing.

import { canonicalJson } from '../../core/canonical-json.js';
import type { Json, JsonObject } from '../../core/json.js';
import { Rng } from '../../core/rng.js';
import {
  CheckFailed,
  NotChecked,
  type Player,
  type Reply,
  type Server,
  type Subject,
  type Tool,
} from './validate-contract.js';

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

// Values that fit a JSON Schema, drawn at random: for actions and arguments of tools.

const WORDS = ['look', 'help', 'wait', '1', 'A-1', 'north', 'yes'];
const SPAN = 1;

/** Reaches far enough for action schemas; what a schema says in other words (patterns, conditions) is not looked at. */
function sampleJson(schema: JsonObject, rng: Rng): Json {
  const { const: only, enum: values, type, anyOf, oneOf, default: standard } = schema;
  if (only !== undefined) return only;
  if (Array.isArray(values)) return values[rng.int(values.length)];
  const options = (anyOf ?? oneOf) as JsonObject[] | undefined;
  if (options !== undefined) return sampleJson(options.find((option) => option['type'] !== 'null') ?? {}, rng);
  const kind = Array.isArray(type) ? type[0] : type;
  if (kind === 'object') return sampleObject(schema, rng);
  if (kind === 'array') return sampleList(schema, rng);
  if (kind === 'integer') return Math.floor(sampleNumber(schema, rng, 10));
  if (kind === 'number') return sampleNumber(schema, rng, SPAN);
  if (kind === 'boolean') return rng.int(2) === 1;
  if (kind === 'string') return WORDS[rng.int(WORDS.length)];
  return standard ?? null;
}

/** Required properties alone: others may exclude each other. */
function sampleObject(schema: JsonObject, rng: Rng): JsonObject {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonObject>;
  const required = (schema['required'] ?? []) as string[];
  return Object.fromEntries(required.map((key) => [key, sampleJson(properties[key] ?? {}, rng)]));
}

/** Bounds an element (`low`, `high`) are ours to tell: JSON Schema has none. */
function sampleList({ items = {}, minItems = 1, low, high }: JsonObject, rng: Rng): Json[] {
  const size = Math.max(1, Number(minItems));
  return Array.from({ length: size }, (_, i) => {
    const minimum = (low as (number | null)[] | undefined)?.[i];
    const maximum = (high as (number | null)[] | undefined)?.[i];
    const bounds = { ...(minimum == null ? {} : { minimum }), ...(maximum == null ? {} : { maximum }) };
    return sampleJson({ ...(items as JsonObject), ...bounds }, rng);
  });
}

function sampleNumber({ minimum, maximum }: JsonObject, rng: Rng, span: number): number {
  const low = typeof minimum === 'number' ? minimum : typeof maximum === 'number' ? maximum - span : -span;
  const high = typeof maximum === 'number' ? maximum : low + 2 * span;
  const isWhole = span > SPAN;
  return isWhole ? low + rng.int(Math.max(1, high - low + 1)) : low + rng.uniform() * (high - low);
}

// Episodes played for a check, and how two are compared.

/** The first reply is that of the reset. Ends where the actions or the episode do. */
export type Trajectory = readonly Reply[];

export async function play(player: Player, reset: JsonObject, actions: readonly JsonObject[]): Promise<Trajectory> {
  const first = await player.reset(reset);
  if (first.error !== undefined) throw new CheckFailed(`reset ${JSON.stringify(reset)} is refused: ${first.error}`);
  const replies = [first];
  for (const action of actions) {
    if (replies.at(-1)!.done) break;
    replies.push(await player.step(action));
  }
  return replies;
}

/** Does `work` on a connection of its own. */
export async function connected<R>(server: Server, work: (player: Player) => Promise<R>): Promise<R> {
  const player = await server.connect();
  try {
    return await work(player);
  } finally {
    await player.close();
  }
}

/** On a connection of its own. */
export function playAlone(server: Server, reset: JsonObject, actions: readonly JsonObject[]): Promise<Trajectory> {
  return connected(server, (player) => play(player, reset, actions));
}

/** Characters shown of two answers, before and after the first in which they differ. */
const EXCERPT_BEFORE = 60;
const EXCERPT_AFTER = 100;

/** Where and how two differ; undefined if they do not. */
export function difference(one: Trajectory, other: Trajectory): string | undefined {
  const at = one.findIndex((reply, i) => shown(reply) !== shown(other[i]));
  if (at >= 0) {
    const [mine, theirs] = whereTheyPart(shown(one[at]), shown(other[at]));
    return `${at === 0 ? 'the first observation' : `step ${at}`} differs: ${mine} and ${theirs}`;
  }
  return one.length === other.length ? undefined : `${one.length - 1} steps and ${other.length - 1} steps`;
}

/** Sum of rewards; null counts as none. */
export function returnOf(replies: Trajectory): number {
  return replies.reduce((sum, { reward }) => sum + (typeof reward === 'number' ? reward : 0), 0);
}

function shown(reply: Reply | undefined): string {
  return reply === undefined ? '' : canonicalJson(reply as unknown as Json);
}

/** What each says where they begin to differ, with a little of what stands before that. */
function whereTheyPart(one: string, other: string): [string, string] {
  let same = 0;
  while (same < one.length && one[same] === other[same]) same++;
  const from = Math.max(0, same - EXCERPT_BEFORE);
  const excerpt = (text: string) =>
    `${from > 0 ? '...' : ''}${text.slice(from, same + EXCERPT_AFTER)}${text.length > same + EXCERPT_AFTER ? '...' : ''}`;
  return [excerpt(one), excerpt(other)];
}
