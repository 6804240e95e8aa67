// An OpenAI-compatible server on a loopback port, for tests and benchmarks: answers come from a function, faults from a
// seed. It can refuse what real servers refuse.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { completion, type LlmAnswer } from './completion.js';
import { drawFault, type FaultKind, type Faults } from './faults.js';

export type { LlmAnswer } from './completion.js';
export type { Faults } from './faults.js';

export interface LlmServerRequestBody {
  readonly model: string;
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | null;
    readonly tool_calls?: readonly { id: string; type: string; function: { name: string; arguments: string } }[];
    readonly tool_call_id?: string;
  }[];
  readonly seed?: number;
  readonly stream?: boolean;
  readonly response_format?: {
    readonly type: string;
    readonly json_schema?: { readonly name: string; readonly strict?: boolean; readonly schema: unknown };
  };
  readonly tools?: readonly unknown[];
  readonly logprobs?: boolean;
  readonly [key: string]: unknown;
}

export interface AnswerContext {
  /** `seed` of the body, 0 where it has none. */
  readonly seed: number;
  /** Number of the request in order of arrival, from 0: depends on timing. */
  readonly requestIndex: number;
  /** How often the same body came before: does not depend on timing. */
  readonly retry: number;
}

export type Answer = (body: LlmServerRequestBody, context: AnswerContext) => LlmAnswer | Promise<LlmAnswer>;

export interface LlmServerOptions {
  readonly answer: Answer;
  readonly faults?: Faults;
  /** Answers a chat request itself, as no server should; false where it leaves it to `answer`. */
  readonly before?: (response: ServerResponse, body: LlmServerRequestBody) => boolean;
  /** The most that is understood as `response_format`; what goes beyond is refused with 400. */
  readonly structured?: 'json_schema' | 'json_object' | 'none';
  /** Keys of the body that are refused with 400, as servers do that do not know them. */
  readonly unknownKeys?: readonly string[];
  /** Requests without this bearer token are refused with 401. */
  readonly apiKey?: string;
  readonly model?: string;
  /** Whether `requests` fills up; switch it off for long benchmarks. */
  readonly keepRequests?: boolean;
  readonly port?: number;
}

export interface ServedRequest {
  readonly body: LlmServerRequestBody;
  readonly retry: number;
  readonly fault?: FaultKind;
}

export interface LlmServer {
  /** Base URL, ending in `/v1`. */
  readonly url: string;
  /** Chat requests that passed the checks of key and keys, in order of arrival. */
  readonly requests: ServedRequest[];
  /** Most chat requests that were in the works at once. */
  peakInFlight(): number;
  close(): Promise<void>;
}

export async function startLlmServer(options: LlmServerOptions): Promise<LlmServer> {
  const state = new ServerState(options);
  const server = createServer((request, response) => {
    state.handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) sendJson(response, 500, { error: { message: `test server: ${String(error)}` } });
    });
  });
  server.keepAliveTimeout = 600_000;
  server.listen(options.port ?? 0, '127.0.0.1', 4096);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { requests } = state;
  const url = `http://127.0.0.1:${port}/v1`;
  return { url, requests, peakInFlight: () => state.peak, close: () => close(server) };
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

class ServerState {
  readonly requests: ServedRequest[] = [];
  peak = 0;
  private inFlight = 0;
  private requestIndex = 0;
  private readonly seen = new Map<string, number>();

  constructor(private readonly options: LlmServerOptions) {}

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    const text = await readBody(request);
    if (path !== '/v1/chat/completions') return sendJson(response, 404, { error: { message: `no ${path} here` } });
    const body = JSON.parse(text) as LlmServerRequestBody;
    const refusal = this.refusal(request, body);
    if (refusal !== undefined) return sendJson(response, refusal.status, { error: { message: refusal.message } });
    this.peak = Math.max(this.peak, ++this.inFlight);
    try {
      await this.answerChat(text, body, response);
    } finally {
      this.inFlight--;
    }
  }

  private async answerChat(text: string, body: LlmServerRequestBody, response: ServerResponse): Promise<void> {
    const { answer, faults, keepRequests = true } = this.options;
    const requestIndex = this.requestIndex++;
    const retry = this.countRetry(text);
    const { fault, lie } = faults ? drawFault(faults, text, retry) : {};
    if (keepRequests) this.requests.push({ body, retry, fault });
    if (faults?.slowMs) await new Promise((resolve) => setTimeout(resolve, faults.slowMs));
    if (fault === 'hang' || this.options.before?.(response, body)) return;
    if (fault === 'rate429')
      return sendJson(response, 429, { error: { message: 'slow down' } }, { 'retry-after': '0' });
    if (fault === 'rate500') return sendJson(response, 500, { error: { message: 'internal error' } });
    if (fault === 'malformed') return sendText(response, 200, '<html>bad gateway</html>', 'text/html');
    const given = await answer(body, { seed: body.seed ?? 0, requestIndex, retry });
    const reply = completion({ body, answer: spoilt(given, fault), id: requestIndex, model: this.model(), lie });
    if (fault === 'dropStream') sendHalf(response, JSON.stringify(reply));
    else sendJson(response, 200, reply);
  }

  private countRetry(text: string): number {
    if (this.options.faults === undefined && this.options.keepRequests === false) return 0;
    const retry = this.seen.get(text) ?? 0;
    this.seen.set(text, retry + 1);
    return retry;
  }

  private refusal(
    request: IncomingMessage,
    body: LlmServerRequestBody,
  ): { status: number; message: string } | undefined {
    const { apiKey, structured = 'json_schema', unknownKeys = [] } = this.options;
    if (apiKey !== undefined && request.headers.authorization !== `Bearer ${apiKey}`) {
      return { status: 401, message: `Incorrect API key provided: ${request.headers.authorization}` };
    }
    const unknown = unknownKeys.find((key) => key in body);
    if (unknown !== undefined) return { status: 400, message: `Unsupported parameter: '${unknown}'` };
    const format = body.response_format?.type;
    const allowed = { json_schema: ['json_schema', 'json_object'], json_object: ['json_object'], none: [] }[structured];
    if (format === undefined || allowed.some((known) => known === format)) return undefined;
    return { status: 400, message: `response_format of type '${format}' is not supported` };
  }

  private model(): string {
    return this.options.model ?? 'test-model';
  }
}

function spoilt(answer: LlmAnswer, fault: FaultKind | undefined): LlmAnswer {
  if (fault === 'refuse') return { ...answer, text: '', refusal: 'I cannot help with that.' };
  if (fault === 'hugeReply') return { ...answer, text: 'x'.repeat(8 << 20) };
  if (fault === 'deepJson') return { ...answer, text: `${'['.repeat(10_000)}${']'.repeat(10_000)}` };
  return answer;
}

/** Sends half of a text, and ends the connection. */
function sendHalf(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.write(text.slice(0, text.length >> 1));
  setImmediate(() => response.destroy());
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  sendText(response, status, JSON.stringify(value), 'application/json', headers);
}

function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  type: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text), ...headers });
  response.end(text);
}
