// What checks look at, and who acts meanwhile: somebody at random, and somebody who does nothing.

import type { Socket } from 'node:net';
import { fetch } from 'undici';
import { WebSocket } from 'ws';
import type { Json, JsonObject } from '../../core/canonical-json.js';
import { canonicalJson } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import type { Frame as OpenEnvFrame, OpenEnvSocket } from '../../env/servers/openenv.js';
import { connectOpenEnv, serverProtocols } from '../../env/servers/protocols.js';
import {
  type EnvironmentServer,
  type ServerCard,
  ServerFull,
  type ServerLacks,
  type ServerSession,
  SessionLost,
  serverKeys,
} from '../../env/servers/server-http.js';
/** What a reset or a step answered; an error frame as what it says. */
export interface Reply {
  readonly observation: JsonObject;
  readonly reward: unknown;
  readonly done: boolean;
  readonly error?: string;
}

/** One session of the server. */
export interface Player {
  reset(data: JsonObject): Promise<Reply>;
  step(action: JsonObject): Promise<Reply>;
  state(): Promise<JsonObject>;
  /** Resolves once the server has closed it: one that takes few sessions takes the next one then. */
  close(): Promise<void>;
}

export interface Server {
  readonly url: string;
  /** What its protocol has no words for, and cannot be checked therefore. */
  readonly lacks: ServerLacks;
  /** Of every request: the token, where there is one. */
  readonly headers: Readonly<Record<string, string>>;
  /** `body` undefined: it was no JSON. */
  ask(path: string, body?: unknown): Promise<{ readonly status: number; readonly body: unknown }>;
  connect(): Promise<Player>;
}

export interface Tool {
  readonly name: string;
  readonly input_schema: JsonObject;
}

/** What only whoever owns the environment knows. */
export interface Hidden {
  /** Actions that solve a task, by its id. */
  readonly solutions: ReadonlyMap<string, readonly JsonObject[]>;
  /** Texts no client may see, with what they are. */
  readonly secrets: readonly { readonly what: string; readonly text: string }[];
  /** Objects no client may see before it made them. */
  readonly calls: readonly JsonObject[];
}

export interface ValidateOptions {
  readonly seed: number;
  /** Steps of a trajectory. */
  readonly steps: number;
  /** Tasks of each split that are tried. */
  readonly tasks: number;
  /** That every reward, and the sum of an episode, lies in; none: only that it is a number. */
  readonly rewardRange?: readonly [low: number, high: number];
}

/** All that checks look at. */
export interface Subject {
  readonly server: Server;
  readonly schemas: { readonly action: JsonObject; readonly observation: JsonObject; readonly state: JsonObject };
  /** Empty where the environment has no tools. */
  readonly tools: readonly Tool[];
  readonly tasks: readonly JsonObject[];
  readonly hidden?: Hidden;
  readonly options: ValidateOptions;
}

export class CheckFailed extends Error {}
export class NotChecked extends Error {}

/** @throws NotChecked where the protocol has no words for it */
export function requireWords({ lacks }: Server, what: keyof ServerLacks): void {
  if (lacks[what] !== undefined) throw new NotChecked(lacks[what]);
}

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
function resting(schema: JsonObject): JsonObject {
  const rest = (one: JsonObject): Json => {
    if (one['type'] === 'string') return 'wait';
    if (one['type'] === 'array') {
      return Array.from({ length: Number(one['minItems'] ?? 1) }, () => rest((one['items'] ?? {}) as JsonObject));
    }
    if (one['type'] !== 'number' && one['type'] !== 'integer') return sampleJson(one, Rng.fromSeed(0));
    const { minimum = -Infinity, maximum = Infinity } = one;
    return Math.min(Math.max(0, Number(minimum)), Number(maximum));
  };
  return requiredOf(schema, rest);
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
  if (kind === 'object') return requiredOf(schema, (one) => sampleJson(one, rng));
  if (kind === 'array') return sampleList(schema, rng);
  if (kind === 'integer') return Math.floor(sampleNumber(schema, rng, 10));
  if (kind === 'number') return sampleNumber(schema, rng, SPAN);
  if (kind === 'boolean') return rng.int(2) === 1;
  if (kind === 'string') return WORDS[rng.int(WORDS.length)];
  return standard ?? null;
}

/** Required properties alone: others may exclude each other. */
function requiredOf(schema: JsonObject, draw: (schema: JsonObject) => Json): JsonObject {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonObject>;
  const required = (schema['required'] ?? []) as string[];
  return Object.fromEntries(required.map((key) => [key, draw(properties[key] ?? {})]));
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

/** Milliseconds; as OpenEnv's own client waits. */
const PATIENCE = 60_000;

/** @param url  of the server or, for one of several environments, beneath `/envs/NAME` */
export function serverAt(url: string, token?: string): Server {
  const base = (url.includes('://') ? url : `http://${url}`).replace(/^ws/, 'http').replace(/\/+$/, '');
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    url: base,
    lacks: {},
    headers,
    ask: (path, body) => ask(path.startsWith('/') ? `${base}${path}` : path, headers, body),
    connect: () => openEnvPlayer(`${base.replace(/^http/, 'ws')}/ws`, headers),
  };
}

/** @throws SERVER_UNREACHABLE */
async function ask(url: string, headers: Record<string, string>, body: unknown): ReturnType<Server['ask']> {
  const json = { ...headers, 'content-type': 'application/json' };
  const sent = body === undefined ? { headers } : { method: 'POST', headers: json, body: JSON.stringify(body) };
  try {
    const reply = await fetch(url, { ...sent, signal: AbortSignal.timeout(PATIENCE) });
    return { status: reply.status, body: await reply.json().catch(() => undefined) };
  } catch (error) {
    const { cause, message } = error as Error;
    throw reverieError('SERVER_UNREACHABLE', { url, problem: (cause as Error | undefined)?.message ?? message }, error);
  }
}

async function openEnvPlayer(url: string, headers: Record<string, string>): Promise<Player> {
  try {
    return new SocketPlayer(await connectOpenEnv(url, headers, PATIENCE / 1000));
  } catch {
    throw new CheckFailed(`${url} takes no connection`);
  }
}

class SocketPlayer implements Player {
  constructor(private readonly socket: OpenEnvSocket) {}

  reset(data: JsonObject): Promise<Reply> {
    return this.turn({ type: 'reset', data });
  }

  step(data: JsonObject): Promise<Reply> {
    return this.turn({ type: 'step', data });
  }

  async state(): Promise<JsonObject> {
    const { type, data } = await this.ask({ type: 'state' });
    if (type === 'state' && isObject(data)) return data;
    throw new CheckFailed(`state is answered ${JSON.stringify({ type, data })}`);
  }

  close(): Promise<void> {
    return this.socket.close();
  }

  private async turn(frame: object): Promise<Reply> {
    const { type, data } = await this.ask(frame);
    if (type === 'error') return { observation: {}, reward: null, done: false, error: JSON.stringify(data) };
    if (type !== 'observation' || !isObject(data) || !isObject(data['observation'])) {
      throw new CheckFailed(`${JSON.stringify(frame)} is answered ${JSON.stringify({ type, data })}`);
    }
    return { observation: data['observation'], reward: data['reward'], done: data['done'] === true };
  }

  private async ask(frame: object): Promise<OpenEnvFrame> {
    const answer = await this.socket.ask(frame, PATIENCE / 1000);
    if (answer === 'late') throw new CheckFailed(`no answer to ${JSON.stringify(frame)} in ${PATIENCE / 1000} s`);
    if (answer !== undefined) return answer;
    throw new CheckFailed(`connection closed upon ${JSON.stringify(frame)}`);
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined for OpenEnv, which the checks speak themselves. @throws FLAG_INVALID */
export async function clientOf(
  protocol: string,
  address: string,
  token: string | undefined,
  taskLimit: number,
): Promise<EnvironmentServer | undefined> {
  if (!serverProtocols.has(protocol)) {
    const expected = `one of ${serverProtocols.names().join(', ')}`;
    throw reverieError('FLAG_INVALID', { flag: '--protocol', value: protocol, expected });
  }
  if (protocol === 'openenv') return undefined;
  const entry = serverProtocols.get(protocol);
  const isCommand = !/^https?:/.test(address);
  const where = isCommand ? address.trim().split(/\s+/) : address;
  const schema = entry.schema.extend(serverKeys);
  const settings = schema.safeParse({ [protocol]: where });
  if (!settings.success) {
    const expected = settings.error.issues.map(({ message }) => message).join('; ');
    throw reverieError('FLAG_INVALID', { flag: '--protocol', value: `${protocol} of ${address}`, expected });
  }
  const { timeoutSeconds } = settings.data as { timeoutSeconds: number };
  const make = await entry.make();
  return make(settings.data as never, { timeoutSeconds, taskLimit, ...(token === undefined ? {} : { token }) });
}

/** Tasks of each split that a check may choose from. */
export function describedServer(client: EnvironmentServer, card: ServerCard, perSplit: number) {
  const counts = new Map<string, number>();
  const tasks = card.tasks.flatMap(({ id, split }, index): JsonObject[] => {
    const before = counts.get(split) ?? 0;
    counts.set(split, before + 1);
    return before < perSplit ? [{ id, split, index }] : [];
  });
  const server: Server = {
    url: client.url,
    lacks: client.lacks,
    headers: {},
    ask: () => Promise.reject(new CheckFailed(`${client.protocol} has no such route`)),
    connect: async () => new SessionPlayer(client, card),
  };
  return { server, tools: card.tools.map(({ name, parameters }) => ({ name, input_schema: parameters })), tasks };
}

class SessionPlayer implements Player {
  private session: ServerSession | undefined;

  constructor(
    private readonly client: EnvironmentServer,
    private readonly card: ServerCard,
  ) {}

  reset({ index = 0, seed }: JsonObject): Promise<Reply> {
    return this.told(async () => {
      this.session ??= await this.client.open();
      const text = await this.session.begin({ task: this.card.tasks[Number(index)], seed: Number(seed) });
      return { observation: { text }, reward: null, done: false };
    });
  }

  step({ tool_name: name, arguments: given }: JsonObject): Promise<Reply> {
    return this.told(async () => {
      const call = { name: String(name), arguments: given as JsonObject };
      const { observation: text, isError, reward, done } = await this.session!.call(call);
      return { observation: { text, is_error: isError }, reward, done };
    });
  }

  state(): Promise<JsonObject> {
    return Promise.reject(new CheckFailed(`${this.client.protocol} tells no state`));
  }

  async close(): Promise<void> {
    await this.session?.close();
  }

  /** As OpenEnv's server says that it is full, which the checks know. */
  private async told(work: () => Promise<Reply>): Promise<Reply> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ServerFull) {
        return { observation: {}, reward: null, done: false, error: `CAPACITY_REACHED: ${error.message}` };
      }
      if (error instanceof SessionLost) throw new CheckFailed(`the session is lost: ${error.message}`);
      throw error;
    }
  }
}

/** Milliseconds for the answer to the reset. */
const RESET_PATIENCE = 30_000;

/**
 * A client that begins an episode and is gone without a word, as a trainer that was killed: no farewell of the protocol, no
 * close frame, the connection reset. Resolves once the server has answered the reset; false where it let nobody in.
 * @throws CheckFailed where it does not answer at all
 */
export async function vanish({ url, headers }: Server, reset: object): Promise<boolean> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws`, { headers, handshakeTimeout: RESET_PATIENCE });
  let connection: Socket | undefined;
  let timer: NodeJS.Timeout | undefined;
  const answered = new Promise<boolean>((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${RESET_PATIENCE / 1000} s`)), RESET_PATIENCE);
    socket.on('upgrade', (response) => {
      connection = response.socket;
    });
    socket.on('open', () => socket.send(JSON.stringify({ type: 'reset', data: reset })));
    // A server that is full says so without being asked, or closes at once.
    socket.on('message', (text) => resolve(!/"type":\s*"error"/.test(String(text))));
    for (const event of ['unexpected-response', 'close']) socket.on(event, () => resolve(false));
    socket.on('error', reject);
  });
  try {
    return await answered;
  } catch (error) {
    throw new CheckFailed(`${url}/ws: ${(error as Error).message}`);
  } finally {
    clearTimeout(timer);
    if (url.startsWith('https:')) connection?.destroy();
    else connection?.resetAndDestroy();
    socket.terminate();
  }
}
