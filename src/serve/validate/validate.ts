// `reverie validate`: is this served environment sound? Runs every check and reports; a scenario is served for it.

import type { JsonObject } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import type { EnvironmentServer } from '../../env/servers/server-http.js';
import type { ToolsTask } from '../../env/tools/domain.js';
import { faceOf } from '../../kinds/registry.js';
import type { AnyScenario } from '../../run/scenario.js';
import type { Servable } from '../../run/servable.js';
import { sayToolOf } from '../protocols/tools.js';
import { startServer } from '../server.js';
import { type Check, EPISODE_CHECKS, FAIRNESS_CHECKS, LOAD_CHECKS } from './checks.js';
import {
  CheckFailed,
  callOf,
  clientOf,
  connected,
  describedServer,
  type Hidden,
  isObject,
  NotChecked,
  type Server,
  type Subject,
  serverAt,
  type Tool,
  type ValidateOptions,
} from './players.js';

export interface CheckResult {
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'not-checked';
  /** What is wrong, or why it was not checked, or what was seen. */
  readonly detail: string;
}

export interface ValidationReport {
  /** The URL, or the scenario's name. */
  readonly target: string;
  /** No check failed. */
  readonly passed: boolean;
  readonly checks: readonly CheckResult[];
}

const VALIDATE_DEFAULTS = { seed: 1, steps: 12, tasks: 2 } as const;

interface UrlOptions extends Partial<ValidateOptions> {
  readonly token?: string;
  /** `openenv` unless given, `ors`, or `mcp`. */
  readonly protocol?: string;
}

interface ScenarioValidateOptions extends Partial<ValidateOptions> {
  /** Folder for what is kept while it is served. Exists. */
  readonly folder: string;
  readonly real?: boolean;
  readonly model?: string;
}

/**
 * @param url  of a server; with `protocol: 'mcp'` also a program and its arguments that speaks it
 * @throws SERVER_UNREACHABLE where nobody answers at all, FLAG_INVALID for a protocol that there is not
 */
export async function validateUrl(
  url: string,
  { token, protocol = 'openenv', ...options }: UrlOptions = {},
): Promise<ValidationReport> {
  const server = serverAt(url, token);
  const { tasks } = { ...VALIDATE_DEFAULTS, ...options };
  const client = await clientOf(protocol, url, token, tasks);
  if (client === undefined) {
    await server.ask('/health');
    return { target: server.url, ...(await validated(server, options)) };
  }
  try {
    return { target: client.url, ...(await validatedBy(client, options)) };
  } finally {
    await client.close();
  }
}

/** @throws as `startServer` */
export async function validateScenario(
  scenario: AnyScenario,
  { folder, real, model, ...options }: ScenarioValidateOptions,
): Promise<ValidationReport> {
  const server = await startServer({ scenarios: [scenario], folder, real, model, port: 0, workers: 0, log: () => {} });
  try {
    const hidden = hiddenOf(server.sessions.defaultEnv);
    return { target: scenario.config.name, ...(await validated(serverAt(server.url), options, hidden)) };
  } finally {
    await server.stop(0);
  }
}

/** One line a check. */
export function validationText({ target, passed, checks }: ValidationReport): string {
  const marks = { passed: 'pass', failed: 'FAIL', 'not-checked': '  – ' } as const;
  const lines = checks.map(({ name, status, detail }) => {
    const told = status === 'not-checked' ? `not checked: ${detail}` : detail;
    return `${marks[status]}  ${name.padEnd(21)} ${told}`;
  });
  return [`${target}: ${passed ? 'sound' : 'not sound'}`, ...lines].join('\n');
}

const WHOLES = [...EPISODE_CHECKS, ...LOAD_CHECKS, ...FAIRNESS_CHECKS];
const NO_SCHEMAS = { action: {}, observation: {}, state: {} };

async function validated(server: Server, given: Partial<ValidateOptions>, hidden?: Hidden) {
  const options = { ...VALIDATE_DEFAULTS, ...given };
  const checks: CheckResult[] = [];
  const bare = { server, schemas: NO_SCHEMAS, tools: [], tasks: [], hidden, options };
  for (const check of RUNTIME_CHECKS) checks.push(await result(check, bare));
  const subject = await subjectAt(server, options, hidden).catch((error: Error) => error);
  checks.push(...(await results(subject)));
  // Something the rest stands on is missing: that is no sound environment, whatever passed.
  const passed = !(subject instanceof Error) && checks.every(({ status }) => status !== 'failed');
  return { passed, checks };
}

/** By a client of its protocol: what that cannot say is not checked, and says so. */
async function validatedBy(client: EnvironmentServer, given: Partial<ValidateOptions>) {
  const options = { ...VALIDATE_DEFAULTS, ...given };
  const subject = await client
    .describe()
    .then((card) => ({ ...describedServer(client, card, options.tasks), schemas: NO_SCHEMAS, options }))
    .catch((error: Error) => (error.cause as Error | undefined) ?? error);
  const described: CheckResult =
    subject instanceof Error
      ? { name: 'described', status: 'failed', detail: subject.message }
      : {
          ...{ name: 'described', status: 'passed' },
          detail: `${client.protocol}: ${subject.tools.length} tools, ${subject.tasks.length} tasks to try`,
        };
  const checks = [described, ...(await results(subject))];
  return { passed: checks.every(({ status }) => status !== 'failed'), checks };
}

/** @param subject  or why there is none */
async function results(subject: Subject | Error): Promise<CheckResult[]> {
  const found: CheckResult[] = [];
  for (const check of WHOLES) {
    if (subject instanceof Error) found.push({ name: check.name, status: 'not-checked', detail: subject.message });
    else found.push(await result(check, subject));
  }
  return found;
}

async function result({ name, run }: Check, subject: Subject): Promise<CheckResult> {
  try {
    return { name, status: 'passed', detail: await run(subject) };
  } catch (error) {
    if (error instanceof NotChecked) return { name, status: 'not-checked', detail: error.message };
    if (!(error instanceof CheckFailed || error instanceof ReverieError)) throw error;
    return { name, status: 'failed', detail: error.message };
  }
}

/** @throws CheckFailed where schemas or tools cannot be had */
async function subjectAt(server: Server, options: ValidateOptions, hidden: Hidden | undefined): Promise<Subject> {
  const { body } = await server.ask('/schema');
  const { action, observation, state } = (isObject(body) ? body : {}) as Record<string, JsonObject>;
  if (![action, observation, state].every(isObject)) throw new CheckFailed('GET /schema has not told the schemas');
  const tools = isToolAction(action) ? await toolsOf(server) : [];
  const tasks = await tasksOf(server, options.tasks);
  // RFC 008: what verifies tasks gives 0 to 1. Numbers have no such bounds.
  const isVerified = tasks.some((task) => task['seed'] === undefined);
  const rewardRange = options.rewardRange ?? (isVerified ? ([0, 1] as const) : undefined);
  return {
    server,
    schemas: { action, observation, state },
    tools,
    tasks,
    hidden,
    options: { ...options, rewardRange },
  };
}

/** As verifiers tells environments of tools. */
function isToolAction({ title }: JsonObject): boolean {
  return ['Action', 'CallToolAction', 'ListToolsAction'].includes(String(title));
}

function toolsOf(server: Server): Promise<readonly Tool[]> {
  return connected(server, async (player) => {
    const { observation, error } = await player.step({ type: 'list_tools' });
    const { tools } = observation;
    if (error === undefined && Array.isArray(tools)) return tools as unknown as readonly Tool[];
    throw new CheckFailed(`list_tools before reset is answered ${error ?? JSON.stringify(observation).slice(0, 200)}`);
  });
}

/** The first ones of each split; none where the server has no Task API. */
async function tasksOf(server: Server, count: number): Promise<readonly JsonObject[]> {
  const { body } = await server.ask('/metadata');
  const name = encodeURIComponent(String((body as JsonObject | undefined)?.['name'] ?? ''));
  const root = `${new URL(server.url).origin}/${name}`;
  const { status, body: splits } = await server.ask(`${root}/splits`);
  if (status !== 200 || !Array.isArray(splits)) return [];
  const tasks: JsonObject[] = [];
  for (const split of splits) {
    const { name: named = split } = split as { name?: string };
    const range = await server.ask(`${root}/task_range`, { split: named, start: 0, stop: count });
    const { tasks: some } = (range.body ?? {}) as { tasks?: unknown };
    const cards = Array.isArray(some) ? (some as JsonObject[]) : [];
    tasks.push(...cards.map((card, index) => ({ split: named, index, ...card })));
  }
  return tasks;
}

// The six checks of `openenv validate --url`: the routes are there and answer in their form.

type Fault = (body: Record<string, unknown>) => string | undefined;

const RUNTIME_CHECKS: readonly Check[] = [
  route('openapi', '/openapi.json', ({ info }) =>
    isObject(info) && typeof info['version'] === 'string' ? undefined : 'info.version is no text',
  ),
  route('health', '/health', ({ status }) => (status === 'healthy' ? undefined : 'status is not "healthy"')),
  route('metadata', '/metadata', ({ name, description }) =>
    typeof name === 'string' && typeof description === 'string' ? undefined : 'name and description are not both texts',
  ),
  route('schema', '/schema', (body) => {
    const missing = ['action', 'observation', 'state'].filter((key) => !isObject(body[key]));
    return missing.length === 0 ? undefined : `no schema of ${missing.join(', ')}`;
  }),
  {
    name: 'mcp',
    run: async ({ server }) =>
      answers(server, '/mcp', {}, ({ jsonrpc }) => (jsonrpc === '2.0' ? undefined : 'jsonrpc is not "2.0"')),
  },
  route('modes', '/openapi.json', ({ paths }) => {
    const there = ['/reset', '/step', '/state'].filter((path) => isObject(paths) && path in paths);
    return there.length === 3 || (there.length === 0 && isObject(paths) && Object.keys(paths).length > 0)
      ? undefined
      : `of /reset, /step and /state, paths has ${there.join(', ') || 'none'}`;
  }),
];

function route(name: string, path: string, fault: Fault): Check {
  return { name, run: ({ server }) => answers(server, path, undefined, fault) };
}

async function answers(server: Server, path: string, sent: unknown, fault: Fault): Promise<string> {
  const { status, body } = await server.ask(path, sent);
  const method = sent === undefined ? 'GET' : 'POST';
  if (status !== 200) throw new CheckFailed(`${method} ${path} answers status ${status}`);
  if (!isObject(body)) throw new CheckFailed(`${method} ${path} answers no JSON object`);
  const problem = fault(body);
  if (problem !== undefined) throw new CheckFailed(`${method} ${path}: ${problem}`);
  return `${method} ${path}`;
}

// What only the owner of a scenario knows of its tasks, for the checks that compare it with what clients see.

/** A text this short stands in an observation by chance. */
const TELLING = 20;

function hiddenOf(served: Servable): Hidden {
  const tasks = served.domain?.tasks ?? [];
  return {
    solutions: new Map(tasks.flatMap((task) => solutionOf(task, served))),
    secrets: tasks.flatMap(secretsOf).filter(({ text }) => text.length >= TELLING),
    calls: tasks
      .flatMap(({ reference }) => reference?.calls ?? [])
      .flatMap(({ arguments: given }) => {
        return Object.keys(given).length > 1 ? [given] : [];
      }),
  };
}

/** Of what a reference says at the end. */
const TIMES_SAID = 3;

function solutionOf(task: ToolsTask, served: Servable): [string, readonly JsonObject[]][] {
  const { id, reference } = task;
  if (reference === undefined) return [];
  const { calls, say } = reference;
  const { lineOf } = faceOf(served);
  if (lineOf !== undefined) return [[id, calls.map((call) => ({ message: lineOf(call) as string }))]];
  // Users may ask something beside their matter first: it is said again until they are content.
  const said = say === undefined ? [] : Array(TIMES_SAID).fill(callOf(sayToolOf(served).name, { content: say }));
  return [[id, [...calls.map(({ name, arguments: given }) => callOf(name, given)), ...said]]];
}

function secretsOf({ id, user, verifier, reference }: ToolsTask): { what: string; text: string }[] {
  const of = (what: string, texts: readonly (string | undefined)[]) =>
    texts.flatMap((text) =>
      text === undefined || text === user.opening ? [] : [{ what: `${what} of task "${id}"`, text }],
    );
  return [
    ...of('the hidden goal', [user.goal]),
    ...of('what the reference says', [reference?.say]),
    ...of('the rubric', verifier.rubric ?? []),
  ];
}
