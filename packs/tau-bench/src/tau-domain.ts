// A τ-bench domain as a tools domain: exact rules over the data in a folder that the user gives. The data are no part of
// this project. Source: "τ-bench" (arXiv 2406.12045) and "τ²-bench" (arXiv 2506.07982), with their public code.

import path from 'node:path';
import {
  applyOperations,
  type CallSpec,
  compileSchema,
  contentHash,
  freezeDeep,
  type JsonObject,
  recordOperations,
  type SchemaCheck,
  type ToolCall,
  type ToolOutcome,
  type ToolRules,
  type ToolSpec,
  type ToolsDomain,
} from 'reverie/extend';
import type { AirlineDatabase } from './airline-database.js';
import { airlineInvariants } from './airline-invariants.js';
import { AIRLINE_DATABASE } from './airline-model.js';
import { AIRLINE_TOOLS } from './airline-tools.js';
import { isSame } from './changes.js';
import { type RecordModel, schemaOf } from './data-model.js';
import { type RenderStyle, rankDigitKeys } from './render.js';
import type { RetailDatabase } from './retail-database.js';
import { retailInvariants } from './retail-invariants.js';
import { RETAIL_DATABASE } from './retail-model.js';
import { RETAIL_TOOLS } from './retail-tools.js';
import { dataInvalid, parseData, parseJson, readDataText, tauError } from './tau-files.js';
import { splitFileSchema, type TaskOptions, type TasksFile, tasksFileSchema, toolsTask } from './tau-tasks.js';
import { type TauRelease, type TauTool, ToolFailure } from './tool-kit.js';
import { toolSpecs, toolsFileSchema } from './tool-specs.js';

export type TauDomainName = 'airline' | 'retail';

export interface TauDomainOptions {
  readonly domain: TauDomainName;
  /** Holds db.json, policy.md, tasks.json, tools.json and, where there is one, split_tasks.json. */
  readonly folder: string;
  /** Whose rules and words: the successor (τ², the default) or the benchmark as first released. */
  readonly release?: TauRelease;
}

/** Changes whenever the same call could be answered otherwise. */
const RULES_VERSION = '2';

interface DomainParts {
  readonly model: RecordModel;
  // biome-ignore lint/suspicious/noExplicitAny: each domain's tools know their own database
  readonly tools: Readonly<Record<string, TauTool<any>>>;
  readonly invariants: (before: JsonObject, after: JsonObject) => readonly string[];
  /** The collection whose entries name their customer in `user_id`. */
  readonly records: 'reservations' | 'orders';
}

const DOMAINS: Readonly<Record<TauDomainName, DomainParts>> = {
  airline: {
    model: AIRLINE_DATABASE,
    tools: AIRLINE_TOOLS,
    invariants: (before, after) =>
      airlineInvariants(before as unknown as AirlineDatabase, after as unknown as AirlineDatabase),
    records: 'reservations',
  },
  retail: {
    model: RETAIL_DATABASE,
    tools: RETAIL_TOOLS,
    invariants: (before, after) =>
      retailInvariants(before as unknown as RetailDatabase, after as unknown as RetailDatabase),
    records: 'orders',
  },
};

type Database = Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;

/**
 * @throws TAU_DATA_MISSING or TAU_DATA_INVALID, naming the file
 */
export async function loadTauDomain({ domain, folder, release = 'tau2' }: TauDomainOptions): Promise<ToolsDomain> {
  const parts = DOMAINS[domain];
  const names = ['db.json', 'policy.md', 'tasks.json', 'tools.json'] as const;
  const [dbJson, policy, tasksJson, toolsJson] = await Promise.all(names.map((name) => readDataText(folder, name)));
  const at = (name: string) => path.join(folder, name);
  const specs = toolSpecs(parseData(at('tools.json'), toolsJson, toolsFileSchema), parts.tools, release);
  if (typeof specs === 'string') throw dataInvalid(at('tools.json'), specs);
  const stateSchema = schemaOf(parts.model, true);
  const { database, isOfSuccessor } = databaseOf(at('db.json'), dbJson, stateSchema, release);
  const version = `tau-${domain} ${release} rules ${RULES_VERSION}`;
  const style = {
    byModel: release === 'tau2',
    decimalPoint: release === 'tau2' || isOfSuccessor,
    keyRanks: rankDigitKeys(dbJson),
  };
  const rules = new TauRules({ ...parts, version, release, specs, style });
  const file = parseData(at('tasks.json'), tasksJson, tasksFileSchema);
  checkTasks(at('tasks.json'), file, parts.tools);
  const split = await readSplit(folder);
  const options = { release, split, ...taskFacts(parts, database, rules) };
  const tasks = file.map((task) => toolsTask(task, options));
  const content = [version, policy, specs, dbJson, tasks];
  return {
    id: `tau-${domain}`,
    version: contentHash(content),
    policy,
    tools: specs,
    stateSchema,
    initialState: database,
    tasks,
    rules,
    close: () => rules.close(),
  };
}

/** The database, frozen. Airline users of the first release know their id by key only: the successor's tools show it. */
function databaseOf(
  file: string,
  json: string,
  schema: JsonObject,
  release: TauRelease,
): { database: JsonObject; isOfSuccessor: boolean } {
  const database = parseJson(file, json) as JsonObject;
  const [problem] = compileSchema(schema, 'a τ-bench database')(database);
  if (problem !== undefined) throw dataInvalid(file, problem);
  const users = Object.entries((database as Database).users);
  const isOfSuccessor = users.every(([, user]) => 'user_id' in user);
  const named =
    release === 'tau1' || isOfSuccessor
      ? database
      : { ...database, users: Object.fromEntries(users.map(([id, user]) => [id, { user_id: id, ...user }])) };
  return { database: freezeDeep(named), isOfSuccessor };
}

async function readSplit(folder: string): Promise<TaskOptions['split']> {
  try {
    return parseData(
      path.join(folder, 'split_tasks.json'),
      await readDataText(folder, 'split_tasks.json'),
      splitFileSchema,
    );
  } catch (error) {
    if ((error as { code?: string }).code === 'TAU_DATA_MISSING') return undefined;
    throw error;
  }
}

/** Tools of either release may stand in a task; the other release's are refused when they are called, as in τ-bench. */
function checkTasks(file: string, tasks: TasksFile, tools: DomainParts['tools']): void {
  const seen = new Set<string>();
  for (const { id, evaluation_criteria: criteria } of tasks) {
    if (seen.has(id)) throw dataInvalid(file, `two tasks have the id "${id}"`);
    seen.add(id);
    const unknown = criteria.actions.find(({ name }) => !Object.hasOwn(tools, name));
    if (unknown !== undefined) throw dataInvalid(file, `task "${id}" calls the unknown tool "${unknown.name}"`);
  }
}

function taskFacts(
  { records }: DomainParts,
  database: JsonObject,
  rules: TauRules,
): Pick<TaskOptions, 'changesState' | 'customerOf'> {
  const { users, [records]: owned } = database as Database;
  return {
    changesState: (calls) => !isSame(endState(database, calls, rules), database),
    customerOf: (text, calls) => customerOf(text, calls, users, owned),
  };
}

/** The state after calls; as in τ-bench, calls that fail are passed over. */
function endState(state: JsonObject, calls: readonly CallSpec[], rules: TauRules): JsonObject {
  return calls.reduce(
    (current, call, i) => applyOperations(current, rules.execute(current, { id: String(i), ...call }).operations),
    state,
  );
}

/** The first customer that the text or the calls name by id, or by something of theirs. */
function customerOf(
  text: string,
  calls: readonly CallSpec[],
  users: Readonly<Record<string, JsonObject>>,
  owned: Readonly<Record<string, JsonObject>>,
): string | undefined {
  const words = [text, ...calls.map((call) => JSON.stringify(call.arguments))].flatMap(
    (part) => part.match(/#?[\p{L}\d_]+/gu) ?? [],
  );
  for (const word of words) {
    if (Object.hasOwn(users, word)) return word;
    if (Object.hasOwn(owned, word)) return String(owned[word].user_id);
  }
  return undefined;
}

// The exact rules of a τ-bench domain: tools run on drafts of the immutable state, so a call costs what it touches and
// never a copy of the database.

interface RulesParts {
  readonly version: string;
  readonly release: TauRelease;
  readonly specs: readonly ToolSpec[];
  // biome-ignore lint/suspicious/noExplicitAny: each domain's tools know their own database
  readonly tools: Readonly<Record<string, TauTool<any>>>;
  readonly style: RenderStyle;
  readonly invariants: (before: JsonObject, after: JsonObject) => readonly string[];
}

class TauRules implements ToolRules {
  readonly version: string;
  readonly tools: ReadonlySet<string>;
  private readonly checks: ReadonlyMap<string, SchemaCheck>;
  /** Whoever asks for preconditions has mostly just carried the same call out. */
  private last?: { readonly state: JsonObject; readonly call: ToolCall; readonly outcome: ToolOutcome };

  constructor(private readonly parts: RulesParts) {
    this.version = parts.version;
    this.tools = new Set(parts.specs.map(({ name }) => name));
    this.checks = new Map(
      parts.specs.map(({ name, parameters }) => [name, compileSchema(parameters, `arguments of tool "${name}"`)]),
    );
  }

  execute(state: JsonObject, call: ToolCall): ToolOutcome {
    const outcome = this.outcomeOf(state, call);
    this.last = { state, call, outcome };
    return outcome;
  }

  preconditions(state: JsonObject, call: ToolCall): readonly string[] {
    const isLast = this.last?.state === state && this.last.call === call;
    const { isError, observation } = this.last && isLast ? this.last.outcome : this.execute(state, call);
    return isError ? [observation.replace(/^Error: /, '')] : [];
  }

  invariants(before: JsonObject, after: JsonObject): readonly string[] {
    return before === after ? [] : this.parts.invariants(before, after);
  }

  check(name: string): never {
    throw tauError('TAU_CHECK_UNKNOWN', { name });
  }

  close(): void {}

  private outcomeOf(state: JsonObject, call: ToolCall): ToolOutcome {
    const tool = this.tools.has(call.name) ? this.parts.tools[call.name] : undefined;
    if (tool === undefined) return failure(this.unknownTool(call.name));
    const faults = this.checks.get(call.name)?.(call.arguments) ?? [];
    if (faults.length > 0) return failure(`Error: ${faults.join('; ')}`);
    if (!tool.writes) return this.run(tool, state, call);
    const { operations, result } = recordOperations(state, (draft) => this.run(tool, draft, call));
    return { ...result, operations };
  }

  private run(tool: TauTool<unknown>, db: unknown, { arguments: args }: ToolCall): ToolOutcome {
    const { release, style } = this.parts;
    try {
      return { operations: [], observation: tool.run(args, { db, release, style }), isError: false };
    } catch (error) {
      if (error instanceof ToolFailure) return failure(`Error: ${error.message}`);
      throw error;
    }
  }

  private unknownTool(name: string): string {
    return this.parts.release === 'tau1' ? `Unknown action ${name}` : `Error: Tool '${name}' not found.`;
  }
}

function failure(observation: string): ToolOutcome {
  return { operations: [], observation, isError: true };
}
