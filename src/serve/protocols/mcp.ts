// The Model Context Protocol over streamable HTTP: any agent harness walks into an environment as into a server of tools.
// At /mcp/NAME; at /mcp and /envs/NAME/mcp too, where clients of OpenEnv look for it.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  isInitializeRequest,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type ErrorCode as ReverieCode, ReverieError, reverieError } from '../../core/errors.js';
import type { AttemptOutcome } from '../../env/tools/outcome.js';
import type { Screenshot } from '../../env/tools/text-environment.js';
import { faceOf } from '../../kinds/registry.js';
import type { Servable } from '../../run/servable.js';
import { type Owner, type ResetRequest, type Turn, unguessable } from '../core/session-contract.js';
import type { Sessions } from '../core/sessions.js';
import { environmentOf, resetOf } from '../core/tasks.js';
import type { ProtocolContext, ProtocolRoutes } from '../http/openapi.js';
import { checkedBody, requestInvalid, sayWhenToRetry } from '../http/requests.js';
import { actionOfCall, type GivenCall, isToolError, observationText, offeredTools, openingOf } from './tools.js';

const whole = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number);

/** Which episode a client wants, behind the `?` of the URL it initializes with: texts. */
const episodeSchema = z.strictObject({
  task: z.string().max(255).optional().describe('A task by its id'),
  split: z.string().max(255).optional().describe('Split of the task: train, validation or test'),
  index: whole.optional().describe('Place of the task within its split'),
  seed: whole.optional().describe('Seed of the episode'),
  from_snapshot: z.string().max(255).optional().describe('A snapshot to go on from, instead of a task'),
});

type Params = { Params: { env?: string } };

export const mcpRoutes: ProtocolRoutes = {
  name: 'mcp',
  path: '/mcp',
  reserved: ['mcp'],
  register(app: FastifyInstance, context: ProtocolContext) {
    const mcp = new McpSessions(context);
    for (const url of ['/mcp', '/mcp/:env', '/envs/:env/mcp']) {
      app.route<Params>({
        method: ['GET', 'POST', 'DELETE'],
        url,
        handler: (request, reply) => mcp.answer(request, reply, environmentOf(context.sessions, request.params.env)),
      });
    }
  },
};

/** By their id: each a server and a transport of the official SDK over one session. Ids belong to their owners. */
class McpSessions {
  private readonly entries = new Map<string, { episode: McpEpisode; transport: StreamableHTTPServerTransport }>();
  private readonly sessions: Sessions;

  constructor(private readonly context: ProtocolContext) {
    this.sessions = context.sessions;
    // Those that were closed from elsewhere, too.
    this.sessions.events.on('event', ({ kind, session }) => {
      const isOurs = this.entries.get(session.id)?.episode.owner === session.owner;
      if (kind === 'closed' && isOurs) this.drop(session.id);
    });
  }

  /** Answers a request of streamable HTTP; failures as JSON-RPC errors with a status. */
  async answer(request: FastifyRequest, reply: FastifyReply, served: Servable): Promise<FastifyReply> {
    // `openenv validate` looks for an answer of JSON-RPC to an empty object.
    if (request.method === 'POST' && !isRpc(request.body)) {
      return reply.send(rpcError({ code: ErrorCode.InvalidRequest, message: 'Invalid request' }));
    }
    try {
      const transport = await this.transportFor(request, served);
      reply.hijack();
      await transport.handleRequest(request.raw, reply.raw, request.body);
      return reply;
    } catch (error) {
      if (reply.sent || !(error instanceof ReverieError)) throw error;
      const { code, message, hint, status } = error;
      sayWhenToRetry(reply, error);
      return reply.status(status).send(rpcError({ code: -32000, message: `${message} ${hint}`, data: { code, hint } }));
    }
  }

  /** @throws SESSION_UNKNOWN (to which clients answer by initializing again), REQUEST_INVALID, TASK_NOT_CHOSEN */
  private async transportFor(request: FastifyRequest, served: Servable): Promise<StreamableHTTPServerTransport> {
    const owner = this.context.ownerOf(request);
    const id = request.headers['mcp-session-id'];
    if (typeof id === 'string') {
      const { episode, transport } = this.entries.get(id) ?? {};
      if (episode?.owner !== owner || episode.served !== served) throw reverieError('SESSION_UNKNOWN', { id });
      this.sessions.touch(id, owner);
      return transport!;
    }
    if (isInitializeRequest(request.body)) return this.opened(request, owner, served);
    throw requestInvalid('header Mcp-Session-Id is missing: initialize first');
  }

  private async opened(request: FastifyRequest, owner: Owner, served: Servable) {
    const { task, ...rest } = checkedBody(episodeSchema, request.query);
    const first = resetOf(served, { ...rest, id: task });
    const id = unguessable();
    this.sessions.open({ env: served.name, id, owner });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => this.sessions.close(id, owner),
    });
    transport.onclose = () => this.entries.delete(id);
    const episode = new McpEpisode(this.sessions, served, id, owner, first);
    await episodeServer(episode, this.context.version).connect(transport as never);
    this.entries.set(id, { episode, transport });
    return transport;
  }

  private drop(id: string): void {
    void this.entries.get(id)?.transport.close();
    this.entries.delete(id);
  }
}

function rpcError(error: object) {
  return { jsonrpc: '2.0', error, id: null };
}

function isRpc(body: unknown): boolean {
  return (body as { jsonrpc?: unknown } | null | undefined)?.jsonrpc === '2.0' || Array.isArray(body);
}

/** The episode of a session, which its first call begins. */
class McpEpisode {
  private beginning: Promise<Turn> | undefined;

  constructor(
    private readonly sessions: Sessions,
    readonly served: Servable,
    private readonly id: string,
    readonly owner: Owner,
    private readonly first: ResetRequest,
  ) {}

  get state() {
    return this.sessions.state(this.id, this.owner);
  }

  /** Whether it had to be begun; calls that come meanwhile wait for it. @throws as Sessions.reset */
  async ensure(signal?: AbortSignal): Promise<boolean> {
    if (this.beginning !== undefined) await this.beginning;
    if (this.state.status !== 'idle') return false;
    this.beginning = this.sessions.reset(this.id, this.first, this.owner, signal);
    try {
      await this.beginning;
      return true;
    } finally {
      this.beginning = undefined;
    }
  }

  /** @throws as Sessions.step and actionOfCall */
  step(call: GivenCall, signal?: AbortSignal): Promise<Turn> {
    return this.sessions.step(this.id, { action: actionOfCall(this.served, call) }, this.owner, signal);
  }

  /** Rules, and what there is to see now. @throws ENV_NOT_RESET */
  get opening(): { readonly rules: string; readonly first: string } {
    return openingOf(this.served, this.sessions.observe(this.id, this.owner).observation);
  }
}

// An episode as an MCP server: the environment's tools, and a resource with what there is to know of it.

const RESOURCE = 'reverie://episode';
/** Of the protocol (2025-06-18, resources): there is no such resource. */
const RESOURCE_UNKNOWN = -32002;

function episodeServer(episode: McpEpisode, version: string): Server {
  const { served } = episode;
  const where = `The resource ${RESOURCE} tells how the episode opens: read it first.`;
  const rules = faceOf(served).acts === 'numbers' ? served.description : served.policy;
  const server = new Server(
    { name: 'reverie', title: `Reverie: ${served.name}`, version },
    { capabilities: { tools: {}, resources: {} }, instructions: rules === '' ? where : `${rules}\n\n${where}` },
  );
  const tools = offeredTools(served).map(({ name, description, parameters }) => {
    return { name, description, inputSchema: { ...parameters, type: 'object' } as Tool['inputSchema'] };
  });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: given = {} } }, { signal }) =>
    inItsWords(async () => {
      try {
        // An agent that begins by a call has not seen the first observation.
        const before = (await episode.ensure(signal)) ? [episode.opening.first] : [];
        return stepResult(await episode.step({ name, arguments: given }, signal), before);
      } catch (error) {
        return refusalResult(error);
      }
    }),
  );
  const description = 'Rules, and what there is to see now: at first what the user says. Begins the episode.';
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: [{ uri: RESOURCE, name: 'episode', title: 'The episode', description, mimeType: 'application/json' }],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }, { signal }) =>
    inItsWords(async () => {
      if (uri !== RESOURCE) throw new McpError(RESOURCE_UNKNOWN, `There is no resource ${uri}. There is: ${RESOURCE}`);
      await episode.ensure(signal);
      const { env, status, episodeId: episode_id, task, seed, stepCount: step_count } = episode.state;
      const { rules, first: observation } = episode.opening;
      const facts = { env, status, episode_id, task, seed, step_count, rules, observation };
      return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(facts, null, 2) }] };
    }),
  );
  return server;
}

/** Errors in the words of the protocol, with the catalogue's code. */
async function inItsWords<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ReverieError)) throw error;
    const { code, message, hint, status } = error;
    const kind = status < 500 ? ErrorCode.InvalidParams : ErrorCode.InternalError;
    throw new McpError(kind, `${message} ${hint}`, { code, hint });
  }
}

// What a step, or one that was refused, is as the result of a tool. Rewards stand in `_meta` alone, which agents do not see.

const ENDED = 'The episode has ended.';

/** An agent may mend these and go on. */
const MENDABLE: readonly ReverieCode[] = ['REQUEST_INVALID', 'ACTION_OUT_OF_SPACE', 'STEP_DEADLINE'];

/** @param before  told ahead of it, where an agent could not have seen it */
export function stepResult(turn: Turn, before: readonly string[]): CallToolResult {
  const { terminated, truncated, reward, stepCount, episodeId } = turn;
  const { screenshot, outcome } = turn.info as { readonly screenshot?: Screenshot; readonly outcome?: AttemptOutcome };
  const done = terminated || truncated;
  const texts = [...before, observationText(turn.observation), ...(done ? [ENDED] : [])];
  return {
    content: [
      ...texts.filter((text) => text !== '').map((text) => ({ type: 'text' as const, text })),
      ...(screenshot ? [{ type: 'image' as const, data: screenshot.data, mimeType: screenshot.media_type }] : []),
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
      ...(outcome && { 'reverie/outcome': outcome }),
    },
  };
}

/** @throws `error`, where it is no matter of the agent's */
function refusalResult(error: unknown): CallToolResult {
  const failed = (text: string): CallToolResult => ({ content: [{ type: 'text', text }], isError: true });
  if (!(error instanceof ReverieError)) throw error;
  if (error.code === 'ENV_NOT_RESET') return failed(`${ENDED} Another one begins with another session.`);
  if (MENDABLE.includes(error.code)) return failed(`${error.message} ${error.hint}`);
  throw error;
}
