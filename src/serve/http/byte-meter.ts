// Bytes of each owner within a minute: what HTTP requests and WebSockets read and write, headers and all.

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { reverieError } from '../../errors.js';
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

/** Bytes that went over each connection when it was last looked at. */
const seen = new WeakMap<Socket, number>();

function bytesSince(socket: Socket): number {
  const total = socket.bytesRead + socket.bytesWritten;
  const before = seen.get(socket) ?? 0;
  seen.set(socket, total);
  return total - before;
}

const socketCallers = new WeakMap<IncomingMessage, Caller>();

/**
 * Counts for `meter` and tells `told`. Registered after access is checked and after WebSockets.
 * A WebSocket over its quota is closed with 1008.
 */
export function meterBytes(app: FastifyInstance, meter: ByteMeter, told: (bytes: number) => void): void {
  const count = (socket: Socket, caller: Caller | undefined) => {
    const bytes = bytesSince(socket);
    told(bytes);
    if (caller !== undefined) meter.add(caller.owner, bytes);
  };
  app.addHook('onRequest', ({ raw, ws, caller }, _reply, done) => {
    if (caller !== undefined) {
      meter.check(caller);
      if (ws) socketCallers.set(raw, caller);
    }
    done();
  });
  app.addHook('onResponse', ({ raw, caller }, _reply, done) => {
    count(raw.socket, caller);
    done();
  });
  app.addHook('onRequestAbort', async ({ raw, caller }) => count(raw.socket, caller));
  app.websocketServer.on('connection', (socket, raw) => {
    const caller = socketCallers.get(raw);
    socket.on('message', () => {
      count(raw.socket, caller);
      if (caller !== undefined && meter.isUsedUp(caller)) socket.close(POLICY, 'QUOTA_EXCEEDED');
    });
    socket.on('close', () => count(raw.socket, caller));
  });
}
