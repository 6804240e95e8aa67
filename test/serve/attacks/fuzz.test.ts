// Noise on every route and both kinds of sockets: the server answers it or hangs up, and lives.

import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Rng } from '../../../src/core/rng.js';
import type { RunningServer } from '../../../src/serve/index.js';
import { serveScenarios } from '../running-server.js';
import { send } from './raw-client.js';

const ROUNDS = 1;
const FRAMES = 80;
/** Bytes; a leak of one body for each request would be far more. */
const GROWTH = 200 << 20;

const SEEDS = [
  '{"env":"pendulum"}',
  '{"seed":1,"split":"train","index":0}',
  '{"action":[0.5],"request_id":"a"}',
  '{"type":"reset","data":{"seed":1}}',
  '{"type":"step","data":{"type":"call_tool","tool_name":"x","arguments":{}}}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}',
  '{"id":0,"action":"look"}',
  '{"task_spec":{"split":"train","index":0}}',
];
const TWISTS = ['\u0000', '1e999', '-1', '9007199254740993', '""', 'null', '[]', '"\\ud800"', '\ufeff', '[[[[', '💥'];

const rng = Rng.fromSeed(7).split('fuzz');
const below = (n: number) => Math.floor(rng.uniform() * n);

/** A text with some of it repeated, cut, swapped for something odd, or turned into noise. */
function mutated(text: string): string {
  let out = text;
  for (let i = 0; i <= below(4); i++) {
    const from = below(out.length + 1);
    const to = Math.min(out.length, from + below(8));
    const twist = [
      TWISTS[below(TWISTS.length)],
      out.slice(from, to).repeat(below(20)),
      '',
      String.fromCharCode(below(65_536)),
    ];
    out = out.slice(0, from) + twist[below(twist.length)] + out.slice(to);
  }
  return out;
}

const noise = (length: number) => Uint8Array.from({ length }, () => below(256));

let server: RunningServer;
const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);

beforeAll(async () => {
  process.on('unhandledRejection', note);
  server = await serveScenarios(['pendulum', 'helpdesk'], { httpLimits: { bodyBytes: 64 * 1024, headerSeconds: 0.5 } });
});
afterAll(async () => {
  await server.stop(0);
  process.off('unhandledRejection', note);
});

async function isAlive(): Promise<void> {
  expect((await send(`${server.url}/health`)).body).toEqual({ status: 'healthy' });
  expect(unhandled).toEqual([]);
}

describe('noise', () => {
  it('on every route never makes it fail', async () => {
    for (const { method, path } of server.routes) {
      if (path.endsWith('/events') || path === '/mcp/sse') continue;
      for (let round = 0; round < ROUNDS; round++) {
        const url = `${server.url}${path.replace(/:env\w*/g, ['helpdesk', 'pendulum', 'x'][below(3)]).replace(/:\w+|\*/g, () => encodeURIComponent(String.fromCharCode(33 + below(90)).repeat(1 + below(30))))}`;
        const body = method === 'GET' || method === 'HEAD' ? undefined : mutated(SEEDS[below(SEEDS.length)]);
        const headers = {
          'content-type': 'application/json',
          ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
        };
        const { status, text } = await send(url, { method, headers, body });
        expect([method, path, body, status === 500 ? text : 'answered']).toEqual([method, path, body, 'answered']);
      }
    }
    await isAlive();
  });

  it('on a WebSocket is answered, or closes it, and fills no memory', async () => {
    const paths = ['/ws', '/envs/helpdesk/ws'];
    global.gc?.();
    const before = process.memoryUsage().rss;
    for (const path of paths) {
      for (let sent = 0; sent < FRAMES; ) {
        const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`);
        const closed = new Promise((resolve) => socket.on('close', resolve).on('error', resolve));
        const opened = await Promise.race([once(socket, 'open').then(() => true), closed.then(() => false)]);
        for (; opened && socket.readyState === socket.OPEN && sent < FRAMES; sent++) {
          const isNoise = below(20) === 0;
          socket.send(isNoise ? noise(below(500)) : mutated(SEEDS[below(SEEDS.length)]));
          await Promise.race([
            once(socket, 'message').catch(() => {}),
            closed,
            new Promise((resolve) => setTimeout(resolve, 20)),
          ]);
        }
        if (!opened) break;
        socket.terminate();
        await closed;
      }
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(GROWTH);
    await isAlive();
  });
});
