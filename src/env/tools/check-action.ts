// Is this an action of family `tools`? What passes is a message of the conversation, its calls with ids of their own.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson, isJsonObject, type JsonObject, parsedJson } from '../../core/canonical-json.js';
import type { ToolsSpace } from '../../core/environment.js';
import { describeIssues, nameAside, reverieError } from '../../core/errors.js';
import { roundedProblem } from '../../core/exact-numbers.js';
import { describeSpace } from '../space-values.js';
import { remembered } from '../state/records.js';
import { compileSchema, type SchemaCheck } from '../state/state.js';
import type { CallSpec, ToolSpec } from './domain.js';
import { type AssistantMessage, callsOf, type Message, type ToolCall } from './message.js';
import { exactPrediction, type Prediction } from './prediction.js';

const MAX_CALLS = 64;
const MAX_CHARACTERS = 1_000_000;
/** Characters of what is said of a wrong action. */
const LONGEST_PROBLEM = 300;

/**
 * The action as a message, a copy of its own. Ids of calls that are missing, or were used before, become `call-N`.
 * @param before the conversation so far
 * @throws ACTION_OUT_OF_SPACE if it is no action: neither text nor calls, or not of the form of one
 */
export function messageOf(action: unknown, before: readonly Message[], space: ToolsSpace): AssistantMessage {
  const problem = problemOfAction(action);
  if (problem !== undefined) {
    const hint = `${problem}. Give {content: "text for the user"} or {toolCalls: [{name, arguments: {...}}]} (over HTTP: tool_calls).`;
    throw reverieError('ACTION_OUT_OF_SPACE', { action: shown(action), space: describeSpace(space), hint });
  }
  const { content, reasoning, toolCalls } = action as AssistantMessage;
  return {
    role: 'assistant',
    content: content ?? null,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(toolCalls?.length ? { toolCalls: withIds(toolCalls, before) } : {}),
  };
}

const writing = z.string().max(MAX_CHARACTERS).optional();
const callForm = z.strictObject({
  id: writing,
  name: z.string().min(1).max(256),
  arguments: z.custom<JsonObject>(isJsonObject, 'it is no object'),
  rawArguments: writing,
});
const actionForm = z.strictObject({
  role: z.literal('assistant').optional(),
  content: writing.nullable(),
  reasoning: writing,
  toolCalls: z.array(callForm).max(MAX_CALLS).optional(),
});

function problemOfAction(action: unknown): string | undefined {
  const { data, error } = actionForm.safeParse(action);
  if (error) return describeIssues(error).slice(0, LONGEST_PROBLEM);
  const { content, toolCalls = [] } = data;
  if (toolCalls.length === 0 && !content?.trim()) return 'It says nothing and calls nothing';
  const problems = toolCalls.map((call) => jsonProblem(call.arguments, ARGUMENT_LIMITS));
  const at = problems.findIndex((problem) => problem !== undefined);
  return at < 0 ? undefined : `Call ${at + 1}: its arguments are not acceptable: ${problems[at]}`;
}

function withIds(calls: readonly ToolCall[], before: readonly Message[]): ToolCall[] {
  const used = new Set(before.flatMap((message) => callsOf(message).map(({ id }) => id)));
  return calls.map((call) => {
    const id = call.id && !used.has(call.id) ? call.id : freeId(used);
    used.add(id);
    return { ...call, id, arguments: structuredClone(call.arguments) };
  });
}

function freeId(used: ReadonlySet<string>): string {
  let number = used.size + 1;
  while (used.has(`call-${number}`)) number += 1;
  return `call-${number}`;
}

/** Untrusted and perhaps huge or circular: only its outline is shown. */
function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60));
  if (!isJsonObject(value)) return Array.isArray(value) ? `[${value.length} elements]` : String(value);
  return `{${Object.keys(value).slice(0, 8).join(', ').slice(0, 200)}}`;
}

export interface CallChecks {
  /** What is wrong with a call, one sentence each; empty if a tool can be asked. */
  problems(call: CallSpec & Pick<ToolCall, 'rawArguments'>): readonly string[];
  refuse(problems: readonly string[]): Prediction;
  /** Problems of the answer to a successful call, by the schema of the tool's `returns`. */
  answerProblems(name: string, observation: string): readonly string[];
}

const checksOfTools = new WeakMap<readonly ToolSpec[], CallChecks>();

/**
 * Checks of calls against the schemas of these tools. A schema that says nothing of further arguments allows none.
 * @throws SCHEMA_INVALID
 */
export function callChecks(tools: readonly ToolSpec[]): CallChecks {
  return remembered(checksOfTools, tools, () => compiledChecks(tools));
}

function compiledChecks(tools: readonly ToolSpec[]): CallChecks {
  const checks = new Map<string, SchemaCheck>(
    tools.map(({ name, parameters }) => [name, compileSchema(closed(parameters), `the tool "${name}"`)]),
  );
  const answers = new Map<string, SchemaCheck>(
    tools.flatMap(({ name, returns }) =>
      returns?.schema === undefined ? [] : [[name, compileSchema(returns.schema, `what "${name}" returns`)] as const],
    ),
  );
  const modelVersion = `schema:${createHash('sha256').update(canonicalJson(tools)).digest('hex').slice(0, 16)}`;
  return {
    problems: ({ name, arguments: args, rawArguments }) => {
      const check = checks.get(name);
      // Of what was written nothing could be read: it is not what a call without arguments means.
      const isUnread = rawArguments !== undefined && Object.keys(args).length === 0;
      const problem = isUnread ? 'they are no JSON object, or none that can be taken' : roundedProblem(args);
      const problems = problem === undefined ? check?.(args) : [problem];
      if (problems !== undefined) return problems.map((problem) => `the arguments of ${name} are wrong: ${problem}`);
      const shown = name.slice(0, 80);
      return [`unknown tool "${shown}"${nameAside(shown, [...checks.keys()])}`];
    },
    answerProblems: (name, observation) =>
      answers
        .get(name)?.(parsedJson(observation) ?? observation)
        .map((problem) => `${name} does not answer so: ${problem}`) ?? [],
    refuse: (problems) => {
      const outcome = { operations: [], observation: `Error: ${problems.join('; ')}`, isError: true };
      return exactPrediction(outcome, { backend: 'schema', modelVersion, why: problems });
    },
  };
}

const OPEN = ['additionalProperties', 'unevaluatedProperties', 'patternProperties', 'allOf', 'anyOf', 'oneOf', '$ref'];

function closed(parameters: JsonObject): JsonObject {
  return OPEN.some((key) => key in parameters) ? parameters : { ...parameters, additionalProperties: false };
}

interface JsonLimits {
  /** Levels of lists and objects within one another. */
  readonly depth: number;
  /** Values and keys, all levels together. */
  readonly parts: number;
  /** Characters of all texts and keys together. */
  readonly characters: number;
}

/** Arguments of a call, as an agent writes them. */
export const ARGUMENT_LIMITS: JsonLimits = { depth: 64, parts: 100_000, characters: 1_000_000 };

/** A state, as a domain holds it. */
export const STATE_LIMITS: JsonLimits = { depth: 128, parts: 20_000_000, characters: 500_000_000 };

/**
 * What keeps a value from being JSON within limits, or undefined: too deep or too large, not finite, not JSON at all, or
 * an object that is not plain. Keys called `__proto__` are refused: assigned by unwary code they change prototypes.
 */
export function jsonProblem(value: unknown, limits: JsonLimits): string | undefined {
  const left = { parts: limits.parts, characters: limits.characters };
  const stack: { value: unknown; path: string; depth: number }[] = [{ value, path: '', depth: 0 }];
  for (let part = stack.pop(); part !== undefined; part = stack.pop()) {
    const problem = problemOf(part.value, left);
    if (problem !== undefined) return `${part.path === '' ? 'it' : shortened(part.path)} ${problem}`;
    if (typeof part.value !== 'object' || part.value === null) continue;
    if (part.depth >= limits.depth) return `it is nested more than ${limits.depth} levels deep`;
    for (const [key, inner] of Object.entries(part.value)) {
      if (key === '__proto__') return `${shortened(part.path) || 'it'} has a key "__proto__"`;
      left.characters -= key.length;
      stack.push({ value: inner, path: `${part.path}/${key}`, depth: part.depth + 1 });
    }
  }
  return undefined;
}

function problemOf(value: unknown, left: { parts: number; characters: number }): string | undefined {
  left.parts -= 1;
  if (typeof value === 'string') left.characters -= value.length;
  if (left.parts < 0 || left.characters < 0) return 'is too large';
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `is ${value}, which is no number of JSON`;
  if (typeof value !== 'object') return `is of type ${typeof value}, which is not JSON`;
  if (Array.isArray(value)) return undefined;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? undefined : 'is no plain object';
}

function shortened(path: string): string {
  return path.length > 80 ? `${path.slice(0, 77)}...` : path;
}
