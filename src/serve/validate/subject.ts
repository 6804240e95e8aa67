// A server of OpenEnv as `reverie validate` sees it: what it declares, and sessions over its WebSocket.

import { fetch } from 'undici';
import { isJsonObject, type JsonObject } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { OpenEnvSocket } from '../../env/servers/openenv.js';

export class CheckFailed extends Error {}
export class NotChecked extends Error {}

/** What a reset or a step answered; an error frame as its text. */
export interface Reply {
  readonly observation: JsonObject;
  readonly reward: unknown;
  readonly done: boolean;
  readonly error?: string;
}

export interface ValidateOptions {
  readonly seed: number;
  /** Steps of an episode. */
  readonly steps: number;
  /** Tasks of each split that are tried. */
  readonly tasks: number;
  /** Bounds of every reward and of the sum of an episode; without, a reward need only be a number. */
  readonly rewardRange?: readonly [low: number, high: number];
}

/** All that checks look at. */
export interface Subject {
  readonly server: Server;
  readonly schemas: { readonly action: JsonObject; readonly observation: JsonObject };
  /** Empty where the environment has no tools. */
  readonly tools: readonly { readonly name: string; readonly input_schema: JsonObject }[];
  readonly tasks: readonly JsonObject[];
  readonly options: ValidateOptions;
}

/** Seconds; as OpenEnv's own client waits. */
const PATIENCE_SECONDS = 60;

export class Server {
  readonly url: string;
  private readonly headers: Record<string, string>;

  constructor(url: string, token?: string) {
    this.url = (url.includes('://') ? url : `http://${url}`).replace(/^ws/, 'http').replace(/\/+$/, '');
    this.headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  /** Answers `body` undefined where it was no JSON. @param path  after the address, or a URL @throws SERVER_UNREACHABLE */
  async ask(path: string, body?: unknown): Promise<{ readonly status: number; readonly body: unknown }> {
    const url = path.startsWith('/') ? `${this.url}${path}` : path;
    const headers = { ...this.headers, 'content-type': 'application/json' };
    const sent =
      body === undefined ? { headers: this.headers } : { method: 'POST', headers, body: JSON.stringify(body) };
    try {
      const reply = await fetch(url, { ...sent, signal: AbortSignal.timeout(PATIENCE_SECONDS * 1000) });
      return { status: reply.status, body: await reply.json().catch(() => undefined) };
    } catch (error) {
      const { cause, message } = error as Error;
      const problem = (cause as Error | undefined)?.message ?? message;
      throw reverieError('SERVER_UNREACHABLE', { url, problem }, error);
    }
  }

  async connect(): Promise<Player> {
    const address = `${this.url.replace(/^http/, 'ws')}/ws`;
    const { OpenEnvSocket } = await import('../../env/servers/openenv.js');
    const socket = await OpenEnvSocket.connect(address, this.headers, PATIENCE_SECONDS).catch(() => {
      throw new CheckFailed(`${address} takes no connection`);
    });
    return new Player(socket);
  }

  /** Does `work` on a connection of its own. */
  async connected<R>(work: (player: Player) => Promise<R>): Promise<R> {
    const player = await this.connect();
    try {
      return await work(player);
    } finally {
      await player.close();
    }
  }
}

/** One session of the server, over OpenEnv's WebSocket. */
export class Player {
  constructor(private readonly socket: OpenEnvSocket) {}

  reset(data: JsonObject): Promise<Reply> {
    return this.turn({ type: 'reset', data });
  }

  step(data: JsonObject): Promise<Reply> {
    return this.turn({ type: 'step', data });
  }

  async state(): Promise<JsonObject> {
    const { type, data } = await this.ask({ type: 'state' });
    if (type === 'state' && isJsonObject(data)) return data;
    throw new CheckFailed(`state is answered ${JSON.stringify({ type, data })}`);
  }

  /** Resolves once the server has closed it: one that takes few sessions takes the next one then. */
  close(): Promise<void> {
    return this.socket.close();
  }

  private async turn(frame: object): Promise<Reply> {
    const { type, data } = await this.ask(frame);
    if (type === 'error') return { observation: {}, reward: null, done: false, error: JSON.stringify(data) };
    if (type !== 'observation' || !isJsonObject(data) || !isJsonObject(data['observation'])) {
      throw new CheckFailed(`${JSON.stringify(frame)} is answered ${JSON.stringify({ type, data })}`);
    }
    return { observation: data['observation'], reward: data['reward'], done: data['done'] === true };
  }

  private async ask(frame: object) {
    const answer = await this.socket.ask(frame, AbortSignal.timeout(PATIENCE_SECONDS * 1000)).catch(() => {
      throw new CheckFailed(`no answer to ${JSON.stringify(frame)} in ${PATIENCE_SECONDS} s`);
    });
    if (answer !== undefined) return answer;
    throw new CheckFailed(`connection closed upon ${JSON.stringify(frame)}`);
  }
}

/** @throws CheckFailed where schemas or tools cannot be had */
export async function subjectAt(server: Server, options: ValidateOptions): Promise<Subject> {
  const { body } = await server.ask('/schema');
  const { action, observation } = (isJsonObject(body) ? body : {}) as Record<string, JsonObject>;
  if (![action, observation].every(isJsonObject))
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
  return server.connected(async (player) => {
    const { observation, error } = await player.step({ type: 'list_tools' });
    const { tools } = observation;
    const isTool = (tool: unknown) => isJsonObject(tool) && isJsonObject(tool['input_schema']) && 'name' in tool;
    if (error === undefined && Array.isArray(tools) && tools.every(isTool)) return tools as unknown as Subject['tools'];
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
