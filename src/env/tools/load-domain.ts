// A domain from the files of its folder. Everything is checked here, once; what was loaded is frozen.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import { parse, YAMLParseError } from 'yaml';
import type { z } from 'zod';
import type { Json, JsonObject } from '../../core/canonical-json.js';
import { canonicalJson } from '../../core/canonical-json.js';
import { type ReverieError, reverieError } from '../../core/errors.js';
import { compileSchema } from '../state/schema.js';
import { parseStrictly } from '../strict-parse.js';
import { callChecks } from './call-checks.js';
import { checkNamedChecks, checkTasks } from './check-tasks.js';
import type { ToolSpec, ToolsDomain, ToolsTask } from './domain.js';
import { type DOMAIN_FILES, tasksFileSchema, toolsFileSchema } from './domain-schemas.js';
import { type InducedRules, inducedFileSchema } from './induced-schema.js';
import { jsonProblem, STATE_LIMITS } from './json-limits.js';
import { type PhraseBook, phrasesFileSchema, problemOfPhrases } from './phrases/phrase-book.js';
import { type SandboxedRules, sandboxedRules } from './sandbox/sandboxed-rules.js';
import { ParameterFault, type ParameterisedTask, withInstances } from './task-parameters.js';

export type DomainFiles = Partial<Record<(typeof DOMAIN_FILES)[number], string>>;

const STANDARD: Required<DomainFiles> = {
  policy: 'policy.md',
  tools: 'tools.yaml',
  state: 'state.json',
  schema: 'state.schema.json',
  rules: 'rules.js',
  tasks: 'tasks.yaml',
  induced: 'induced.yaml',
  phrases: 'phrases.yaml',
};

/**
 * Loads a domain folder; `files` names those that are called otherwise than in the standard (policy.md, tools.yaml,
 * state.json, state.schema.json, tasks.yaml; rules.js, induced.yaml and phrases.yaml may be absent).
 * @throws DOMAIN_FILE_INVALID, DOMAIN_FILE_INVALID, UNKNOWN_KEY, SCHEMA_INVALID, RULES_INVALID, OPERATION_INVALID
 */
export async function loadDomain(folder: string, files: DomainFiles = {}): Promise<ToolsDomain> {
  const read = new DomainFolder(folder, files);
  const policy = read.text('policy');
  const tools = toolsOf(read);
  const stateSchema = read.object('schema');
  const initialState = stateOf(read, stateSchema);
  const tasks = tasksOf(read, initialState);
  const id = path.basename(path.resolve(folder));
  const phrases = phrasesOf(read, files.phrases !== undefined);
  const content = { policy, tools, stateSchema, initialState, tasks, ...(phrases && { phrases }) };
  checkTasks({ id, version: '', ...content, close: () => {} }, read.nameOf('tasks'));
  const rules = await rulesOf(read, tools, files.rules !== undefined);
  const induced = inducedOf(read, tools, files.induced !== undefined);
  const found = induced === undefined ? {} : { induced };
  const version = versionOf({ ...content, rules: rules?.version ?? null, ...found });
  const domain: ToolsDomain = { id, version, ...content, ...found, close: () => rules?.close() };
  if (rules === undefined) return domain;
  checkWithRules(domain, rules, read);
  return { ...domain, rules };
}

/** The tools of a folder that may have no more than these yet. @throws DOMAIN_FILE_INVALID, DOMAIN_FILE_INVALID, SCHEMA_INVALID */
export function readTools(folder: string): readonly ToolSpec[] {
  return toolsOf(new DomainFolder(folder, {}));
}

/** Its rules from logs. @throws DOMAIN_FILE_INVALID, DOMAIN_FILE_INVALID */
export function readInducedRules(folder: string): InducedRules {
  const read = new DomainFolder(folder, {});
  return inducedOf(read, toolsOf(read), true)!;
}

/** Paths of a domain folder's files, `rules` included. */
export function filesOf(folder: string, files: DomainFiles = {}): string[] {
  return Object.entries(STANDARD).map(([file, standard]) =>
    path.join(folder, files[file as keyof DomainFiles] ?? standard),
  );
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

async function rulesOf(
  read: DomainFolder,
  tools: readonly ToolSpec[],
  isNeeded: boolean,
): Promise<SandboxedRules | undefined> {
  if (!isNeeded && !read.has('rules')) return undefined;
  const readers = tools.filter(({ kind }) => kind !== 'write').map(({ name }) => name);
  return sandboxedRules(read.text('rules'), read.nameOf('rules'), { readers });
}

/** @throws DOMAIN_FILE_INVALID, UNKNOWN_KEY */
function inducedOf(read: DomainFolder, tools: readonly ToolSpec[], isNeeded: boolean): InducedRules | undefined {
  if (!isNeeded && !read.has('induced')) return undefined;
  const induced = read.checked('induced', inducedFileSchema);
  for (const rule of induced.rules) {
    if ('tool' in rule && !tools.some(({ name }) => name === rule.tool))
      throw read.invalid('induced', `rule "${rule.id}" is of "${rule.tool}", which is no tool of the domain`);
  }
  return freezeDeep(induced);
}

function checkWithRules(domain: ToolsDomain, rules: SandboxedRules, read: DomainFolder): void {
  try {
    const known = domain.tools.map(({ name }) => name);
    const stray = [...rules.tools, ...rules.preconditioned].find((name) => !known.includes(name));
    const problem = `"${stray}" is no tool of the domain`;
    if (stray !== undefined) throw reverieError('RULES_INVALID', { file: read.nameOf('rules'), problem });
    checkNamedChecks(domain, rules.checks, read.nameOf('tasks'));
  } catch (error) {
    rules.close();
    throw error;
  }
}

function toolsOf(read: DomainFolder): readonly ToolSpec[] {
  const tools = read.checked('tools', toolsFileSchema) as readonly ToolSpec[];
  tools.forEach(({ name, parameters }, i) => {
    if (tools.findIndex((other) => other.name === name) !== i)
      throw read.invalid('tools', `two tools are called "${name}"`);
    if (parameters.type !== 'object') throw read.invalid('tools', `the parameters of "${name}" must be of type object`);
  });
  callChecks(freezeDeep(tools));
  return tools;
}

function phrasesOf(read: DomainFolder, isNeeded: boolean): PhraseBook | undefined {
  if (!isNeeded && !read.has('phrases')) return undefined;
  const book = freezeDeep(read.checked('phrases', phrasesFileSchema)) as PhraseBook;
  const problem = problemOfPhrases(book);
  if (problem !== undefined) throw read.invalid('phrases', problem);
  return book;
}

/** Those of tasks with parameters among them. */
function tasksOf(read: DomainFolder, initialState: JsonObject): readonly ToolsTask[] {
  const written = read.checked('tasks', tasksFileSchema) as readonly ParameterisedTask[];
  try {
    return freezeDeep(withInstances(written, initialState));
  } catch (error) {
    if (error instanceof ParameterFault) throw read.invalid('tasks', error.message);
    throw error;
  }
}

function stateOf(read: DomainFolder, schema: JsonObject): JsonObject {
  const state = read.object('state');
  const problems = compileSchema(schema, 'the state')(state);
  if (problems.length > 0) throw read.invalid('state', `the state does not fit its schema: ${problems.join('; ')}`);
  return state;
}

/** By the text of the YAML: a process opens the same domain again and again, and parsing is a sixth of what that takes. */
const PARSED = new LRUCache<string, { readonly value: Json }>({ max: 32 });

/** The files of a folder: reading them, and saying what is wrong with them. */
class DomainFolder {
  private readonly folder: string;
  private readonly files: Required<DomainFiles>;

  constructor(folder: string, files: DomainFiles) {
    this.folder = folder;
    this.files = { ...STANDARD, ...files };
  }

  nameOf(file: keyof DomainFiles): string {
    return path.join(this.folder, this.files[file]);
  }

  has(file: keyof DomainFiles): boolean {
    return existsSync(this.nameOf(file));
  }

  text(file: keyof DomainFiles): string {
    try {
      return readFileSync(this.nameOf(file), 'utf8').replace(/^\uFEFF/, '');
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (isMissing)
        throw reverieError(
          'DOMAIN_FILE_INVALID',
          {
            problem: `There is no domain file "${this.nameOf(file)}".`,
            hint: 'A domain folder holds policy.md, tools.yaml, state.json, state.schema.json, tasks.yaml and, where there is one, rules.js.',
          },
          error,
        );
      throw this.invalid(file, (error as Error).message);
    }
  }

  /** The JSON object in a file, frozen. */
  object(file: 'state' | 'schema'): JsonObject {
    const value = this.parsed(file);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw this.invalid(file, 'it is no object');
    return freezeDeep(value) as JsonObject;
  }

  checked<S extends z.ZodType>(file: 'tools' | 'tasks' | 'induced' | 'phrases', schema: S): z.output<S> {
    return parseStrictly(schema, this.parsed(file), this.nameOf(file), (problem) => this.invalid(file, problem));
  }

  invalid(file: keyof DomainFiles, problem: string): ReverieError {
    const hint = 'See docs/domains.md for what each file of a domain holds.';
    return reverieError('DOMAIN_FILE_INVALID', { problem: `Domain file "${this.nameOf(file)}": ${problem}`, hint });
  }

  private parsed(file: keyof DomainFiles): Json {
    const text = this.text(file);
    const value = this.nameOf(file).endsWith('.json') ? this.parsedJson(file, text) : this.parsedYaml(file, text);
    const problem = jsonProblem(value, STATE_LIMITS);
    if (problem !== undefined) throw this.invalid(file, problem);
    return value;
  }

  private parsedJson(file: keyof DomainFiles, text: string): Json {
    try {
      return JSON.parse(text) as Json;
    } catch (error) {
      throw this.invalid(file, `it is not JSON: ${(error as Error).message}`);
    }
  }

  private parsedYaml(file: keyof DomainFiles, text: string): Json {
    try {
      const read = PARSED.get(text) ?? { value: parse(text) as Json };
      PARSED.set(text, read);
      return structuredClone(read.value);
    } catch (error) {
      const where = error instanceof YAMLParseError ? '' : 'it is not YAML: ';
      throw this.invalid(file, `${where}${(error as Error).message}`);
    }
  }
}

/** The value itself, it and all its parts frozen. */
export function freezeDeep<V>(value: V): V {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) freezeDeep(part);
  return value;
}
