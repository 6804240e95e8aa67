// A server of the Model Context Protocol, over streamable HTTP or as a process of ours, by the official client. A session is a
// connection, and an episode: the protocol has neither tasks nor seeds, rewards nor ends. Where a server of ours tells rewards and
// ends in `_meta`, they count.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { JsonObject } from '../../core/canonical-json.js';
import { describeIssues } from '../../core/errors.js';
import type { CallSpec } from '../tools/domain.js';
import {
  type EnvironmentServer,
  refusal,
  rewardSchema,
  type ServerAnswer,
  type ServerCard,
  ServerHttp,
  type ServerOptions,
  type ServerSession,
  type ServerTool,
  shownText,
} from './server-http.js';

const US = { name: 'reverie', version: '1' };
/** Tools of one page; a server that goes on for ever is not followed. */
const MOST_PAGES = 100;

const resultSchema = z.looseObject({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  _meta: z.looseObject({ 'reverie/reward': rewardSchema, 'reverie/done': z.boolean().optional() }).nullish(),
});

export class McpServer implements EnvironmentServer {
  /** For errors and the token; where the server is a process, its command stands for the address. */
  readonly http: ServerHttp;

  /** @param where  an address, or a program and its arguments */
  constructor(
    private readonly where: string | readonly string[],
    { timeoutSeconds, token }: ServerOptions,
  ) {
    const isUrl = typeof where === 'string';
    const shown = isUrl ? undefined : where.join(' ');
    this.http = new ServerHttp('MCP', isUrl ? where : 'http://localhost', timeoutSeconds, token, shown);
  }

  async describe(): Promise<ServerCard> {
    const client = await this.connected();
    try {
      const { name = 'mcp', version = '' } = client.getServerVersion() ?? {};
      const tools = await this.toolsOf(client);
      const instructions = client.getInstructions() ?? '';
      return { name, version, instructions, tools, tasks: [{ id: 'session', split: 'train', start: {} }] };
    } catch (error) {
      throw isRefused(error) ? this.http.refused('tools/list', error.message) : failed(this.http, 'tools/list', error);
    } finally {
      await closed(client);
    }
  }

  async open(): Promise<ServerSession> {
    const client = await this.connected();
    return new McpSession(client, () => this.connected(), this.http);
  }

  /** @throws SessionLost, SERVER_FAULT */
  private async connected(): Promise<Client> {
    const client = new Client(US, { capabilities: {} });
    try {
      await client.connect(this.transport(), { timeout: this.http.timeoutSeconds * 1000 });
      return client;
    } catch (error) {
      await closed(client);
      const problem = (error as Error).message;
      const status = (error as { code?: unknown }).code;
      if (typeof status === 'number' && status >= 400 && status < 500) throw this.http.refused('initialize', problem);
      throw this.http.lost(problem);
    }
  }

  private transport(): Transport {
    const { where } = this;
    if (typeof where !== 'string') {
      const [command, ...args] = where;
      return new StdioClientTransport({ command, args, stderr: 'ignore' });
    }
    // The query counts: servers of ours choose the task by it.
    const url = new URL(where);
    url.username = '';
    url.password = '';
    return new StreamableHTTPClientTransport(url, { requestInit: { headers: { ...this.http.headers } } }) as Transport;
  }

  private async toolsOf(client: Client): Promise<ServerTool[]> {
    const tools: ServerTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES; page++) {
      const told = await client.listTools({ cursor }, { timeout: this.http.timeoutSeconds * 1000 });
      tools.push(
        ...told.tools.map(({ name, description, inputSchema, annotations }) => ({
          name,
          description: description || name,
          parameters: inputSchema as unknown as JsonObject,
          ...(annotations?.readOnlyHint === true ? { isRead: true } : {}),
        })),
      );
      cursor = told.nextCursor;
      if (cursor === undefined) return tools;
    }
    throw this.http.invalid('tools/list', String(cursor), `it has more than ${MOST_PAGES} pages`);
  }
}

class McpSession implements ServerSession {
  /** Whether anybody has called anything in this connection. */
  private isUsed = false;

  constructor(
    private client: Client,
    private readonly connect: () => Promise<Client>,
    private readonly http: ServerHttp,
  ) {}

  /** Whatever a session holds on the server is gone with its connection. */
  async begin(): Promise<string> {
    if (this.isUsed) {
      await closed(this.client);
      this.client = await this.connect();
      this.isUsed = false;
    }
    return '';
  }

  async call({ name, arguments: given }: CallSpec, signal?: AbortSignal): Promise<ServerAnswer> {
    this.isUsed = true;
    const what = `a call of ${name}`;
    const timeout = this.http.timeoutSeconds * 1000;
    try {
      const told = await this.client.callTool({ name, arguments: { ...given } }, undefined, { signal, timeout });
      return this.answerOf(this.http.checked(what, told, resultSchema));
    } catch (error) {
      signal?.throwIfAborted();
      // What the protocol itself says of a call is for the agent to read.
      if (isRefused(error)) return refusal(error.message);
      throw failed(this.http, what, error);
    }
  }

  close(): Promise<void> {
    return closed(this.client);
  }

  private answerOf({ content, structuredContent, isError = false, _meta: meta }: z.output<typeof resultSchema>) {
    const texts = content.map(({ type, text }) => text ?? shownText({ type }));
    const observation = texts.length > 0 ? texts.join('\n') : shownText(structuredContent ?? '');
    const reward = meta?.['reverie/reward'] ?? null;
    return { observation, isError, reward, done: meta?.['reverie/done'] === true };
  }
}

function isRefused(error: unknown): error is McpError {
  return error instanceof McpError && ![ErrorCode.RequestTimeout, ErrorCode.ConnectionClosed].includes(error.code);
}

/** Why a request has no answer that could be read. */
function failed(http: ServerHttp, what: string, error: unknown): Error {
  const { message, name, code, issues } = error as Error & { readonly code?: unknown; readonly issues?: unknown };
  if (name === 'ReverieError') return error as Error;
  if (Array.isArray(issues)) return http.invalid(what, 'another form', describeIssues(error as z.ZodError));
  if (error instanceof McpError && code === ErrorCode.RequestTimeout) return http.late(what);
  return http.lost(message, http.unreachable(`${what}: ${message}`));
}

/** With the server told, where the transport has words for it. */
async function closed(client: Client): Promise<void> {
  const { transport } = client;
  if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession().catch(() => undefined);
  await client.close().catch(() => undefined);
}
