// A server of OpenEnv (https://github.com/huggingface/OpenEnv): schemas and tasks over HTTP, an episode over one WebSocket. Tools are
// called as its MCP environments take them; any other action is the one tool `take_action`, with the schema of actions as its arguments.

import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../../../core/canonical-json.js';
import type { CallSpec } from '../../tools/domain.js';
import {
  type EnvironmentServer,
  type EpisodeStart,
  type ServerAnswer,
  type ServerCard,
  ServerFull,
  type ServerOptions,
  type ServerSession,
  type ServerTool,
  SessionLost,
} from '../server-contract.js';
import { brief, rewardSchema, ServerHttp, shownText } from '../server-http.js';
import { taskLists } from '../task-lists.js';
import { type Frame, OpenEnvSocket } from './socket.js';

const PROTOCOL = 'OpenEnv';
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
const toolsSchema = z.array(
  z.looseObject({ name: z.string(), description: z.string().nullish(), input_schema: object.nullish() }),
);
const turnSchema = z.looseObject({
  observation: object,
  reward: rewardSchema,
  done: z.boolean().nullish(),
});
const errorSchema = z.looseObject({ message: z.string(), code: z.string() });

export class OpenEnvServer implements EnvironmentServer {
  readonly protocol = PROTOCOL;
  readonly lacks = {};
  private readonly http: ServerHttp;
  /** Known once it was described: whether actions are calls. */
  private hasTools: Promise<boolean> | undefined;

  constructor(
    url: string,
    private readonly options: ServerOptions,
  ) {
    this.http = new ServerHttp(PROTOCOL, url.replace(/^ws/, 'http'), options.timeoutSeconds, options.token);
  }

  get url(): string {
    return this.http.url;
  }

  async describe(): Promise<ServerCard> {
    const { name, description, version } = await this.metadata();
    const { action } = await this.http.json('/schema', schemasSchema);
    const listed = await this.listedTools(action as JsonObject);
    this.hasTools = Promise.resolve(listed !== undefined);
    const own = await taskLists(this.http, name, this.options.taskLimit);
    return {
      name,
      version: version ?? '',
      instructions: description ?? '',
      tools: listed ?? [actTool(action as JsonObject)],
      tasks: own ?? [{ id: 'episode', split: 'train', start: {} }],
    };
  }

  async open(): Promise<ServerSession> {
    this.hasTools ??= this.http
      .json('/schema', schemasSchema)
      .then(({ action }) => this.listedTools(action as JsonObject))
      .then((tools) => tools !== undefined);
    return new OpenEnvSession(await this.connected(), this.http, await this.hasTools);
  }

  close(): Promise<void> {
    return this.http.close();
  }

  private async metadata(): Promise<z.output<typeof metadataSchema>> {
    const { status, text } = await this.http.exchange('/metadata');
    // Older servers have none.
    return status === 404 ? { name: 'environment' } : this.http.read('GET /metadata', text, metadataSchema);
  }

  /** Undefined where actions are no calls. */
  private async listedTools({ title }: JsonObject): Promise<readonly ServerTool[] | undefined> {
    if (!CALLS.includes(String(title))) return undefined;
    const socket = await this.connected();
    try {
      const frame = await answered(socket, this.http, { type: 'step', data: { type: 'list_tools' } });
      const { observation } = turnOf(this.http, 'list_tools', frame);
      const tools = this.http.checked('list_tools', observation['tools'], toolsSchema);
      return tools.map(({ name, description, input_schema: schema }) => ({
        name,
        description: description || name,
        parameters: { type: 'object', ...(schema as JsonObject | null | undefined) },
      }));
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
      throw new SessionLost((error as Error).message, { cause: this.http.unreachable((error as Error).message) });
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
    if (frame.type === 'error') {
      const { message } = this.http.checked('a step', frame.data, errorSchema);
      return { observation: `Error: ${message}`, isError: true, reward: null, done: false };
    }
    const { observation, reward, done } = turnOf(this.http, 'a step', frame);
    const told = this.hasTools ? toolAnswer(observation) : { observation: textOf(observation), isError: false };
    return { ...told, reward: reward ?? null, done: done === true };
  }

  async close(): Promise<void> {
    await this.socket.close();
  }
}

/** @throws SessionLost, ServerFull, REMOTE_TIMEOUT, SERVER_FAULT, the reason of `signal` */
async function answered(socket: OpenEnvSocket, http: ServerHttp, frame: object, signal?: AbortSignal): Promise<Frame> {
  const what = brief(JSON.stringify(frame));
  const answer = await socket.ask(frame, http.timeoutSeconds, signal);
  if (answer === 'late') {
    socket.drop();
    throw http.late(what);
  }
  if (answer === undefined) {
    throw new SessionLost('the connection was closed', {
      cause: http.unreachable(`it closed the connection upon ${what}`),
    });
  }
  if (answer.garbled !== undefined) throw http.invalid(what, answer.garbled, 'it is no JSON');
  if (answer.type !== 'error') return answer;
  const { message, code } = http.checked(what, answer.data, errorSchema);
  if (code === 'CAPACITY_REACHED') throw new ServerFull(message, { cause: http.refused(what, `${code}: ${message}`) });
  if (ENDED.includes(code)) throw new SessionLost(message, { cause: http.refused(what, `${code}: ${message}`) });
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
  return { observation: resultText(result), isError: isJsonObject(result) && saysError(result) };
}

function saysError({ is_error: one, isError: other }: JsonObject): boolean {
  return one === true || other === true;
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
