// The port a server listens on. It is held before anything is loaded, so that one that is taken is known at once and
// clients learn that the server starts.

import { lookup } from 'node:dns/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, BlockList, isIPv6 } from 'node:net';
import { reverieError } from '../../core/errors.js';
import type { HttpLimits } from './requests.js';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6');

/**
 * Resolves a name once: it counts as loopback only if all its addresses do.
 * @throws ADDRESS_UNUSABLE
 */
export async function listenAddress(host: string, port: number) {
  const found = await lookup(host.replace(/^\[(.*)\]$/, '$1'), { all: true }).catch((error: NodeJS.ErrnoException) => {
    throw unusable(host, port, `no such address (${error.code})`, error);
  });
  const isLoopback = found.every(({ address, family }) => loopback.check(address, family === 6 ? 'ipv6' : 'ipv4'));
  return { address: found[0].address, isLoopback };
}

/** The URL by which this machine reaches a server; one that listens everywhere, on loopback. */
export function urlOf(address: string, port: number): string {
  const reached = { '0.0.0.0': '127.0.0.1', '::': '::1' }[address] ?? address;
  return `http://${isIPv6(reached) ? `[${reached}]` : reached}:${port}`;
}

function unusable(host: string, port: number, problem: string, cause: unknown) {
  const hint =
    'Give --host an address of this machine, such as 127.0.0.1 or 0.0.0.0, and --port one that is free, such as 0.';
  return reverieError(
    'ADDRESS_UNUSABLE',
    { problem: `Cannot listen on "${host}", port ${port}: ${problem}.`, hint },
    cause,
  );
}

/** By the codes of node. */
const LISTEN_PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'something listens there already',
  EACCES: 'not allowed',
  EADDRNOTAVAIL: 'no address of this machine',
};

/** Milliseconds until a connection is closed on which no request comes; clients are told. */
const KEPT_ALIVE = 72_000;

/** Node's own server, held to our limits. */
export function nodeServer(listener: RequestListener, limits: HttpLimits): Server {
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headerSeconds * 1000,
      requestTimeout: limits.headerSeconds * 2000,
      connectionsCheckingInterval: Math.min(limits.headerSeconds * 250, 5000),
      keepAliveTimeout: KEPT_ALIVE,
      keepAlive: true,
    },
    listener,
  );
  server.setTimeout(limits.silentSeconds * 1000);
  server.maxConnections = limits.connections;
  return server;
}

/** A port that is listened on; until a server takes it over, all that is asked is answered 503. */
export class HeldPort {
  private listener: RequestListener = answerStarting;

  private constructor(
    readonly address: string,
    readonly isLoopback: boolean,
    readonly server: Server,
  ) {}

  /** @param port  0: a free one @throws ADDRESS_UNUSABLE */
  static async hold(host: string, port: number, hasTokens: boolean, limits: HttpLimits): Promise<HeldPort> {
    const { address, isLoopback } = await listenAddress(host, port);
    if (!isLoopback && !hasTokens)
      throw reverieError('ADDRESS_UNUSABLE', {
        problem: `Not listening on "${host}" (${address}) without tokens: anyone who reaches that address could use the server.`,
        hint: 'Give --token-file FILE or set REVERIE_TOKEN; or listen on 127.0.0.1, which only this machine reaches.',
      });
    const server = nodeServer((request, response) => held.listener(request, response), limits);
    const held = new HeldPort(address, isLoopback, server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        const problem = LISTEN_PROBLEMS[error.code ?? ''];
        reject(problem === undefined ? error : unusable(host, port, problem, error));
      });
      server.listen({ host: address, port }, resolve);
    });
    return held;
  }

  /** By which this machine reaches it. */
  get url(): string {
    return urlOf(this.address, (this.server.address() as AddressInfo).port);
  }

  /** From here on requests are for `listener`. */
  handOver(listener: RequestListener): void {
    this.listener = listener;
  }

  /** Resolves once the last connection is closed; those that are idle are at once. */
  close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeIdleConnections();
    return closed;
  }
}

/** To probes what they ask, to all others that they are early. Nothing of a request is looked at but its path. */
function answerStarting({ url = '' }: { readonly url?: string }, response: Parameters<RequestListener>[1]): void {
  const isHealth = url.split('?', 1)[0] === '/health';
  const { code, message, hint, status } = reverieError('SERVER_STARTING');
  const early = url.split('?', 1)[0] === '/ready' ? { status: 'starting' } : { error: { code, message, hint } };
  const headers = { 'content-type': 'application/json; charset=utf-8', connection: 'close' };
  if (isHealth) response.writeHead(200, headers).end(JSON.stringify({ status: 'healthy' }));
  else
    response
      .writeHead(status, { ...headers, 'retry-after': '1', 'x-backend-state': 'starting' })
      .end(JSON.stringify(early));
}
