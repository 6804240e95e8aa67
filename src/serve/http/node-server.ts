// The server that fastify's application listens on: node's own, held to our limits.

import { createServer, type RequestListener, type Server } from 'node:http';
import type { HttpLimits } from './http-limits.js';

/** Milliseconds until a connection is closed that nobody asks anything on; clients are told. */
const KEPT_ALIVE = 72_000;

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
