// Bytes of each owner within a minute: what HTTP requests and WebSockets read and write, headers and all.

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { reverieError } from '../../core/errors.js';
import type { Owner } from '../core/session-contract.js';
import type { Caller } from './tokens.js';

const MINUTE = 60_000;
/** RFC 6455, 7.4.1: a message that goes against a policy. */
const POLICY = 1008;

interface Window {
  startedAt: number;
  bytes: number;
}

export class ByteMeter {
  private readonly windows = new Map<Owner, Window>();

  /** @param now milliseconds */
  constructor(private readonly now: () => number = Date.now) {}

  add(owner: Owner, bytes: number): void {
    this.windowOf(owner).bytes += bytes;
  }

  isUsedUp({ owner, quota: { bytesPerMinute = Number.POSITIVE_INFINITY } }: Caller): boolean {
    return this.windowOf(owner).bytes >= bytesPerMinute;
  }

  /** @throws QUOTA_EXCEEDED once a minute's bytes are used up */
  check(caller: Caller): void {
    if (!this.isUsedUp(caller)) return;
    const { bytes: used } = this.windowOf(caller.owner);
    throw reverieError('QUOTA_EXCEEDED', { what: 'bytes per minute', used, limit: caller.quota.bytesPerMinute });
  }

  private windowOf(owner: Owner): Window {
    const known = this.windows.get(owner);
    if (known !== undefined && this.now() - known.startedAt < MINUTE) return known;
    const window = { startedAt: this.now(), bytes: 0 };
    this.windows.set(owner, window);
    return window;
  }
}

/** Tells of the bytes that went over a connection since it was last asked for them. */
function bytesSince(): (socket: Socket) => number {
  const seen = new WeakMap<Socket, number>();
  return (socket) => {
    const total = socket.bytesRead + socket.bytesWritten;
    const before = seen.get(socket) ?? 0;
    seen.set(socket, total);
    return total - before;
  };
}

/** All bytes of a server. Connections are looked at when they end and when somebody wants to know, not with each request. */
export class NetworkBytes {
  private readonly open = new Set<Socket>();
  private readonly since = bytesSince();

  constructor(
    server: Server,
    private readonly told: (bytes: number) => void,
  ) {
    server.on('connection', (socket: Socket) => {
      this.open.add(socket);
      socket.once('close', () => {
        this.open.delete(socket);
        told(this.since(socket));
      });
    });
  }

  /** Tells of all that went over since it was last told of. */
  tell(): void {
    for (const socket of this.open) this.told(this.since(socket));
  }
}

type Metered = Pick<FastifyRequest, 'raw' | 'caller'> & { readonly ws?: boolean };

/** What is to be done with each request where bytes are limited. */
export interface RequestMeter {
  /** Before it is read. @throws QUOTA_EXCEEDED */
  check(request: Metered): void;
  /** After it was answered, or given up. */
  count(request: Metered): void;
}

/** Counts for `meter`. Registered after WebSockets, as one that is over its quota is closed with 1008. */
export function meterBytes(app: FastifyInstance, meter: ByteMeter): RequestMeter {
  const callers = new WeakMap<IncomingMessage, Caller>();
  const since = bytesSince();
  const count = (socket: Socket, caller: Caller | undefined) => {
    const bytes = since(socket);
    if (caller !== undefined) meter.add(caller.owner, bytes);
  };
  app.websocketServer.on('connection', (socket, raw) => {
    const caller = callers.get(raw);
    socket.on('message', () => {
      count(raw.socket, caller);
      if (caller !== undefined && meter.isUsedUp(caller)) socket.close(POLICY, 'QUOTA_EXCEEDED');
    });
    socket.on('close', () => count(raw.socket, caller));
  });
  return {
    check({ raw, ws, caller }) {
      if (caller === undefined) return;
      meter.check(caller);
      if (ws) callers.set(raw, caller);
    },
    count: ({ raw, caller }) => count(raw.socket, caller),
  };
}
