// Who gets in: where a server listens, with which token, by which name, from whose pages.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { sha256 } from '../../../src/core/canonical-json.js';
import type { RunningServer } from '../../../src/serve/index.js';
import { serveScenarios } from '../running-server.js';
import { postJson, send } from './raw-client.js';

const ALICE = 'alice-0123456789abcdef';
const BOB = 'bob-0123456789abcdef';
const BOSS = 'boss-0123456789abcdef';
const entry = (owner: string, token: string, quota = {}) => {
  return { owner, operator: owner === 'boss', quota, sha256: sha256(token) };
};
const TOKENS = [entry('alice', ALICE, { sessions: 3 }), entry('bob', BOB), entry('boss', BOSS)];

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Status of the handshake's refusal, or 101. */
function handshake(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url.replace('http', 'ws'), { headers });
    socket.on('open', () => {
      resolve(101);
      socket.close();
    });
    socket.on('unexpected-response', (_request, reply) => {
      resolve(reply.statusCode!);
      reply.destroy();
    });
    socket.on('error', () => {});
  });
}

let open: RunningServer;
let closed: RunningServer;

beforeAll(async () => {
  open = await serveScenarios(['pendulum']);
  closed = await serveScenarios(['pendulum'], { tokens: TOKENS, allowHosts: ['Envs.Example.org'] });
});
afterAll(() => Promise.all([open.stop(0), closed.stop(0)]));

describe('an address that others reach', () => {
  it.each(['0.0.0.0', '::'])('%s is not listened on without tokens', async (host) => {
    await expect(serveScenarios(['pendulum'], { host })).rejects.toMatchObject({ code: 'ADDRESS_UNUSABLE' });
  });

  it('is listened on with them, and asked for them by whatever name', async () => {
    const server = await serveScenarios(['pendulum'], { host: '0.0.0.0', tokens: TOKENS });
    const headers = { host: 'envs.example.org' };
    expect((await send(`${server.url}/health`, { headers })).status).toBe(200);
    expect((await send(`${server.url}/v1/environments`, { headers })).status).toBe(401);
    expect((await send(`${server.url}/v1/environments`, { headers: { ...headers, ...bearer(BOB) } })).status).toBe(200);
    await server.stop(0);
  });
});

const ASKED = 'Bearer, Basic realm="Reverie"';

describe('a token', () => {
  it('is asked for on every route but the probes, before any other answer', async () => {
    const openRoutes = ['/health', '/ready'];
    const sockets = new Set(['/ws']);
    for (const { method, path } of closed.routes) {
      const url = `${closed.url}${path.replace(/:\w+/g, 'x').replace('*', 'x')}`;
      const { status, headers } = await send(url, { method });
      if (openRoutes.includes(path)) expect(status, path).toBe(200);
      else expect([method, path, status, headers['www-authenticate']]).toEqual([method, path, 401, ASKED]);
      if (sockets.has(path)) expect(await handshake(url, {})).toBe(401);
    }
    expect((await send(`${closed.url}/nothing`)).status).toBe(401);
  });

  it('that is wrong lets nobody in, and is not repeated', async () => {
    for (const token of [BOB.slice(0, -1), `${BOB}x`, sha256(BOB), 'x'.repeat(10_000)]) {
      const { status, body, text } = await send(`${closed.url}/v1/environments`, { headers: bearer(token) });
      expect([status, body.error.code]).toEqual([401, 'TOKEN_WRONG']);
      expect(text).not.toContain(token);
    }
  });

  it('is checked before the handshake of a WebSocket', async () => {
    expect(await handshake(`${closed.url}/ws`, {})).toBe(401);
    expect(await handshake(`${closed.url}/ws`, bearer('wrong'))).toBe(401);
    expect(await handshake(`${closed.url}/ws`, bearer(BOB))).toBe(101);
  });

  it('of an operator alone reads metrics', async () => {
    expect((await send(`${closed.url}/metrics`, { headers: bearer(BOB) })).body.error.code).toBe('OPERATOR_NEEDED');
    expect((await send(`${closed.url}/metrics`, { headers: bearer(BOSS) })).text).toContain('reverie_build_info');
  });

  it('hides sessions of others, as if they were not', async () => {
    const { body } = await postJson(`${closed.url}/v1/sessions`, { env: 'pendulum' }, bearer(ALICE));
    const guess = async (token: string, id: string) => {
      const { status, body: answer } = await postJson(`${closed.url}/v1/sessions/${id}/reset`, {}, bearer(token));
      return [status, answer.error?.message.replace(id, 'ID')];
    };
    expect(await guess(BOB, body.id)).toEqual([404, 'There is no session "ID".']);
    expect(await guess(BOB, body.id)).toEqual(await guess(BOB, 'never-was'));
    expect(await guess(ALICE, body.id)).toEqual([200, undefined]);
    const closing = await send(`${closed.url}/v1/sessions/${body.id}`, { method: 'DELETE', headers: bearer(BOB) });
    expect(closing.status).toBe(404);
  });

  it('has a quota that no flood gets past', async () => {
    const flood = await Promise.all(
      Array.from({ length: 40 }, () => postJson(`${closed.url}/v1/sessions`, {}, bearer(ALICE))),
    );
    const codes = flood.map(({ status, body }) => body.error?.code ?? status);
    expect(codes.filter((code) => code === 201).length).toBeLessThanOrEqual(3);
    expect(new Set(codes.filter((code) => code !== 201))).toEqual(new Set(['QUOTA_EXCEEDED']));
    expect(closed.sessions.list('alice')).toHaveLength(3);
    expect((await postJson(`${closed.url}/v1/sessions`, {}, bearer(BOB))).status).toBe(201);
  });
});

describe('a name that was rebound to this machine', () => {
  it.each(['evil.example', '127.0.0.1.evil.example', '169.254.169.254'])('%s is refused', async (host) => {
    const { status, body } = await send(`${open.url}/health`, { headers: { host } });
    expect([status, body.error.code]).toEqual([421, 'HOST_REFUSED']);
    expect(await handshake(`${open.url}/ws`, { host })).toBe(421);
  });

  it.each(['localhost', 'LOCALHOST:8000', '127.0.0.1', '[::1]:8000'])('%s is not', async (host) => {
    expect((await send(`${open.url}/health`, { headers: { host } })).status).toBe(200);
  });
});

describe('a page of another site', () => {
  it.each(['http://evil.example', 'null', 'http://localhost:3000', '*'])(
    '%s reads and changes nothing, and opens no WebSocket',
    async (origin) => {
      const post = await postJson(`${open.url}/v1/sessions`, {}, { origin });
      expect([post.status, post.body.error.code]).toEqual([403, 'ORIGIN_REFUSED']);
      expect((await send(`${open.url}/v1/environments`, { headers: { origin } })).status).toBe(403);
      expect(await handshake(`${open.url}/ws`, { origin })).toBe(403);
    },
  );

  it('is refused where the browser tells of it without an origin', async () => {
    const from = (site: string, mode: string) => {
      const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': mode };
      return send(`${open.url}/openapi.json`, { headers }).then(({ status }) => status);
    };
    expect(await from('cross-site', 'no-cors')).toBe(403);
    expect(await from('same-site', 'no-cors')).toBe(403);
    expect(await from('cross-site', 'navigate')).toBe(200);
    expect(await from('same-origin', 'cors')).toBe(200);
  });

  it('is let in from a host that the operator names', async () => {
    const headers = { origin: 'https://envs.example.org', ...bearer(BOB) };
    expect((await send(`${closed.url}/v1/environments`, { headers })).status).toBe(200);
    expect((await send(`${open.url}/health`, { headers: { origin: open.url } })).status).toBe(200);
  });
});
