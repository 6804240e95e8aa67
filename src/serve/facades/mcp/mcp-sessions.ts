// MCP sessions by their id: each a server and a transport of the official SDK over one session. Ids belong to their owners.

import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ReverieError, reverieError } from '../../../errors.js';
import type { Servable } from '../../../run/index.js';
import type { Owner, Sessions } from '../../core/session-contract.js';
import { unguessable } from '../../core/unguessable.js';
import type { FacadeContext } from '../../http/facade.js';
import { McpEpisode } from './episode.js';
import { episodeServer } from './episode-server.js';
import { wishedEpisode } from './wish.js';

interface Entry {
  readonly owner: Owner;
  readonly served: Servable;
  readonly transport: StreamableHTTPServerTransport;
}

/** Milliseconds between looks for entries whose sessions were closed from elsewhere. */
const SWEEP = 60_000;

export class McpSessions {
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
    const first = wishedEpisode(served, request.query);
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
    } catch {
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
