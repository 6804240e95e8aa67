// The Model Context Protocol over streamable HTTP: any agent harness walks into an environment as into a server of tools.
// At /mcp/NAME; /mcp alone is OpenEnv's too, which hands over who speaks the official protocol.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  GetPromptRequestSchema,
  isInitializeRequest,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type ErrorCode as ReverieCode, ReverieError, reverieError } from '../../core/errors.js';
import type { Screenshot } from '../../env/tools/text-environment.js';
import { faceOf } from '../../kinds/registry.js';
import type { Servable } from '../../run/servable.js';
import { type Owner, type ResetRequest, type SessionState, type Turn, unguessable } from '../core/session-contract.js';
import type { Sessions } from '../core/sessions.js';
import { environmentNamed, resetOf } from '../core/tasks.js';
import type { Facade, FacadeContext, RouteDescription } from '../http/openapi.js';
import { checkedBody, sayWhenToRetry } from '../http/requests.js';
import { answerOfficialMcp } from './openenv/openenv.js';
import { actionOfCall, type GivenCall, isToolError, observationText, offeredTools, openingOf } from './tools.js';

// Which episode a client wants: behind the `?` of the URL it initializes with, or in the arguments of the prompt. Both are
// texts.

const whole = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number);

export const episodeSchema = z.strictObject({
  task: z.string().max(255).optional().describe('A task by its id'),
  split: z.string().max(255).optional().describe('Split of the task: train, validation or test'),
  index: whole.optional().describe('Place of the task within its split'),
  seed: whole.optional().describe('Seed of the episode'),
  from_snapshot: z.string().max(255).optional().describe('A snapshot to go on from, instead of a task'),
});

/** @throws REQUEST_INVALID, TASK_NOT_CHOSEN */
function resetFrom(served: Servable, given: unknown): ResetRequest {
  const { task, ...rest } = checkedBody(episodeSchema, given);
  return resetOf(served, { ...rest, id: task });
}

const json = z.record(z.string(), z.unknown());

const mcpDescriptions: readonly RouteDescription[] = (['post', 'get', 'delete'] as const).map((method) => ({
  method,
  path: '/mcp/:env',
  tag: 'Model Context Protocol',
  summary: { post: 'Send a message', get: 'Listen to messages', delete: 'Close the session' }[method],
  description: 'Streamable HTTP: connect with a client of the protocol. The query counts with `initialize`.',
  parameters: { env: 'Name of the environment' },
  ...(method === 'post'
    ? { query: episodeSchema, body: { schema: json } }
    : { headers: { 'Mcp-Session-Id': 'The session' } }),
  answer: { status: 200, description: 'JSON-RPC, or server-sent events of it' },
}));

type Params = { Params: { env?: string } };

export const mcpFacade: Facade = {
  name: 'mcp',
  reserved: ['mcp'],
  routes: mcpDescriptions,
  register(app: FastifyInstance, context: FacadeContext) {
    const mcp = new McpSessions(context);
    const servedFor = (request: FastifyRequest<Params>) => environmentNamed(context.sessions, request.params.env);
    app.route<Params>({
      method: ['GET', 'POST', 'DELETE'],
      url: '/mcp/:env',
      handler: (request, reply) => mcp.answer(request, reply, servedFor(request)),
    });
    for (const url of ['/mcp', '/envs/:env/mcp']) {
      app.delete<Params>(url, (request, reply) => mcp.answer(request, reply, servedFor(request)));
    }
    answerOfficialMcp(context.sessions, (request, reply, served) => mcp.answer(request, reply, served));
  },
};

// MCP sessions by their id: each a server and a transport of the official SDK over one session. Ids belong to their owners.

interface Entry {
  readonly owner: Owner;
  readonly served: Servable;
  readonly transport: StreamableHTTPServerTransport;
}

/** Milliseconds between looks for entries whose sessions were closed from elsewhere. */
const SWEEP = 60_000;

class McpSessions {
  private readonly entries = new Map<string, Entry>();
  private readonly sessions: Sessions;
  private sweptAt = Date.now();

  constructor(private readonly context: FacadeContext) {
    this.sessions = context.sessions;
  }

  /** Answers a request of streamable HTTP; failures as JSON-RPC errors with a status. */
  async answer(request: FastifyRequest, reply: FastifyReply, served: Servable): Promise<FastifyReply> {
    try {
      const transport = await this.transportFor(request, served);
      reply.hijack();
      await transport.handleRequest(request.raw, reply.raw, request.body);
      return reply;
    } catch (error) {
      if (reply.sent || !(error instanceof ReverieError)) throw error;
      const { code, message, hint, status } = error;
      sayWhenToRetry(reply, error);
      const answer = { code: -32000, message: `${message} ${hint}`, data: { code, hint } };
      return reply.status(status).send({ jsonrpc: '2.0', error: answer, id: null });
    }
  }

  private async transportFor(request: FastifyRequest, served: Servable): Promise<StreamableHTTPServerTransport> {
    const owner = this.context.ownerOf(request);
    const id = request.headers['mcp-session-id'];
    if (typeof id === 'string') return this.known(id, owner, served).transport;
    if (isInitializeRequest(request.body)) return this.opened(request, owner, served);
    throw reverieError('REQUEST_INVALID', { problem: 'header Mcp-Session-Id is missing: initialize first' });
  }

  /** @throws SESSION_UNKNOWN (to which clients answer by initializing again) */
  private known(id: string, owner: Owner, served: Servable): Entry {
    const entry = this.entries.get(id);
    if (entry?.owner === owner && entry.served === served && this.isOpen(id, owner)) return entry;
    if (entry?.owner === owner && entry.served === served) this.drop(id);
    throw reverieError('SESSION_UNKNOWN', { id });
  }

  private async opened(request: FastifyRequest, owner: Owner, served: Servable) {
    this.sweep();
    const first = resetFrom(served, request.query);
    const id = unguessable();
    this.sessions.open({ env: served.name, id, owner });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => this.sessions.close(id, owner),
    });
    transport.onclose = () => {
      this.entries.delete(id);
    };
    const episode = new McpEpisode({ sessions: this.sessions, served, id, owner, first });
    await episodeServer(episode, this.context.version).connect(transport as never);
    this.entries.set(id, { owner, served, transport });
    return transport;
  }

  private isOpen(id: string, owner: Owner): boolean {
    try {
      this.sessions.touch(id, owner);
      return true;
    } catch (error) {
      if (error instanceof ReverieError && error.code === 'SERVER_DRAINING') throw error;
      return false;
    }
  }

  private sweep(): void {
    if (Date.now() - this.sweptAt < SWEEP) return;
    this.sweptAt = Date.now();
    const open = new Set(this.sessions.list().map(({ id }) => id));
    for (const id of this.entries.keys()) if (!open.has(id)) this.drop(id);
  }

  private drop(id: string): void {
    const { transport } = this.entries.get(id)!;
    this.entries.delete(id);
    void transport.close();
  }
}

// An episode as an MCP server: the environment's tools, a resource with what there is to know of it, and a prompt that
// begins another.

const RESOURCE = 'reverie://episode';
const PROMPT = 'start';
/** Of the protocol (2025-06-18, resources): there is no such resource. */
const RESOURCE_UNKNOWN = -32002;

function episodeServer(episode: McpEpisode, version: string): Server {
  const { served } = episode;
  const server = new Server(
    { name: 'reverie', title: `Reverie: ${served.name}`, version },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: instructionsOf(served) },
  );
  addTools(server, episode);
  addResource(server, episode);
  addPrompt(server, episode);
  return server;
}

function addTools(server: Server, episode: McpEpisode): void {
  const { served } = episode;
  const tools = offeredTools(served).map(({ name, description, parameters }) => {
    return { name, description, inputSchema: { ...parameters, type: 'object' } as Tool['inputSchema'] };
  });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }): Promise<CallToolResult> => {
    const { name, arguments: given = {} } = params;
    return told(async () => {
      try {
        const begun = await episode.ensure(signal);
        // Who begins by a call has not seen what there was to see.
        const before = begun === undefined ? [] : [episode.told.first];
        return stepResult(await episode.step({ name, arguments: given }, signal), before);
      } catch (error) {
        return refusalResult(error);
      }
    });
  });
}

function addResource(server: Server, episode: McpEpisode): void {
  const description = 'Rules, and what there is to see now: at first what the user says. Begins the episode.';
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: [{ uri: RESOURCE, name: 'episode', title: 'The episode', description, mimeType: 'application/json' }],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }, { signal }) =>
    told(async () => {
      if (uri !== RESOURCE) throw new McpError(RESOURCE_UNKNOWN, `There is no resource ${uri}. There is: ${RESOURCE}`);
      await episode.ensure(signal);
      const { env, status, episodeId, task, seed, stepCount } = episode.state;
      const { rules, first } = episode.told;
      const facts = {
        env,
        status,
        episode_id: episodeId,
        task,
        seed,
        step_count: stepCount,
        rules,
        observation: first,
      };
      return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(facts, null, 2) }] };
    }),
  );
}

function addPrompt(server: Server, episode: McpEpisode): void {
  const description =
    'Begins an episode, another one if arguments are given or the last has ended; tells how it opens.';
  const args = Object.entries(episodeSchema.shape).map(([name, schema]) => ({ name, description: schema.description }));
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: [{ name: PROMPT, title: 'Start an episode', description, arguments: args }],
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }, { signal }) =>
    told(async () => {
      const { name, arguments: given = {} } = params;
      if (name !== PROMPT) {
        throw new McpError(ErrorCode.InvalidParams, `There is no prompt ${name}. There is: ${PROMPT}`);
      }
      const isChosen = Object.keys(given).length > 0;
      if (isChosen) await episode.begin(resetFrom(episode.served, given), signal);
      else if (episode.state.status === 'done') await episode.begin(undefined, signal);
      else await episode.ensure(signal);
      const { rules, first } = episode.told;
      const text = [rules, first].filter((part) => part !== '').join('\n\n');
      return { messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }] };
    }),
  );
}

/** Errors in the words of the protocol, with the catalogue's code. */
async function told<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ReverieError)) throw error;
    const { code, message, hint, status } = error;
    const kind = status < 500 ? ErrorCode.InvalidParams : ErrorCode.InternalError;
    throw new McpError(kind, `${message} ${hint}`, { code, hint });
  }
}

function instructionsOf(served: Servable): string {
  const { policy, description } = served;
  const where = `The resource ${RESOURCE} (or the prompt "${PROMPT}") tells how the episode opens: read it first.`;
  return [faceOf(served).acts === 'numbers' ? description : policy, where].filter((part) => part !== '').join('\n\n');
}

export interface EpisodeOptions {
  readonly sessions: Sessions;
  readonly served: Servable;
  /** Of an open session. */
  readonly id: string;
  readonly owner: Owner;
  /** The episode it begins with. */
  readonly first: ResetRequest;
}

class McpEpisode {
  readonly served: Servable;
  private beginning: Promise<Turn> | undefined;

  constructor(private readonly options: EpisodeOptions) {
    this.served = options.served;
  }

  get state(): SessionState {
    const { sessions, id, owner } = this.options;
    return sessions.state(id, owner);
  }

  /** Begins another episode, or the first; calls that come meanwhile wait for it. @throws as Sessions.reset */
  async begin(request: ResetRequest = this.options.first, signal?: AbortSignal): Promise<Turn> {
    const { sessions, id, owner } = this.options;
    this.beginning = sessions.reset(id, request, owner, signal);
    try {
      return await this.beginning;
    } finally {
      this.beginning = undefined;
    }
  }

  /** Answers the first turn where there was no episode yet. */
  async ensure(signal?: AbortSignal): Promise<Turn | undefined> {
    if (this.beginning !== undefined) await this.beginning;
    return this.state.status === 'idle' ? this.begin(undefined, signal) : undefined;
  }

  /** @throws as Sessions.step and actionOfCall */
  step(call: GivenCall, signal?: AbortSignal): Promise<Turn> {
    const { sessions, id, owner } = this.options;
    return sessions.step(id, { action: actionOfCall(this.served, call) }, owner, signal);
  }

  /** Rules, and what there is to see now. @throws ENV_NOT_RESET */
  get told(): { readonly rules: string; readonly first: string } {
    const { sessions, id, owner } = this.options;
    return openingOf(this.served, sessions.observe(id, owner).observation);
  }
}

// What a step, or one that was refused, is as the result of a tool. Rewards stand in `_meta` alone, which agents do not see.

const ENDED = 'The episode has ended.';
const NEXT = `${ENDED} Another one begins with the prompt "start", or with another session.`;

/** An agent may mend these and go on. */
const MENDABLE: readonly ReverieCode[] = ['REQUEST_INVALID', 'ACTION_OUT_OF_SPACE', 'STEP_DEADLINE'];

/** @param before  told ahead of it, where an agent could not have seen it */
export function stepResult(turn: Turn, before: readonly string[]): CallToolResult {
  const { terminated, truncated, reward, stepCount, episodeId } = turn;
  const done = terminated || truncated;
  const texts = [...before, observationText(turn.observation), ...(done ? [ENDED] : [])];
  return {
    content: [
      ...texts.filter((text) => text !== '').map((text) => ({ type: 'text' as const, text })),
      ...imageOf(turn),
    ],
    isError: isToolError(turn),
    _meta: {
      'reverie/reward': reward,
      'reverie/done': done,
      'reverie/terminated': terminated,
      'reverie/truncated': truncated,
      'reverie/return': turn.return,
      'reverie/step': stepCount,
      'reverie/episode': episodeId,
    },
  };
}

/** What there is to see, of worlds that have a look. */
function imageOf({ info }: Turn): { type: 'image'; data: string; mimeType: string }[] {
  const { screenshot } = info as { readonly screenshot?: Screenshot };
  return screenshot === undefined ? [] : [{ type: 'image', data: screenshot.data, mimeType: screenshot.media_type }];
}

/** @throws `error`, where it is no matter of the agent's */
function refusalResult(error: unknown): CallToolResult {
  if (!(error instanceof ReverieError)) throw error;
  if (error.code === 'ENV_NOT_RESET') return failed(NEXT);
  if (MENDABLE.includes(error.code)) return failed(`${error.message} ${error.hint}`);
  throw error;
}

function failed(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}
