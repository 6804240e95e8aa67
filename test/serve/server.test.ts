import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { sha256 } from '../../src/core/canonical-json.js';
import { HeldPort } from '../../src/serve/http/port.js';
import { HTTP_LIMITS } from '../../src/serve/http/requests.js';
import type { RunningServer } from '../../src/serve/index.js';
import { temporaryFolder } from '../temporary-folder.js';
import { ask, serveScenarios } from './running-server.js';

let server: RunningServer | undefined;
afterEach(async () => {
  await server?.stop(0);
  server = undefined;
});

async function openedSocket(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url.replace('http', 'ws'));
  await once(socket, 'open');
  return socket;
}

async function playing({ url }: RunningServer): Promise<string> {
  const { body } = await ask(`${url}/v1/sessions`, {});
  await ask(`${url}/v1/sessions/${body.id}/reset`, {});
  return `${url}/v1/sessions/${body.id}`;
}

describe('a server that stops', () => {
  it('is not ready, takes no new sessions, and waits for those that are there', async () => {
    server = await serveScenarios(['pendulum']);
    const { url } = server;
    expect(await ask(`${url}/ready`)).toEqual({ status: 200, body: { status: 'ready' } });
    const session = await playing(server);
    const stopped = server.stop(60);
    expect(await ask(`${url}/ready`)).toEqual({ status: 503, body: { status: 'draining' } });
    expect((await ask(`${url}/health`)).status).toBe(200);
    expect((await ask(`${url}/v1/sessions`, {})).body.error.code).toBe('SERVER_DRAINING');
    expect((await ask(`${session}/step`, { action: [0] })).status).toBe(200);
    await ask(session, undefined, 'DELETE');
    await stopped;
    await expect(fetch(`${url}/health`)).rejects.toThrow();
  });

  it('closes WebSockets with 1001, also those of clients that never say goodbye', async () => {
    server = await serveScenarios(['pendulum']);
    const polite = await openedSocket(`${server.url}/ws`);
    const rude = await openedSocket(`${server.url}/ws`);
    rude.pause();
    const [[code]] = await Promise.all([once(polite, 'close'), server.stop(0)]);
    expect(code).toBe(1001);
    rude.terminate();
  });
});

describe('a server that is told what to serve', () => {
  it('serves scenarios by the names that they are given', async () => {
    server = await serveScenarios(['pendulum', 'pendulum'], { names: ['one', undefined] });
    expect([...server.sessions.environments.keys()]).toEqual(['one', 'pendulum']);
    const { body } = await ask(`${server.url}/v1/sessions`, { env: 'one' });
    expect(body.env).toBe('one');
  });

  it.each([
    [{ names: ['a', 'a'] }, 'ENV_NAME_INVALID'],
    [{ names: ['v1', 'c'] }, 'ENV_NAME_INVALID'],
    [{ names: ['health', 'c'] }, 'ENV_NAME_INVALID'],
    [{ real: true, model: 'runs/x' }, 'FLAG_INVALID'],
    [{ device: { device: 'simd' as const } }, 'FLAG_INVALID'],
    [{ host: 'nowhere.invalid' }, 'ADDRESS_UNUSABLE'],
    [
      { host: '192.0.2.1', tokens: [{ owner: 'a', operator: false, quota: {}, sha256: '0'.repeat(64) }] },
      'ADDRESS_UNUSABLE',
    ],
  ])('refuses %j', async (options, code) => {
    await expect(serveScenarios(['pendulum', 'cartpole-swingup'], options)).rejects.toMatchObject({ code });
  });
});

describe('a server that has no room now', () => {
  const retry = async (url: string, body: object) => {
    const headers = { 'content-type': 'application/json', authorization: 'Bearer alice-0123456789abcdef' };
    const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    const { error } = (await reply.json()) as { error: { code: string } };
    return [reply.status, error.code, Number(reply.headers.get('retry-after'))];
  };

  it.each([true, false])('says of its sessions at its end what becomes of them (kept: %s)', async (isKept) => {
    const persist = isKept ? temporaryFolder('kept') : undefined;
    server = await serveScenarios(['pendulum'], { persist });
    const session = await playing(server);
    await server.sessions.drain(0);
    const answer = isKept ? [503, 'SERVER_DRAINING', 5] : [410, 'SESSION_GONE', 0];
    expect(await retry(`${session}/step`, { action: [0] })).toEqual(answer);
  });

  it('says when to ask again', async () => {
    const alice = { owner: 'alice', operator: false, sha256: sha256('alice-0123456789abcdef') };
    const tokens = [{ ...alice, quota: { stepsPerMinute: 6 } }];
    const limits = { slots: 1, slotWaitSeconds: 0 };
    server = await serveScenarios(['pendulum'], { tokens, limits });
    for (const id of ['one', 'two']) await retry(`${server.url}/v1/sessions`, { id }).catch(() => {});
    await retry(`${server.url}/v1/sessions/one/reset`, {}).catch(() => {});
    for (const path of ['/v1/sessions/two/reset', '/reset', '/nemo/pendulum/reset']) {
      expect(await retry(`${server.url}${path}`, {}), path).toEqual([503, 'CAPACITY_REACHED', 2]);
    }
    const step = () => retry(`${server!.url}/v1/sessions/one/step`, { action: [0] });
    for (let i = 0; i < 6; i++) await step().catch(() => {});
    expect(await step()).toEqual([429, 'QUOTA_EXCEEDED', 10]);
  });
});

describe('a server that starts', () => {
  it('holds its port first, and says that it starts until all is open', async () => {
    const held = await HeldPort.hold('127.0.0.1', 0, false, HTTP_LIMITS);
    const { url } = held;
    expect(await ask(`${url}/health`)).toEqual({ status: 200, body: { status: 'healthy' } });
    expect(await ask(`${url}/ready`)).toEqual({ status: 503, body: { status: 'starting' } });
    expect(await ask(`${url}/v1/sessions`, {})).toMatchObject({
      status: 503,
      body: { error: { code: 'SERVER_STARTING' } },
    });
    server = await serveScenarios(['pendulum'], { held });
    expect(server.url).toBe(url);
    expect(await ask(`${url}/ready`)).toEqual({ status: 200, body: { status: 'ready' } });
  });

  it('lets its port go where something cannot be opened', async () => {
    const held = await HeldPort.hold('127.0.0.1', 0, false, HTTP_LIMITS);
    const { url } = held;
    await expect(serveScenarios(['pendulum', 'pendulum'], { held })).rejects.toMatchObject({
      code: 'ENV_NAME_INVALID',
    });
    await expect(fetch(`${url}/health`)).rejects.toThrow();
  });

  it('tells addresses that work as they stand', async () => {
    server = await serveScenarios(['pendulum', 'cellar']);
    const of = (name: string) => server!.endpoints.filter(({ protocol }) => protocol === name);
    expect(of('nemo').map(({ env }) => env)).toEqual(['pendulum', 'cellar']);
    for (const { url } of of('nemo')) expect((await ask(`${url}/reset`, {})).status, url).toBe(200);
    expect(of('ors')[0].variables).toEqual(['OPENREWARD_API_URL', 'OPENREWARD_SESSION_URL']);
  });
});

it('refuses an action in the words of the wire', async () => {
  server = await serveScenarios(['pendulum']);
  const session = await playing(server);
  const { body } = await ask(`${session}/step`, { action: [99] });
  expect(body.error.message).toContain('[99]');
  expect(JSON.stringify(body)).not.toMatch(/Float32Array|\(\)/);
});
