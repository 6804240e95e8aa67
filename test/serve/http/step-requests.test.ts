// Requests for a step as clients, proxies and attackers write them: each is answered with its status, logged and counted,
// and the server goes on.

import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../../src/core/canonical-json.js';
import { makeLog, type RunningServer } from '../../../src/serve/index.js';
import { type RecordingStream, recordingStream } from '../../run/streams.js';
import { send } from '../attacks/raw-client.js';
import { serveScenarios } from '../running-server.js';
import { exchange } from './raw-exchange.js';
import { bytesOf, FEW, LIMITS, REQUESTS, REQUESTS_WITH_TOKENS, stepOf, TOKEN } from './step-requests.js';

async function ask({ url }: RunningServer, path: string, body: unknown, token?: string) {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const { status } = await send(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(status, path).toBeLessThan(300);
}

async function open(server: RunningServer, id: string, token?: string, env = 'pendulum'): Promise<void> {
  await ask(server, '/v1/sessions', { id, env }, token);
  if (id !== 'fresh') await ask(server, `/v1/sessions/${id}/reset`, { seed: 1, episode_id: `of ${id}` }, token);
}

/** Statuses of all answers on one connection. 100, which lets a client go on, is none. */
function statusesIn(said: string): number[] {
  return [...said.matchAll(/HTTP\/1\.1 (?!100)(\d{3}) /g)].map(([, status]) => Number(status));
}

const TOKENS = [
  { owner: 'alice', operator: true, quota: { stepsPerMinute: 1e9 }, sha256: sha256(TOKEN) },
  { owner: 'few', operator: false, quota: { stepsPerMinute: 2 }, sha256: sha256(FEW) },
];

describe.each([
  { who: 'whoever reaches it', requests: REQUESTS, tokens: undefined },
  { who: 'those with a token', requests: REQUESTS_WITH_TOKENS, tokens: TOKENS },
])('a server for $who', ({ requests, tokens }) => {
  let server: RunningServer;
  let log: RecordingStream;
  beforeAll(async () => {
    log = recordingStream();
    const logger = makeLog({ to: log, level: 'info' });
    server = await serveScenarios(['pendulum', 'helpdesk'], { httpLimits: LIMITS, logger, tokens });
    if (tokens !== undefined) {
      await open(server, 'arm', TOKEN);
      await open(server, 'spare', FEW);
      return;
    }
    for (const id of ['arm', 'Leg_2-b', 'a.b', 'fresh', 'over', 'gone']) await open(server, id);
    await open(server, 'desk', undefined, 'helpdesk');
    for (let i = 0; i < 200; i++) await ask(server, stepOf('over'), { action: [0] });
    await send(`${server.url}/v1/sessions/gone`, { method: 'DELETE' });
  });
  afterAll(() => server.stop(0));

  it.each(requests)('answers $status: $name', async ({ status, name: _, ...sent }) => {
    expect(statusesIn(await exchange(server.url, sent))).toEqual(status);
  });

  it('has logged and counted each that came with a whole head', async () => {
    const logged = log
      .text()
      .split('\n')
      .filter((line) => line.includes('"msg":"request"'));
    const answers = requests.flatMap(({ status }) => status);
    expect(logged.length).toBeGreaterThan(answers.length * 0.9);
    expect(await server.metrics.text()).toMatch(/route="\/v1\/sessions\/:id\/step",status="200"\} [1-9]/);
  });
});

it('goes on while a server drains, and ends with it', async () => {
  const server = await serveScenarios(['pendulum']);
  await open(server, 'arm');
  const draining = server.stop(60);
  const meanwhile = await exchange(server.url, { parts: [bytesOf()], answers: 1 });
  // Connections with a request under way are not closed with the others.
  const late = await exchange(server.url, {
    parts: [bytesOf().slice(0, 40), bytesOf().slice(40)],
    between: async () => {
      await send(`${server.url}/v1/sessions/arm`, { method: 'DELETE' });
      await wait(50);
    },
  });
  await draining;
  expect([meanwhile, late].map(statusesIn)).toEqual([[200], [503]]);
});
