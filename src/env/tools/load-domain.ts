// Loads a domain from its folder: file schemas and cross-file checks.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import { isNode, LineCounter, parse, parseDocument, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { canonicalJson, type Json, type JsonObject } from '../../core/canonical-json.js';
import { nameAside, ReverieError, reverieError } from '../../core/errors.js';
import { parseExactly, roundedProblem } from '../../core/exact-numbers.js';
import { readText } from '../../core/files.js';
import { compileSchema, pointerKeys, type SchemaCheck } from '../state/state.js';
import { parseStrictly } from '../strict-parse.js';
import { callChecks, jsonProblem, STATE_LIMITS } from './check-action.js';
import { DeclaredRules, requirementSchema, rulesFileSchema } from './declared-rules.js';
import { allTools, type CallSpec, type ToolRules, type ToolSpec, type ToolsDomain, type ToolsTask } from './domain.js';
import { type PhraseBook, phrasesFileSchema, problemOfPhrases } from './phrases.js';
import { STATE_CHECKS } from './prediction.js';
import { firstTools } from './process-checks.js';
import { sandboxedRules } from './sandbox/sandboxed-rules.js';
import { initialStateOf } from './situation.js';

const name = z.string().min(1).max(128);
const text = z.string().min(1);

const call = z.strictObject({
  name: name.describe('tool'),
  arguments: z.record(z.string(), z.json()).default({}),
});

const solution = { calls: z.array(call), say: z.string().optional() };

const operation = z.discriminatedUnion('op', [
  z.strictObject({ op: z.enum(['add', 'replace', 'test']), path: z.string(), value: z.json() }),
  z.strictObject({ op: z.literal('remove'), path: z.string() }),
  z.strictObject({ op: z.enum(['move', 'copy']), path: z.string(), from: z.string() }),
]);

export const toolsFileSchema = z
  .array(
    z.strictObject({
      name,
      description: text,
      parameters: z.record(z.string(), z.json()),
      kind: z.enum(['read', 'write', 'generic']),
      terminates: z.boolean().optional(),
      for: z.literal('user').optional(),
      returns: z
        .strictObject({ schema: z.record(z.string(), z.json()).optional(), example: z.json().optional() })
        .optional(),
      enforces: z.array(requirementSchema).optional(),
      skipChecks: z.array(z.enum(STATE_CHECKS)).optional(),
    }),
  )
  .min(1);

const userSchema = z.strictObject({
  opening: text.optional(),
  goal: text,
  persona: text.optional(),
  script: z
    .array(
      z.strictObject({
        when: text.optional(),
        calls: z.array(call).optional(),
        say: z.string(),
        done: z.boolean().optional(),
      }),
    )
    .optional(),
  tools: z.array(name).optional(),
});

const verifierSchema = z.strictObject({
  state: z.literal('reference').optional(),
  assert: z
    .array(z.strictObject({ path: z.string(), equals: z.json().optional(), exists: z.boolean().optional() }))
    .optional(),
  communicate: z.array(text).optional(),
  grounded: z.boolean().optional(),
  called: z.array(call).optional(),
  notCalled: z.array(name).optional(),
  never: z.array(name).optional(),
  before: z.record(name, z.array(name).min(1)).optional(),
  confirmed: z.array(name).optional(),
  checks: z.array(name).optional(),
  rubric: z.array(text).optional(),
  partial: z.boolean().optional(),
});

export const toolsTaskSchema = z.strictObject({
  id: name,
  family: name,
  split: z.enum(['train', 'validation', 'test']).optional(),
  user: userSchema,
  initialOperations: z.array(operation).optional(),
  verifier: verifierSchema,
  reference: z.strictObject(solution).optional(),
  failures: z.array(z.strictObject({ name: text, ...solution })).optional(),
  tags: z.array(text).optional(),
  origin: z.strictObject({ seeds: z.array(text), strategy: text, modelVersion: text }).optional(),
});

export const tasksFileSchema = z.array(toolsTaskSchema).min(1);

/** Files of a domain folder; rules and phrases are optional. */
const FILES = {
  policy: 'policy.md',
  tools: 'tools.yaml',
  state: 'state.json',
  schema: 'state.schema.json',
  rules: 'rules.js',
  declared: 'rules.yaml',
  tasks: 'tasks.yaml',
  phrases: 'phrases.yaml',
};
type DomainFile = keyof typeof FILES;

/** @throws DOMAIN_FILE_INVALID, UNKNOWN_KEY, SCHEMA_INVALID, RULES_INVALID, OPERATION_INVALID */
export async function loadDomain(folder: string): Promise<ToolsDomain> {
  const read = new DomainFolder(folder);
  const policy = read.text('policy');
  const all = toolsOf(read);
  const [tools, userTools] = [all.filter((tool) => tool.for === undefined), all.filter((tool) => tool.for === 'user')];
  if (tools.length === 0) throw read.invalid('tools', 'every tool is for the user: the agent has none');
  const stateSchema = read.object('schema');
  const initialState = stateOf(read, stateSchema);
  const tasks = freezeDeep(read.checked('tasks', tasksFileSchema)) as readonly ToolsTask[];
  const id = path.basename(path.resolve(folder));
  const phrases = phrasesOf(read);
  const ofUser = userTools.length > 0 && { userTools };
  const content = { policy, tools, ...ofUser, stateSchema, initialState, tasks, ...(phrases && { phrases }) };
  checkTasks({ id, version: '', ...content, close: () => {} }, read.nameOf('tasks'));
  const declared = declaredOf(read, all, stateSchema);
  const isWhole = declared !== undefined && all.every(({ name }) => declared.tools.has(name));
  const rules = isWhole ? declared : await rulesOf(read, all);
  const version = versionOf({ ...content, rules: (declared ?? rules)?.version ?? null });
  const domain: ToolsDomain = { id, version, ...content, ...(declared && { declared }), close: () => rules?.close() };
  if (declared !== undefined) checkStarts(domain, declared, read);
  if (rules !== undefined || declared !== undefined) checkWithRules(domain, (rules ?? declared)!, read);
  return rules === undefined ? domain : { ...domain, rules };
}

/** Loads a folder that may have only tools so far. @throws DOMAIN_FILE_INVALID, SCHEMA_INVALID */
export function readTools(folder: string) {
  const read = new DomainFolder(folder);
  const schema = read.has('schema') ? read.object('schema') : undefined;
  const state = read.has('state') ? (schema ? stateOf(read, schema) : read.object('state')) : undefined;
  return { tools: toolsOf(read), ...(state && { state }), ...(schema && { schema }) };
}

export function filesOf(folder: string): string[] {
  return Object.values(FILES).map((name) => path.join(folder, name));
}

/** The same domain with other tasks, and a version of its own; closing it leaves the original open. */
export function withTasks(domain: ToolsDomain, tasks: readonly ToolsTask[]): ToolsDomain {
  return { ...domain, tasks, version: versionOf({ base: domain.version, tasks }), close: () => {} };
}

/** The domain with each task's split told; nothing of a task is worked out for it. */
export function withSplits(
  domain: ToolsDomain,
  splitOf: (task: ToolsTask) => NonNullable<ToolsTask['split']>,
): ToolsDomain {
  const splits = domain.tasks.map(splitOf);
  const tasks = domain.tasks.map((task, i): ToolsTask => {
    const split = { value: splits[i], enumerable: true };
    return Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(task), split }) as ToolsTask;
  });
  return { ...domain, tasks, version: versionOf({ base: domain.version, splits }), close: () => {} };
}

/** SHA-256 (hex) of the canonical JSON. */
export function versionOf(content: unknown): string {
  return createHash('sha256').update(canonicalJson(content)).digest('hex');
}

async function rulesOf(read: DomainFolder, tools: readonly ToolSpec[]): Promise<RulesOfFile | undefined> {
  if (!read.has('rules')) return undefined;
  const readers = tools.filter(({ kind }) => kind !== 'write').map(({ name }) => name);
  return sandboxedRules(read.text('rules'), read.nameOf('rules'), { readers });
}

/** Rules of rules.yaml and preconditions of tools.yaml. @throws DOMAIN_FILE_INVALID, UNKNOWN_KEY */
function declaredOf(
  read: DomainFolder,
  tools: readonly ToolSpec[],
  stateSchema: JsonObject,
): DeclaredRules | undefined {
  const own = read.nameOf('declared');
  if (existsSync(path.join(path.dirname(own), 'induced.yaml')))
    throw reverieError('DOMAIN_FILE_INVALID', {
      problem: `"${path.join(path.dirname(own), 'induced.yaml')}" has an older format: rules from logs are now written to rules.yaml.`,
      hint: 'Run reverie induce FOLDER --logs LOGS, which writes rules.yaml, and remove induced.yaml.',
    });
  const enforcing = tools.find(({ enforces }) => enforces !== undefined);
  if (!read.has('declared') && enforcing === undefined) return undefined;
  if (read.has('rules')) {
    const what = read.has('declared') ? `"${own}"` : `"enforces" of the tool "${enforcing!.name}"`;
    throw reverieError('DOMAIN_FILE_INVALID', {
      problem: `The domain has both rules.js and ${what}: two rules of one call may contradict each other.`,
      hint: 'Keep one of them: rules.yaml if it can express all rules, rules.js if code is needed.',
    });
  }
  const file = read.has('declared') ? read.checked('declared', rulesFileSchema) : rulesFileSchema.parse({});
  return new DeclaredRules(freezeDeep(file), {
    ...{ tools, stateSchema, file: own },
    fault: (place, problem, of) =>
      of === undefined
        ? read.invalid('declared', `${place.join('.')}: ${problem}`, place)
        : read.invalid(of, `"${tools[place[0] as number].name}", ${place.slice(1).join('.')}: ${problem}`, place),
    at: (place) => `${place.join('.')}${read.lineOf('declared', place)}`,
  });
}

/** Invariants must hold in the initial states of tasks; otherwise every call would break them. */
function checkStarts(domain: ToolsDomain, declared: DeclaredRules, read: DomainFolder): void {
  const [broken] = declared.invariants(domain.initialState, domain.initialState);
  if (broken !== undefined) throw read.invalid('state', `the state breaks an invariant of rules.yaml: ${broken}`);
  for (const task of domain.tasks) {
    if (!task.initialOperations?.length) continue;
    const start = initialStateOf(domain, task);
    const [problem] = declared.invariants(start, start);
    if (problem !== undefined)
      throw invalid(read.nameOf('tasks'), task, `initialOperations: the state breaks an invariant: ${problem}`);
  }
}

/** Metadata of a rules file, to be compared with tools and tasks. */
type RulesOfFile = ToolRules & { readonly checks: ReadonlySet<string>; readonly preconditioned: ReadonlySet<string> };

function checkWithRules(domain: ToolsDomain, rules: RulesOfFile, read: DomainFolder): void {
  try {
    const known = allTools(domain).map(({ name }) => name);
    const stray = [...rules.tools, ...rules.preconditioned].find((name) => !known.includes(name));
    const problem = `"${stray}" is not a tool of the domain`;
    if (stray !== undefined) throw reverieError('RULES_INVALID', { file: read.nameOf('rules'), problem });
    for (const task of domain.tasks) {
      const unknown = task.verifier.checks?.find((name) => !rules.checks.has(name));
      if (unknown === undefined) continue;
      const problem = `verifier: the rules have no check "${unknown}"${nameAside(unknown, [...rules.checks])}`;
      throw invalid(read.nameOf('tasks'), task, problem);
    }
  } catch (error) {
    rules.close();
    throw error;
  }
}

function toolsOf(read: DomainFolder): readonly ToolSpec[] {
  const tools = read.checked('tools', toolsFileSchema) as readonly ToolSpec[];
  tools.forEach(({ name, parameters, returns }, i) => {
    if (tools.findIndex((other) => other.name === name) !== i)
      throw read.invalid('tools', `two tools are called "${name}"`);
    if (parameters.type !== 'object') throw read.invalid('tools', `the parameters of "${name}" must be of type object`);
    if (returns?.schema === undefined || returns.example === undefined) return;
    const [misfit] = compileSchema(returns.schema, `what "${name}" returns`)(returns.example);
    if (misfit !== undefined)
      throw read.invalid('tools', `the example of what "${name}" returns does not fit its schema: ${misfit}`, [
        ...[i, 'returns', 'example'],
      ]);
  });
  callChecks(freezeDeep(tools));
  return tools;
}

function phrasesOf(read: DomainFolder): PhraseBook | undefined {
  if (!read.has('phrases')) return undefined;
  const book = freezeDeep(read.checked('phrases', phrasesFileSchema)) as PhraseBook;
  const problem = problemOfPhrases(book);
  if (problem !== undefined) throw read.invalid('phrases', problem);
  return book;
}

function stateOf(read: DomainFolder, schema: JsonObject): JsonObject {
  const state = read.object('state');
  const problems = compileSchema(schema, 'the state')(state);
  if (problems.length > 0) throw read.invalid('state', `the state does not fit its schema: ${problems.join('; ')}`);
  return state;
}

/** Keys may be merged from an anchor (`<<: *name`), as in YAML 1.1. */
const YAML = { merge: true };

/** By the text of the YAML: a process opens the same domain again and again, and parsing is a sixth of what that takes. */
const PARSED = new LRUCache<string, { readonly value: Json }>({ max: 32 });

/** The files of a folder: reading them, and saying what is wrong with them. */
class DomainFolder {
  constructor(private readonly folder: string) {}

  nameOf(file: DomainFile): string {
    return path.join(this.folder, FILES[file]);
  }

  has(file: DomainFile): boolean {
    return existsSync(this.nameOf(file));
  }

  text(file: DomainFile): string {
    try {
      return readText(this.nameOf(file));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') throw this.invalid(file, message);
      const problem = `There is no domain file "${this.nameOf(file)}".`;
      const hint =
        'A domain folder holds policy.md, tools.yaml, state.json, state.schema.json, tasks.yaml and, where there is one, rules.yaml or rules.js.';
      throw reverieError('DOMAIN_FILE_INVALID', { problem, hint }, error);
    }
  }

  /** The JSON object in a file, frozen. */
  object(file: 'state' | 'schema'): JsonObject {
    const value = this.parsed(file);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw this.invalid(file, 'it is no object');
    return freezeDeep(value) as JsonObject;
  }

  checked<S extends z.ZodType>(file: 'tools' | 'tasks' | 'declared' | 'phrases', schema: S): z.output<S> {
    const invalid = (problem: string, place: readonly PropertyKey[]) => this.invalid(file, problem, place);
    const lineOf = (place: readonly PropertyKey[]) => this.lineOf(file, place);
    return parseStrictly(schema, this.parsed(file), this.nameOf(file), invalid, lineOf);
  }

  /** @param place keys from the root of the file to the error, which is reported with its line */
  invalid(file: DomainFile, problem: string, place: readonly PropertyKey[] = []): ReverieError {
    const hint = 'See docs/domains.md for what each file of a domain holds.';
    const where = `"${this.nameOf(file)}"${this.lineOf(file, place)}`;
    return reverieError('DOMAIN_FILE_INVALID', { problem: `Domain file ${where}: ${problem}`, hint });
  }

  /** `, line 12`: of a place, or of its nearest parent; empty for the whole file. */
  lineOf(file: DomainFile, place: readonly PropertyKey[]): string {
    if (place.length === 0 || !this.has(file)) return '';
    const lineCounter = new LineCounter();
    const document = parseDocument(this.text(file), { lineCounter });
    for (const keys = [...place]; keys.length > 0; keys.pop()) {
      const node = document.getIn(keys, true);
      if (isNode(node) && node.range) return `, line ${lineCounter.linePos(node.range[0]).line}`;
    }
    return '';
  }

  private parsed(file: DomainFile): Json {
    const text = this.text(file);
    const value = this.written(file, text);
    const problem = jsonProblem(value, STATE_LIMITS) ?? (FILES[file].endsWith('.json') && doubledKey(text, value));
    if (problem) throw this.invalid(file, problem);
    return value;
  }

  private written(file: DomainFile, text: string): Json {
    const isJson = FILES[file].endsWith('.json');
    try {
      // Bounds in schemas may be any number.
      if (isJson) return (file === 'schema' ? JSON.parse(text) : parseExactly(text)) as Json;
      const rounded =
        /\d{16}/.test(text) && file !== 'tools' && roundedProblem(parse(text, { ...YAML, intAsBigInt: true }));
      if (rounded) throw this.invalid(file, rounded);
      const read = PARSED.get(text) ?? { value: parse(text, YAML) as Json };
      PARSED.set(text, read);
      return structuredClone(read.value);
    } catch (error) {
      if (error instanceof ReverieError) throw error;
      const what = error instanceof YAMLParseError ? '' : `it is not ${isJson ? 'JSON' : 'YAML'}: `;
      throw this.invalid(file, `${what}${(error as Error).message}`);
    }
  }
}

/** Where a key stands twice in an object, of which `JSON.parse` keeps the last without a word; undefined: nowhere. */
function doubledKey(text: string, value: Json): string | undefined {
  const written = text.match(/"(?:[^"\\]|\\.)*"\s*:?/g)?.filter((part) => part.endsWith(':')) ?? [];
  if (written.length === keysIn(value)) return undefined;
  return parseDocument(text).errors[0]?.message ?? 'a key stands twice in an object';
}

function keysIn(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  const parts: Json[] = Object.values(value);
  return parts.reduce<number>((sum, part) => sum + keysIn(part), Array.isArray(value) ? 0 : parts.length);
}

/** The value itself, it and all its parts frozen. */
export function freezeDeep<V>(value: V): V {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) freezeDeep(part);
  return value;
}

/**
 * All but what the rules have to say.
 * @param file what the tasks are called in errors
 * @throws DOMAIN_FILE_INVALID
 */
export function checkTasks(domain: ToolsDomain, file: string): void {
  const stateCheck = compileSchema(domain.stateSchema, 'the state');
  const seen = new Set<string>();
  for (const task of domain.tasks) {
    const problem =
      (seen.has(task.id) ? 'another task has the same id' : undefined) ??
      problemOfUser(domain, task) ??
      problemOfStart(domain, task, stateCheck) ??
      problemOfCalls(domain, task) ??
      problemOfVerifier(task);
    if (problem !== undefined) throw invalid(file, task, problem);
    seen.add(task.id);
  }
}

function problemOfUser({ userTools = [] }: ToolsDomain, { user }: ToolsTask): string | undefined {
  const known = userTools.map(({ name }) => name);
  const stray = user.tools?.find((tool) => !known.includes(tool));
  if (stray !== undefined)
    return `user.tools: the domain has no tool "${stray}" for users (${known.join(', ') || 'none is marked for: user'})`;
  const own = userTools.filter(({ name }) => user.tools?.includes(name) ?? true);
  for (const { calls = [] } of user.script ?? []) {
    const [problem] = calls.flatMap((made) => callChecks(own).problems(made));
    if (problem !== undefined) return `user.script: ${problem}`;
  }
  for (const { when } of user.script ?? []) {
    if (when === undefined) continue;
    try {
      new RegExp(when, 'i');
    } catch (error) {
      return `user.script: ${(error as Error).message}`;
    }
  }
  return undefined;
}

function problemOfStart(domain: ToolsDomain, task: ToolsTask, stateCheck: SchemaCheck): string | undefined {
  if (!task.initialOperations?.length) return undefined;
  try {
    const problems = stateCheck(initialStateOf(domain, task));
    if (problems.length > 0) return `initialOperations: the state no longer fits its schema: ${problems.join('; ')}`;
  } catch (error) {
    return `initialOperations: ${(error as Error).message}`;
  }
  return undefined;
}

/** Reference and failures must be calls that reach a backend; of verified calls, what is given must be an argument. */
function problemOfCalls({ tools }: ToolsDomain, { reference, failures, verifier }: ToolsTask): string | undefined {
  const check = callChecks(tools);
  const placed = (where: string, calls: readonly CallSpec[] = []) =>
    calls.map((call, i) => ({ call, where: `${where}, call ${i + 1}` }));
  const listed = [
    ...placed('reference', reference?.calls),
    ...(failures ?? []).flatMap(({ name, calls }) => placed(`failure "${name}"`, calls)),
  ];
  const known = tools.map(({ name }) => name);
  const { called = [], notCalled = [], never = [], confirmed = [], before = {} } = verifier;
  const ordered = Object.entries(before).flatMap(([first, later]) => [...firstTools(first), ...later]);
  const named = [...called.map(({ name }) => name), ...notCalled, ...never, ...confirmed, ...ordered];
  const unknown = named.find((name) => !known.includes(name));
  if (unknown !== undefined) return `verifier: unknown tool "${unknown}"${nameAside(unknown, known)}`;
  return listed.flatMap(({ call, where }) => check.problems(call).map((problem) => `${where}: ${problem}`))[0];
}

function problemOfVerifier({ verifier, reference }: ToolsTask): string | undefined {
  const { grounded, partial: _, ...parts } = verifier;
  if (Object.values(parts).every((part) => part === undefined || Object.keys(part).length === 0))
    return 'verifier: it verifies nothing, so that every episode would pass';
  if (grounded === true && !parts.communicate?.length)
    return 'verifier: "grounded" is about what "communicate" lists: there is none';
  if (verifier.state === 'reference' && reference === undefined)
    return 'verifier: "state: reference" needs the reference calls';
  for (const { path, equals, exists } of verifier.assert ?? []) {
    if (pointerKeys(path) === undefined) return `verifier.assert: "${path}" is not a JSON Pointer: start it with "/"`;
    if (equals === undefined && exists === undefined) return `verifier.assert: ${path} needs "equals" or "exists"`;
  }
  return undefined;
}

function invalid(file: string, { id }: ToolsTask, problem: string): ReverieError {
  return reverieError('DOMAIN_FILE_INVALID', {
    problem: `Domain file "${file}": task "${id}": ${problem}`,
    hint: 'Correct the task; the verifier must be able to tell success from failure.',
  });
}
