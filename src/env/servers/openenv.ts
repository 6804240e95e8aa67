// A server of OpenEnv (https://github.com/huggingface/OpenEnv): schemas and tasks over HTTP, an episode over one WebSocket. Tools are
// called as its MCP environments take them; any other action is the one tool `take_action`, with the schema of actions as its arguments.

import type { WebSocket } from 'undici';
import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject, parsedJson } from '../../core/canonical-json.js';
import { undici } from '../../core/packs.js';
import type { CallSpec } from '../tools/domain.js';
import { taskLists } from './ors.js';
import {
  brief,
  type EnvironmentServer,
  type EpisodeStart,
  listedToolSchema,
  refusal,
  rewardSchema,
  type ServerAnswer,
  type ServerCard,
  ServerFull,
  ServerHttp,
  type ServerOptions,
  type ServerSession,
  type ServerTool,
  shownText,
} from './server-http.js';

/** Titles of the schemas of actions that are calls, as verifiers tells environments of tools. */
const CALLS = ['Action', 'CallToolAction', 'ListToolsAction'];
/** Errors that end the session. */
const ENDED = ['SESSION_ERROR', 'FACTORY_ERROR'];
const ACT = 'take_action';

const object = z.record(z.string(), z.json());
const schemasSchema = z.looseObject({ action: object, observation: object });
const metadataSchema = z.looseObject({
  name: z.string(),
  description: z.string().nullish(),
  version: z.string().nullish(),
});
const turnSchema = z.looseObject({
  observation: object,
  reward: rewardSchema,
  done: z.boolean().nullish(),
});
const errorSchema = z.looseObject({ message: z.string(), code: z.string() });

export class OpenEnvServer implements EnvironmentServer {
  readonly http: ServerHttp;
  /** Whether actions are calls. */
  private hasTools = false;

  constructor(
    url: string,
    private readonly options: ServerOptions,
  ) {
    this.http = new ServerHttp('OpenEnv', url.replace(/^ws/, 'http'), options.timeoutSeconds, options.token);
  }

  async describe(): Promise<ServerCard> {
    const { name, description, version } = await this.metadata();
    const action = (await this.http.json('/schema', schemasSchema)).action as JsonObject;
    this.hasTools = CALLS.includes(String(action['title']));
    const tools = this.hasTools ? await this.listedTools() : [actTool(action)];
    const own = await taskLists(this.http, name, this.options.taskLimit);
    return {
      name,
      version: version ?? '',
      instructions: description ?? '',
      tools,
      tasks: own ?? [{ id: 'episode', split: 'train', start: {} }],
    };
  }

  async open(): Promise<ServerSession> {
    return new OpenEnvSession(await this.connected(), this.http, this.hasTools);
  }

  private async metadata(): Promise<z.output<typeof metadataSchema>> {
    const { status, text } = await this.http.exchange('/metadata');
    // Older servers have none.
    return status === 404 ? { name: 'environment' } : this.http.read('GET /metadata', text, metadataSchema);
  }

  private async listedTools(): Promise<readonly ServerTool[]> {
    const socket = await this.connected();
    try {
      const frame = await answered(socket, this.http, { type: 'step', data: { type: 'list_tools' } });
      const { observation } = turnOf(this.http, 'list_tools', frame);
      return this.http.checked('list_tools', observation['tools'], z.array(listedToolSchema));
    } finally {
      await socket.close();
    }
  }

  /** @throws SessionLost */
  private async connected(): Promise<OpenEnvSocket> {
    const { url, headers, timeoutSeconds } = this.http;
    try {
      return await OpenEnvSocket.connect(`${url.replace(/^http/, 'ws')}/ws`, headers, timeoutSeconds);
    } catch (error) {
      throw this.http.lost((error as Error).message);
    }
  }
}

class OpenEnvSession implements ServerSession {
  constructor(
    private readonly socket: OpenEnvSocket,
    private readonly http: ServerHttp,
    private readonly hasTools: boolean,
  ) {}

  async begin({ task, seed }: EpisodeStart, signal?: AbortSignal): Promise<string> {
    const { spec: _, ...chosen } = task.start;
    const frame = await answered(this.socket, this.http, { type: 'reset', data: { ...chosen, seed } }, signal);
    if (frame.type === 'error') {
      const { message, code } = this.http.checked('reset', frame.data, errorSchema);
      throw this.http.refused(`reset with ${JSON.stringify({ ...chosen, seed })}`, `${code}: ${message}`);
    }
    const { observation } = turnOf(this.http, 'reset', frame);
    const { instructions = '', user } = observation;
    const first = typeof user === 'string' ? user : textOf(observation);
    return [instructions, first].filter((text) => typeof text === 'string' && text !== '').join('\n\n');
  }

  async call({ name, arguments: given }: CallSpec, signal?: AbortSignal): Promise<ServerAnswer> {
    const data = this.hasTools ? { type: 'call_tool', tool_name: name, arguments: given } : given;
    const frame = await answered(this.socket, this.http, { type: 'step', data }, signal);
    if (frame.type === 'error') return refusal(this.http.checked('a step', frame.data, errorSchema).message);
    const { observation, reward, done } = turnOf(this.http, 'a step', frame);
    const told = this.hasTools ? toolAnswer(observation) : { observation: textOf(observation), isError: false };
    return { ...told, reward: reward ?? null, done: done === true };
  }

  close(): Promise<void> {
    return this.socket.close();
  }
}

/** @throws SessionLost, ServerFull, REMOTE_TIMEOUT, SERVER_FAULT, the reason of `signal` */
async function answered(socket: OpenEnvSocket, http: ServerHttp, frame: object, signal?: AbortSignal): Promise<Frame> {
  const what = brief(JSON.stringify(frame));
  const answer = await http
    .within(what, signal, (both) => socket.ask(frame, both))
    .catch((error) => {
      // It may still answer, and it could not be told to what.
      socket.drop();
      throw error;
    });
  if (answer === undefined)
    throw http.lost('the connection was closed', http.unreachable(`it closed the connection upon ${what}`));
  if (answer.garbled !== undefined) throw http.invalid(what, answer.garbled, 'it is no JSON');
  if (answer.type !== 'error') return answer;
  const { message, code } = http.checked(what, answer.data, errorSchema);
  const refused = http.refused(what, `${code}: ${message}`);
  if (code === 'CAPACITY_REACHED') throw new ServerFull(message, { cause: refused });
  if (ENDED.includes(code)) throw http.lost(message, refused);
  return answer;
}

function turnOf(http: ServerHttp, what: string, { type, data }: Frame): z.output<typeof turnSchema> {
  if (type !== 'observation') {
    const value = JSON.stringify({ type, data }) ?? '';
    throw http.invalid(what, value, 'it is no frame of type "observation"');
  }
  return http.checked(what, data, turnSchema);
}

/** The one tool of an environment whose actions are no calls. */
function actTool(action: JsonObject): ServerTool {
  const { properties = {}, required = [], title: _, description = 'Takes an action.', ...rest } = action;
  const { metadata: __, ...own } = properties as JsonObject;
  const needed = (required as readonly string[]).filter((key) => key in own);
  const parameters = { ...rest, type: 'object', properties: own, required: needed };
  return { name: ACT, description: String(description), parameters };
}

/** Keys of every observation that are not what is seen. */
const BESIDE = ['done', 'reward', 'metadata', 'ended', 'evaluation', 'instructions'];

/** What is seen: the one text there is, or all there is as JSON. */
function textOf(observation: JsonObject): string {
  const seen = Object.entries(observation).filter(([key, value]) => value !== null && !BESIDE.includes(key));
  if (seen.length === 0) return '';
  const [[, only]] = seen;
  return seen.length === 1 && typeof only === 'string' ? only : JSON.stringify(Object.fromEntries(seen));
}

/** Errors of transport and framework are told beside the result; a tool's own error is a result that says so. */
function toolAnswer(observation: JsonObject): Pick<ServerAnswer, 'observation' | 'isError'> {
  const { result, error } = observation;
  if (isJsonObject(error)) {
    const { message } = error;
    return { observation: `Error: ${shownText(message ?? error)}`, isError: true };
  }
  if (typeof error === 'string' && error !== '') return { observation: `Error: ${error}`, isError: true };
  if (!('result' in observation)) return { observation: textOf(observation), isError: false };
  const isError = isJsonObject(result) && (result.is_error === true || result.isError === true);
  return { observation: resultText(result), isError };
}

/** FastMCP wraps a result: its data where there are any, else its blocks of text. */
function resultText(result: Json | undefined): string {
  if (!isJsonObject(result)) return shownText(result ?? '');
  const { data, content, structured_content: structured } = result;
  if (data !== undefined && data !== null) return shownText(data);
  if (Array.isArray(content)) {
    const texts = content.flatMap((block) => (isJsonObject(block) && 'text' in block ? [String(block['text'])] : []));
    if (texts.length > 0) return texts.join('\n');
  }
  return shownText(structured ?? result);
}

/** Milliseconds that a server has to close a connection it was asked to close. */
const FAREWELL = 2000;

export interface Frame {
  readonly type?: unknown;
  readonly data?: unknown;
  /** What came instead, where it was no JSON. */
  readonly garbled?: string;
}

export class OpenEnvSocket {
  /** Frames that came before anybody waited for one: a full server says so unasked. */
  private readonly inbox: Frame[] = [];
  private waiting: ((frame: Frame | undefined) => void) | undefined;
  private readonly closed: Promise<void>;
  private isClosed = false;

  private constructor(private readonly socket: WebSocket) {
    socket.addEventListener('message', ({ data }) => this.arrived(readFrame(String(data))));
    this.closed = new Promise((resolve) => {
      socket.addEventListener('close', () => {
        this.isClosed = true;
        this.waiting?.(undefined);
        resolve();
      });
    });
  }

  /**
   * @param url  `ws://HOST:PORT/ws`
   * @throws Error where it takes no connection within the time
   */
  static async connect(
    url: string,
    headers: Readonly<Record<string, string>>,
    timeoutSeconds: number,
  ): Promise<OpenEnvSocket> {
    const socket = new (undici().WebSocket)(url, { headers: { ...headers } });
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const refused = (problem: string) => reject(new Error(problem));
        timer = setTimeout(() => refused(`no connection within ${timeoutSeconds} s`), timeoutSeconds * 1000);
        socket.addEventListener('open', () => resolve(), { once: true });
        socket.addEventListener('error', () => refused('it takes no connection'), { once: true });
      });
    } catch (error) {
      socket.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    return new OpenEnvSocket(socket);
  }

  /** The next frame; undefined: the connection is closed. @throws the reason of `signal` */
  async ask(frame: object, signal: AbortSignal): Promise<Frame | undefined> {
    signal.throwIfAborted();
    if (!this.isClosed) this.socket.send(JSON.stringify(frame));
    const early = this.inbox.shift();
    if (early !== undefined || this.isClosed) return early;
    return new Promise((resolve, reject) => {
      const stopped = () => {
        this.waiting = undefined;
        reject(signal.reason);
      };
      signal.addEventListener('abort', stopped, { once: true });
      this.waiting = (answer) => {
        signal.removeEventListener('abort', stopped);
        this.waiting = undefined;
        resolve(answer);
      };
    });
  }

  /** Resolves once the server has closed it: one that takes few sessions takes the next one then. */
  async close(): Promise<void> {
    if (!this.isClosed) this.socket.send(JSON.stringify({ type: 'close' }));
    const timer = setTimeout(() => this.socket.close(), FAREWELL);
    await this.closed;
    clearTimeout(timer);
  }

  /** Without a farewell, and without waiting for the server. */
  drop(): void {
    if (!this.isClosed) this.socket.close();
  }

  private arrived(frame: Frame): void {
    if (this.waiting === undefined) this.inbox.push(frame);
    else this.waiting(frame);
  }
}

/** What is no JSON by JSON's rules (Python writes NaN) is a fault of the server. */
function readFrame(text: string): Frame {
  const frame = parsedJson(text) as Frame | undefined;
  return frame ?? { type: `no JSON: ${text.slice(0, 200)}`, garbled: text };
}
