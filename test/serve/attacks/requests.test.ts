// Requests made to break the server that reads them: too deep, too large, too slow, packed, or poisoned.

import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { RunningServer } from '../../../src/serve/index.js';
import { serveScenarios } from '../running-server.js';
import { postJson, send, sendBytes } from './raw-client.js';

const LIMITS = { bodyBytes: 64 * 1024, headerSeconds: 0.5 };

let server: RunningServer;
let sessions: string;

beforeAll(async () => {
  server = await serveScenarios(['pendulum', 'helpdesk'], { httpLimits: LIMITS });
  sessions = `${server.url}/v1/sessions`;
});
afterAll(async () => {
  expect((await send(`${server.url}/health`)).body).toEqual({ status: 'healthy' });
  await server.stop(0);
});

/** The server closes with this code after `frames`. */
function closedWith(path: string, ...frames: readonly (string | Uint8Array)[]): Promise<number> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`);
    socket.on('open', () => {
      for (const frame of frames) socket.send(frame);
    });
    socket.on('error', () => {});
    socket.on('close', resolve);
  });
}

function answersTo(path: string, ...frames: readonly string[]): Promise<string[]> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`);
    const answers: string[] = [];
    socket.on('open', () => {
      for (const frame of frames) socket.send(frame);
    });
    socket.on('message', (data) => {
      answers.push(String(data));
      if (answers.length === frames.length) socket.close();
    });
    socket.on('close', () => resolve(answers));
  });
}

const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

describe('a body', () => {
  it('of 10,000 levels is refused by every route that reads one', async () => {
    for (const { method, path } of server.routes.filter((route) => route.method === 'POST')) {
      const url = `${server.url}${path.replace(/:env\w*/g, 'helpdesk').replace(/:\w+/g, 'x')}`;
      const { status, text } = await postJson(url, deep(10_000));
      expect([method, path, status < 500, text.length < 2000]).toEqual([method, path, true, true]);
    }
    const { body } = await postJson(sessions, deep(10_000));
    expect(body.error).toMatchObject({ code: 'REQUEST_INVALID', message: expect.stringContaining('64 levels') });
  });

  it('that is too large is refused, whether it says so or not', async () => {
    const { status, body } = await postJson(sessions, { env: 'x'.repeat(LIMITS.bodyBytes) });
    expect([status, body.error.code]).toEqual([413, 'BODY_TOO_LARGE']);
    const chunked = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    const large = await send(sessions, { method: 'POST', headers: chunked, body: 'x'.repeat(LIMITS.bodyBytes + 1) });
    expect(large.status).toBe(413);
  });

  it('that takes a backtracking reader minutes is answered', async () => {
    const evil = [
      `${' '.repeat(60_000)}x`,
      `"${'\\'.repeat(60_000)}`,
      '1'.repeat(60_000),
      `1${'0'.repeat(400)}e${'9'.repeat(60_000)}`,
    ];
    for (const body of evil) expect((await postJson(sessions, body)).status).toBe(422);
    for (const text of [`${'a'.repeat(30_000)}!`, '-'.repeat(30_000), `${'1.'.repeat(15_000)}`]) {
      expect((await postJson(sessions, { env: text, id: text })).status).toBeLessThan(500);
      expect(
        (await send(`${server.url}/v1/environments`, { headers: { 'x-request-id': text.slice(0, 8000) } })).status,
      ).toBe(200);
    }
  });
});

describe('a request', () => {
  it('of 10,000 header lines is refused', async () => {
    const lines = Array.from({ length: 10_000 }, (_, i) => `x-${i}: 1\r\n`).join('');
    expect(await sendBytes(server.url, `GET /health HTTP/1.1\r\nhost: localhost\r\n${lines}\r\n`)).toMatch(
      /^HTTP\/1.1 431 /,
    );
  });

  it.each(['/%', '/%zz', '/v1/sessions/%c0%ae%c0%ae', '/v1/sessions/\u0000', `/v1/sessions/${'x'.repeat(300)}`])(
    'of a path that cannot be read is answered: %j',
    async (path) => {
      const said = await sendBytes(server.url, `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      expect(said).toMatch(/^HTTP\/1.1 4\d\d /);
      expect(said).not.toContain('node_modules');
    },
  );

  it('that is sent a byte at a time is cut off', async () => {
    const said = await sendBytes(server.url, 'POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\nx-slow: ');
    expect(said === '' || said.startsWith('HTTP/1.1 408 ')).toBe(true);
    const body =
      'POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{';
    expect(await sendBytes(server.url, body)).toMatch(/^(HTTP\/1.1 408 |$)/);
  });

  it('smuggled behind another is not answered', async () => {
    const both =
      'POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 6\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n';
    const said = await sendBytes(server.url, both);
    expect(said).toMatch(/^HTTP\/1.1 400 /);
    expect(said).not.toContain('reverie_');
  });

  it('waits for nobody who took all connections and says nothing', async () => {
    const small = await serveScenarios(['pendulum'], { httpLimits: { connections: 8, silentSeconds: 1 } });
    const { hostname, port } = new URL(small.url);
    const held = Array.from({ length: 20 }, () => connect(Number(port), hostname).on('error', () => {}));
    let refused = 0;
    const all = held.map((socket) => once(socket, 'close').then(() => ++refused));
    await Promise.race(all.map((closed) => closed.then((count) => (count >= 12 ? count : new Promise(() => {})))));
    expect(held.filter(({ destroyed }) => !destroyed)).toHaveLength(8);
    await Promise.all(all);
    expect((await send(`${small.url}/health`)).status).toBe(200);
    await small.stop(0);
  });
});

describe('a frame', () => {
  it('that is too large closes its connection', async () => {
    expect(await closedWith('/ws', 'x'.repeat(LIMITS.bodyBytes + 1))).toBe(1009);
  });

  it('of 10,000 levels, of no JSON, or that reaches for a prototype is answered with an error', async () => {
    const frames = [
      deep(10_000),
      '{',
      '',
      'null',
      '[]',
      '{"__proto__":{"type":"reset"}}',
      '{"type":"reset","data":{"__proto__":{"seed":1}}}',
    ];
    const answers = await answersTo('/ws', ...frames);
    expect(answers.map((answer) => JSON.parse(answer).type)).toEqual(frames.map(() => 'error'));
  });

  it('does not wait in a queue without end', async () => {
    const flood = Array.from({ length: 5000 }, () => '{"type":"state"}');
    expect([1008, 1013]).toContain(await closedWith('/ws', ...flood));
  });
});
