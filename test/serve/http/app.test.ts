import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Sessions } from '../../../src/serve/core/sessions.js';
import { makeApp } from '../../../src/serve/http/app.js';
import type { ProtocolRoutes } from '../../../src/serve/http/openapi.js';
import { HTTP_LIMITS } from '../../../src/serve/http/requests.js';
import { type FrameHandlers, serveFrames } from '../../../src/serve/http/sockets.js';
import { makeLog } from '../../../src/serve/observe/log.js';
import { recordingStream } from '../../run/streams.js';

const SECRET = 'what only the log may say';

/** Fails in every way a protocol can. */
const broken: ProtocolRoutes = {
  name: 'broken',
  reserved: ['broken'],
  register(app) {
    app.get('/broken/throws', () => {
      throw new Error(SECRET);
    });
    app.get('/broken/rejects', async () => Promise.reject(new TypeError(SECRET)));
    app.get('/broken/nothing', async () => Promise.reject(undefined));
    app.get('/broken/circle', () => {
      const circle: Record<string, unknown> = {};
      circle['self'] = circle;
      return circle;
    });
    app.get('/broken/frames', { websocket: true }, (socket, request) => {
      const handlers: FrameHandlers = {
        answer: async (text) => (text === 'fine' ? 'fine' : Promise.reject(new Error(SECRET))),
        failure: ({ code }) => code,
        left: () => Promise.reject(new Error('leaving failed')),
      };
      serveFrames(socket, request, handlers, HTTP_LIMITS);
    });
    app.get('/broken/socket', { websocket: true }, async () => Promise.reject(new Error(SECRET)));
  },
};

const environments = new Map([['pendulum', {}]]);
const sessions = { environments, list: () => [] } as unknown as Sessions;
const log = recordingStream();
let app: FastifyInstance;
let url: string;
const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);

beforeAll(async () => {
  process.on('unhandledRejection', note);
  const logger = makeLog({ to: log, level: 'info' });
  app = await makeApp({ sessions, protocols: [broken], version: '0', logger });
  await app.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await app.close();
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

describe('a protocol that fails', () => {
  it.each(['throws', 'rejects', 'circle'])('is answered for with a trace, and the log says why: %s', async (how) => {
    const reply = await fetch(`${url}/broken/${how}`, { headers: { 'x-request-id': `trace-${how}` } });
    const { error } = (await reply.json()) as { error: Record<string, unknown> };
    expect([reply.status, error.code, error.trace]).toEqual([500, 'SERVER_FAILED', `trace-${how}`]);
    expect(JSON.stringify(error)).not.toContain(SECRET);
    expect(log.text()).toMatch(new RegExp(`"level":"error".*"trace":"trace-${how}"`));
  });

  it('takes nobody else down', async () => {
    expect((await fetch(`${url}/broken/nothing`)).status).toBeGreaterThanOrEqual(200);
    const socket = new WebSocket(`${url.replace('http', 'ws')}/broken/socket`);
    await once(socket, 'close');
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'healthy' });
  });

  it('answers frames in their order, those that failed too', async () => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/broken/frames`);
    await once(socket, 'open');
    const answers: string[] = [];
    const all = new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        answers.push(String(data));
        if (answers.length === 3) resolve();
      });
    });
    for (const frame of ['fine', 'bad', 'fine']) socket.send(frame);
    await all;
    expect(answers).toEqual(['fine', 'SERVER_FAILED', 'fine']);
    socket.close();
    await once(socket, 'close');
  });
});
