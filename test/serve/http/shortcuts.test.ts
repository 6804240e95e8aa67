// Whichever way a request takes, it gets the same answer to the letter, and the same is written down and counted of it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Shortcuts } from '../../../src/serve/http/shortcuts.js';
import { hashOfToken } from '../../../src/serve/http/tokens.js';
import { makeLog, type RunningServer, type ServeOptions } from '../../../src/serve/index.js';
import { type RecordingStream, recordingStream } from '../../run/streams.js';
import { send } from '../attacks/raw-client.js';
import { serveScenarios } from '../running-server.js';
import { exchange } from './raw-exchange.js';
import { bytesOf, FEW, LIMITS, REQUESTS, REQUESTS_WITH_TOKENS, stepOf, TOKEN } from './shortcut-requests.js';

interface Side {
  readonly server: RunningServer;
  readonly log: RecordingStream;
  /** Requests that came, and those of them that went to fastify. */
  readonly count: { came: number; usual: number };
}

async function side(shortcuts: boolean, options: Partial<ServeOptions> = {}): Promise<Side> {
  const count = { came: 0, usual: 0 };
  const { listener } = Shortcuts.prototype;
  const spy = vi.spyOn(Shortcuts.prototype, 'listener').mockImplementationOnce(function (this: Shortcuts, usual) {
    const listen = listener.call(this, (request, response) => {
      count.usual++;
      usual(request, response);
    });
    return (request, response) => {
      count.came++;
      listen(request, response);
    };
  });
  const log = recordingStream();
  const logger = makeLog({ to: log, level: 'info' });
  const server = await serveScenarios(['pendulum', 'helpdesk'], { httpLimits: LIMITS, logger, shortcuts, ...options });
  spy.mockRestore();
  return { server, log, count };
}

async function ask({ server }: Side, path: string, body: unknown, token?: string) {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const { status } = await send(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(status, path).toBeLessThan(300);
}

async function open(one: Side, id: string, token?: string, env = 'pendulum'): Promise<void> {
  await ask(one, '/v1/sessions', { id, env }, token);
  if (id !== 'fresh') await ask(one, `/v1/sessions/${id}/reset`, { seed: 1, episode_id: `of ${id}` }, token);
}

/** What is counted, without how long it took and what the process is. */
async function counts({ server }: Side): Promise<string[]> {
  const text = await server.metrics.text();
  return text
    .split('\n')
    .filter((line) => /^reverie_(http_requests|steps|failures|http_request_seconds_count)/.test(line))
    .sort();
}

/** What is logged of requests, without how long they took and the ids that are made up. */
function logLines({ log }: Side): unknown[] {
  const lines = log.text().trim().split('\n');
  const requests = lines
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg !== undefined && !msg.startsWith('Server'));
  return requests.map(({ time: _, ms, trace, ...rest }) => ({ ...rest, ms: typeof ms, trace: trace === 'mine' }));
}

/** How many requests were answered past fastify. */
const shortened = ({ count: { came, usual } }: Side) => came - usual;

describe.each([
  { who: 'whoever reaches it', requests: REQUESTS, options: {} },
  {
    who: 'those with a token',
    requests: REQUESTS_WITH_TOKENS,
    options: {
      tokens: [
        { owner: 'alice', operator: true, quota: { bytesPerMinute: 1e9 }, sha256: hashOfToken(TOKEN) },
        { owner: 'few', operator: false, quota: { stepsPerMinute: 2 }, sha256: hashOfToken(FEW) },
      ],
    },
  },
])('a server for $who', ({ requests, options }) => {
  let short: Side;
  let usual: Side;
  beforeAll(async () => {
    [short, usual] = [await side(true, options), await side(false, options)];
    for (const one of [short, usual]) {
      if (requests === REQUESTS_WITH_TOKENS) {
        await open(one, 'arm', TOKEN);
        await open(one, 'spare', FEW);
        continue;
      }
      for (const id of ['arm', 'Leg_2-b', 'a.b', 'fresh', 'over', 'gone']) await open(one, id);
      await open(one, 'desk', undefined, 'helpdesk');
      for (let i = 0; i < 200; i++) await ask(one, stepOf('over'), { action: [0] });
      await send(`${one.server.url}/v1/sessions/gone`, { method: 'DELETE' });
    }
  });
  afterAll(() => Promise.all([short.server.stop(0), usual.server.stop(0)]));

  it.each(requests)('answers both ways alike: $name', async ({ shortcuts, ...sent }) => {
    const before = shortened(short);
    const [one, other] = await Promise.all([exchange(short.server.url, sent), exchange(usual.server.url, sent)]);
    expect(one).toBe(other);
    if (sent.answers !== 0) expect(one).toMatch(/^HTTP\/1\.1 \d/);
    if (shortcuts !== undefined) expect(shortened(short) - before, 'answered past fastify').toBe(shortcuts);
    expect(shortened(usual)).toBe(0);
  });

  it('logs and counts both ways alike', async () => {
    expect(logLines(short)).toEqual(logLines(usual));
    expect(logLines(short).length).toBeGreaterThan(requests.length);
    expect(await counts(short)).toEqual(await counts(usual));
    expect((await counts(short)).join('\n')).toMatch(/route="\/v1\/sessions\/:id\/step",status="200"\} [1-9]/);
  });
});

it('knows browsers that showed a token, and not their pages of other sites', async () => {
  const short = await side(true, {
    tokens: [{ owner: 'alice', operator: false, quota: {}, sha256: hashOfToken(TOKEN) }],
  });
  await open(short, 'arm', TOKEN);
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  const login = await send(`${short.server.url}/login`, { method: 'POST', headers: type, body: `token=${TOKEN}` });
  const [Cookie] = login.headers['set-cookie']![0].split(';');
  const statusOf = async (headers: Record<string, string>) => {
    const said = await exchange(short.server.url, {
      parts: [bytesOf({ headers: { Cookie, ...headers } })],
      answers: 1,
    });
    return said.slice(9, 12);
  };
  const before = shortened(short);
  expect([await statusOf({}), shortened(short) - before]).toEqual(['200', 1]);
  expect([await statusOf({ Origin: 'http://evil.example' }), shortened(short) - before]).toEqual(['403', 1]);
  await short.server.stop(0);
});

it('writes sessions down before it answers where they are kept', async () => {
  const persist = mkdtempSync(join(tmpdir(), 'reverie-shortcuts-'));
  const short = await side(true, { persist });
  await open(short, 'arm');
  const said = await exchange(short.server.url, { parts: [bytesOf()], answers: 1 });
  expect([said.slice(9, 12), shortened(short)]).toEqual(['200', 0]);
  await short.server.stop(0);
  rmSync(persist, { recursive: true });
});

it('answers nothing where the connection broke, and says so in the log', async () => {
  const [short, usual] = [await side(true), await side(false)];
  await open(short, 'arm');
  await open(usual, 'arm');
  const garbage = { parts: [`${bytesOf()}}}}}`] };
  const said = await exchange(short.server.url, garbage);
  expect(said).toMatch(/^HTTP\/1\.1 400 Bad Request/);
  expect(said).toBe(await exchange(usual.server.url, garbage));
  expect([shortened(short), logLines(short).at(-1)]).toEqual([1, expect.objectContaining({ status: 499 })]);
  await Promise.all([short.server.stop(0), usual.server.stop(0)]);
});

it('goes on while a server drains, and ends with it', async () => {
  const [short, usual] = [await side(true), await side(false)];
  const drained = async (one: Side) => {
    const { url } = one.server;
    await open(one, 'arm');
    const draining = one.server.stop(60);
    const meanwhile = await exchange(url, { parts: [bytesOf()], answers: 1 });
    // Connections with a request under way are not closed with the others.
    const late = await exchange(url, {
      parts: [bytesOf().slice(0, 40), bytesOf().slice(40)],
      between: async () => {
        await send(`${url}/v1/sessions/arm`, { method: 'DELETE' });
        await wait(50);
      },
    });
    await draining;
    return [meanwhile, late];
  };
  const [said, expected] = await Promise.all([drained(short), drained(usual)]);
  expect(said).toEqual(expected);
  expect(said.map((one) => one.slice(9, 12))).toEqual(['200', '503']);
  expect(shortened(short)).toBe(1);
});
