// A proxy in front of a server that loses answers: the request gets through, and the connection is cut before the answer does.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FlakyProxy {
  readonly url: string;
  /** Answers that were lost. */
  readonly lost: () => number;
  close(): Promise<void>;
}

/** @param loses whether the answer to the n-th request (from 1) of this path is lost */
export async function flakyProxy(target: string, loses: (path: string, n: number) => boolean): Promise<FlakyProxy> {
  const asked = new Map<string, number>();
  let lost = 0;
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url!;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const type = request.headers['content-type'];
    const answer = await fetch(`${target}${path}`, {
      method: request.method,
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
      headers: type === undefined ? {} : { 'content-type': type },
    });
    const text = await answer.text();
    const n = (asked.get(path) ?? 0) + 1;
    asked.set(path, n);
    if (loses(path, n)) {
      lost++;
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
  };
  const server = await listening((request, response) => void pass(request, response));
  return { url: urlOf(server), lost: () => lost, close: () => closed(server) };
}

/** A server that answers everything as `answer` does. */
export async function toyServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = await listening(answer);
  return { url: urlOf(server), close: () => closed(server) };
}

function listening(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server> {
  const server = createServer(answer);
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
