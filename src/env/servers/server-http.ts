// What somebody else's server of environments is to us, whichever protocol it speaks: it tells what it has, and opens sessions in
// which episodes are begun and tools called. A protocol is a folder here that makes one of an address.

import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { type JsonObject, parsedJson } from '../../core/canonical-json.js';
import { describeIssues, reverieError } from '../../core/errors.js';
import { undici } from '../../core/packs.js';
import type { CallSpec } from '../tools/domain.js';

/** What a server reports of the environment that was asked for. */
export interface ServerCard {
  readonly name: string;
  /** As the server has it; tools and tasks count beside it. */
  readonly version: string;
  /** What an agent is told in every task; may be empty. */
  readonly instructions: string;
  readonly tools: readonly ServerTool[];
  /** At least one: where a protocol has no tasks, the one episode there is. */
  readonly tasks: readonly ServerTask[];
}

export interface ServerTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly parameters: JsonObject;
  /** The server says that it changes nothing. */
  readonly isRead?: boolean;
}

export interface ServerTask {
  readonly id: string;
  readonly split: 'train' | 'validation' | 'test';
  /** What the server is sent to begin it. */
  readonly start: JsonObject;
}

/** Which episode. Protocols that have no seed send the task alone. */
export interface EpisodeStart {
  readonly task: ServerTask;
  readonly seed: number;
}

export interface ServerAnswer {
  readonly observation: string;
  readonly isError: boolean;
  /** Of this call; rewards sum to the return, whatever the protocol's own way. null: none was given. */
  readonly reward: number | null;
  readonly done: boolean;
}

/** One place on the server; asked one thing at a time. */
export interface ServerSession {
  /**
   * Begins an episode, in place of the one before; answers what is seen first.
   * @throws SessionLost, ServerFull, REMOTE_TIMEOUT, SERVER_FAULT, the reason of `signal`
   */
  begin(start: EpisodeStart, signal?: AbortSignal): Promise<string>;
  /** @throws as `begin`; what a tool itself refuses is an answer */
  call(call: CallSpec, signal?: AbortSignal): Promise<ServerAnswer>;
  /** A server that is gone is fine. */
  close(): Promise<void>;
}

export interface EnvironmentServer {
  /** Its address, and what is said of its faults. */
  readonly http: ServerHttp;
  /** Comes first. @throws SERVER_UNREACHABLE, REMOTE_TIMEOUT, SERVER_FAULT, ENV_NOT_SERVED */
  describe(): Promise<ServerCard>;
  /** @throws SessionLost, ServerFull, and as `describe` */
  open(): Promise<ServerSession>;
}

/** What every protocol is given beside the address. */
export interface ServerOptions {
  /** Sent where the server asks for one; by default the password in the address, or the variable REVERIE_TOKEN. */
  readonly token?: string;
  /** Longest time for one answer. */
  readonly timeoutSeconds: number;
  /** Tasks of each split that are asked for. */
  readonly taskLimit: number;
  /** Of several environments of a server, the one meant. */
  readonly environment?: string;
}

/** The session is no more, or its state is not known: the server died, dropped the connection, or forgot it. */
export class SessionLost extends Error {}

/** The server has no place for another session. */
export class ServerFull extends Error {}

/** Paths go on from the server's address; whole URLs stand for themselves. */
interface Asked {
  readonly method?: 'GET' | 'POST';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const MAX_ANSWER_BYTES = 64 * 2 ** 20;
/** Characters of a wrong answer that are shown. */
const SHOWN = 200;

export class ServerHttp {
  /** Without what may be secret, and without a slash at its end. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  private readonly agent = new (undici().Agent)({
    maxResponseSize: MAX_ANSWER_BYTES,
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  /**
   * @param shown  what errors call the server; its address unless given
   * @throws REMOTE_URL_INVALID
   */
  constructor(
    readonly protocol: string,
    address: string,
    readonly timeoutSeconds: number,
    token?: string,
    shown?: string,
  ) {
    const parsed = addressOf(address);
    this.url = shown ?? `${parsed.origin}${parsed.pathname}`.replace(/\/+$/, '');
    const secret = token ?? (decodeURIComponent(parsed.password) || process.env['REVERIE_TOKEN']);
    this.headers = secret ? { authorization: `Bearer ${secret}` } : {};
  }

  /** @throws SessionLost, REMOTE_TIMEOUT; SERVER_FAULT for another status than 2xx too */
  async json<T>(path: string, schema: z.ZodType<T>, asked: Asked = {}): Promise<T> {
    const { status, text } = await this.exchange(path, asked);
    const what = whatOf(path, asked);
    if (status < 200 || status > 299) throw this.refused(what, `status ${status}, ${brief(text)}`);
    return this.read(what, text, schema);
  }

  /** Whatever its status. @throws SessionLost, REMOTE_TIMEOUT */
  async exchange(path: string, asked: Asked = {}): Promise<{ readonly status: number; readonly text: string }> {
    return this.within(whatOf(path, asked), asked.signal, async (signal) => {
      const reply = await this.send(path, { ...asked, signal });
      return { status: reply.statusCode, text: await reply.body.text() };
    });
  }

  /** A stream of events, given to `read` as text while it comes. @throws as `exchange`, and what `read` throws */
  async stream<T>(
    path: string,
    asked: Asked,
    read: (status: number, chunks: AsyncIterable<string>) => Promise<T>,
  ): Promise<T> {
    return this.within(whatOf(path, asked), asked.signal, async (signal) => {
      const reply = await this.send(path, { ...asked, signal });
      reply.body.setEncoding('utf8');
      return read(reply.statusCode, reply.body as AsyncIterable<string>);
    });
  }

  /** @throws SERVER_FAULT */
  read<T>(what: string, text: string, schema: z.ZodType<T>): T {
    const value = parsedJson(text);
    if (value === undefined) throw this.invalid(what, text, 'it is no JSON');
    return this.checked(what, value, schema);
  }

  /** @throws SERVER_FAULT */
  checked<T>(what: string, value: unknown, schema: z.ZodType<T>): T {
    const found = schema.safeParse(value);
    if (found.success) return found.data;
    throw this.invalid(what, JSON.stringify(value) ?? String(value), describeIssues(found.error));
  }

  invalid(what: string, value: string, problem: string): Error {
    const { protocol, url } = this;
    return reverieError('SERVER_FAULT', {
      problem: `The ${protocol} server at ${url} answered ${what} with ${brief(value)}: ${problem}.`,
      hint: 'That is no answer of the protocol. Check the address and that the server is of this protocol; `reverie validate URL` tells what else it does otherwise.',
    });
  }

  refused(what: string, problem: string): Error {
    const { protocol, url } = this;
    return reverieError('SERVER_FAULT', {
      problem: `The ${protocol} server at ${url} refused ${what}: ${problem}.`,
      hint: 'Its log says why; REVERIE_TOKEN holds the token that it may ask for, and `reverie validate URL` tries what else it does.',
    });
  }

  late(what: string): Error {
    return reverieError('REMOTE_TIMEOUT', { url: this.url, seconds: this.timeoutSeconds, what });
  }

  /** @param cause what is said where no other session is to be had either */
  lost(problem: string, cause: unknown = this.unreachable(problem)): SessionLost {
    return new SessionLost(problem, { cause });
  }

  unreachable(problem: string): Error {
    return reverieError('SERVER_UNREACHABLE', { url: this.url, problem });
  }

  close(): Promise<void> {
    return this.agent.destroy();
  }

  private send(path: string, { method, body, headers, signal }: Asked): Promise<Dispatcher.ResponseData> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    return undici().request(path.startsWith('/') ? `${this.url}${path}` : path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: { ...this.headers, ...json, ...headers },
      ...sent,
      dispatcher: this.agent,
      signal,
    });
  }

  /** @throws SessionLost where no whole answer came, REMOTE_TIMEOUT, the reason of `given` */
  async within<T>(what: string, given: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timeout = AbortSignal.timeout(this.timeoutSeconds * 1000);
    try {
      return await work(given === undefined ? timeout : AbortSignal.any([given, timeout]));
    } catch (error) {
      given?.throwIfAborted();
      if (timeout.aborted) throw this.late(what);
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
        throw this.invalid(what, 'more', `it is larger than ${MAX_ANSWER_BYTES} bytes`);
      if (code === undefined || (error as Error).name === 'ReverieError') throw error;
      throw this.lost(message || String(code));
    }
  }
}

/** JSON is checked where it arrives: a reward is a finite number, or none. */
export const rewardSchema = z.number().nullish();

/** What a tool refuses, as an answer: the episode is there still, and the agent may do better. */
export function refusal(error: string): ServerAnswer {
  return { observation: `Error: ${error}`, isError: true, reward: null, done: false };
}

/** A tool as OpenEnv and ORS list it. */
export const listedToolSchema = z
  .looseObject({
    name: z.string(),
    description: z.string().nullish(),
    input_schema: z.record(z.string(), z.json()).nullish(),
  })
  .transform(({ name, description, input_schema: schema }) => ({
    name,
    description: description || name,
    parameters: { type: 'object', ...(schema as JsonObject | null | undefined) },
  }));

export function brief(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text;
}

/** A value as an agent is shown it: text as it is, all else as JSON. */
export function shownText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function whatOf(path: string, { method, body }: Asked): string {
  return `${method ?? (body === undefined ? 'GET' : 'POST')} ${path}`;
}

function addressOf(url: string): URL {
  try {
    const parsed = new URL(url.includes('://') ? url : `http://${url}`);
    if (['http:', 'https:'].includes(parsed.protocol)) return parsed;
  } catch {
    // Said below, as what has another scheme.
  }
  throw reverieError('REMOTE_URL_INVALID', { url });
}

/** Settings of any server, beside its address. */
export const serverKeys = {
  environment: z.string().min(1).optional().describe('a server: which of its environments; by default its first'),
  taskLimit: z.int().min(1).default(100).describe('a server: tasks of each split that are asked for; 100'),
  sessions: z.int().min(1).default(8).describe('a server: sessions that are held there at once; 8'),
  timeoutSeconds: z.number().positive().default(60).describe('a server: longest time for one answer; 60'),
  patienceSeconds: z
    .number()
    .min(0)
    .default(30)
    .describe('a server: how long one that is gone, or full, is asked again before the run stops; 30'),
};

export type ServerSettings = Readonly<Record<string, unknown>> & {
  readonly [Key in keyof typeof serverKeys]: z.output<(typeof serverKeys)[Key]>;
};
