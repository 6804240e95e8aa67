// A client without manners: any header, any byte, and what the server does with its connection.

import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what came over the wire
  readonly body: any;
}

export interface RawRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
}

/** Sends a request as it is; follows nothing, adds nothing but Host and a length. */
export function send(url: string, { method = 'GET', headers = {}, body }: RawRequest = {}): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on('data', (chunk: Buffer) => chunks.push(chunk));
      reply.on('error', reject);
      reply.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const isJson = (reply.headers['content-type'] ?? '').includes('json');
        resolve({
          status: reply.statusCode!,
          headers: reply.headers,
          text,
          body: isJson && text !== '' ? JSON.parse(text) : undefined,
        });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

export function postJson(url: string, body: unknown, headers: Record<string, string> = {}): Promise<RawAnswer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return send(url, { method: 'POST', body: text, headers: { 'content-type': 'application/json', ...headers } });
}

/** Writes bytes to the server's port; resolves with all it said once it has closed the connection. */
export function sendBytes(url: string, ...parts: readonly (string | Uint8Array)[]): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => {});
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
    for (const part of parts) socket.write(part);
  });
}
