// `reverie validate`: is this served environment sound? Runs every check and reports; a scenario is served for it.

import { fetch } from 'undici';
import type { JsonObject } from '../../core/canonical-json.js';
import { ReverieError, reverieError } from '../../core/errors.js';
import type { AnyScenario } from '../../run/scenario.js';
import { startServer } from '../server.js';
import {
  CHECKS,
  type Check,
  CheckFailed,
  connected,
  isObject,
  NotChecked,
  PATIENCE_SECONDS,
  Player,
  type Server,
  type Subject,
  type ValidateOptions,
} from './checks.js';

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

interface ScenarioOptions extends Partial<ValidateOptions> {
  /** Folder for what is kept while it is served. Exists. */
  readonly folder: string;
  readonly real?: boolean;
  readonly model?: string;
}

/**
 * @param url  of an OpenEnv server or, for one of several environments, beneath `/envs/NAME`
 * @throws SERVER_UNREACHABLE
 */
export async function validateUrl(
  url: string,
  { token, ...options }: Partial<ValidateOptions> & { readonly token?: string } = {},
): Promise<ValidationReport> {
  const server = serverAt(url, token);
  await server.ask('/health');
  return { target: server.url, ...(await validated(server, options)) };
}

/** @throws as `startServer` */
export async function validateScenario(
  scenario: AnyScenario,
  { folder, real, model, ...options }: ScenarioOptions,
): Promise<ValidationReport> {
  const server = await startServer({ scenarios: [scenario], folder, real, model, port: 0, workers: 0, log: () => {} });
  try {
    return { target: scenario.config.name, ...(await validated(serverAt(server.url), options)) };
  } finally {
    await server.stop(0);
  }
}

/** One line a check. */
export function validationText({ target, passed, checks }: ValidationReport): string {
  const marks = { passed: 'pass', failed: 'FAIL', 'not-checked': '  – ' } as const;
  const lines = checks.map(({ name, status, detail }) => {
    const told = status === 'not-checked' ? `not checked: ${detail}` : detail;
    return `${marks[status]}  ${name.padEnd(14)} ${told}`;
  });
  return [`${target}: ${passed ? 'sound' : 'not sound'}`, ...lines].join('\n');
}

function serverAt(url: string, token?: string): Server {
  const base = (url.includes('://') ? url : `http://${url}`).replace(/^ws/, 'http').replace(/\/+$/, '');
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    url: base,
    ask: (path, body) => ask(path.startsWith('/') ? `${base}${path}` : path, headers, body),
    async connect() {
      const address = `${base.replace(/^http/, 'ws')}/ws`;
      const { OpenEnvSocket } = await import('../../env/servers/openenv.js');
      const socket = await OpenEnvSocket.connect(address, headers, PATIENCE_SECONDS).catch(() => {
        throw new CheckFailed(`${address} takes no connection`);
      });
      return new Player(socket);
    },
  };
}

/** @throws SERVER_UNREACHABLE */
async function ask(url: string, headers: Record<string, string>, body: unknown): ReturnType<Server['ask']> {
  const json = { ...headers, 'content-type': 'application/json' };
  const sent = body === undefined ? { headers } : { method: 'POST', headers: json, body: JSON.stringify(body) };
  try {
    const reply = await fetch(url, { ...sent, signal: AbortSignal.timeout(PATIENCE_SECONDS * 1000) });
    return { status: reply.status, body: await reply.json().catch(() => undefined) };
  } catch (error) {
    const { cause, message } = error as Error;
    throw reverieError('SERVER_UNREACHABLE', { url, problem: (cause as Error | undefined)?.message ?? message }, error);
  }
}

async function validated(server: Server, given: Partial<ValidateOptions>) {
  const options = { ...VALIDATE_DEFAULTS, ...given };
  const subject = await subjectAt(server, options).catch((error: Error) => error);
  if (subject instanceof Error) {
    // What all checks stand on is missing.
    const checks: CheckResult[] = [{ name: 'schemas', status: 'failed', detail: subject.message }];
    return { passed: false, checks };
  }
  const checks: CheckResult[] = [];
  for (const check of CHECKS) checks.push(await result(check, subject));
  return { passed: checks.every(({ status }) => status !== 'failed'), checks };
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
async function subjectAt(server: Server, options: ValidateOptions): Promise<Subject> {
  const { body } = await server.ask('/schema');
  const { action, observation } = (isObject(body) ? body : {}) as Record<string, JsonObject>;
  if (![action, observation].every(isObject))
    throw new CheckFailed('GET /schema: no schemas of action and observation');
  // As verifiers tells environments of tools.
  const hasTools = ['Action', 'CallToolAction', 'ListToolsAction'].includes(String(action['title']));
  const tools = hasTools ? await toolsOf(server) : [];
  const tasks = await tasksOf(server, options.tasks);
  // RFC 008: what verifies tasks gives 0 to 1. Numbers have no such bounds.
  const isVerified = tasks.some((task) => task['seed'] === undefined);
  const rewardRange = options.rewardRange ?? (isVerified ? ([0, 1] as const) : undefined);
  return { server, schemas: { action, observation }, tools, tasks, options: { ...options, rewardRange } };
}

function toolsOf(server: Server): Promise<Subject['tools']> {
  return connected(server, async (player) => {
    const { observation, error } = await player.step({ type: 'list_tools' });
    const { tools } = observation;
    if (error === undefined && Array.isArray(tools)) return tools as unknown as Subject['tools'];
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
