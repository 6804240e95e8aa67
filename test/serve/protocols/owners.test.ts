// A session is its owner's alone, whatever the protocol: to others it is as unknown as one that never was.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../../src/core/canonical-json.js';
import type { RunningServer } from '../../../src/serve/index.js';
import { serveScenarios } from '../running-server.js';

let server: RunningServer;

beforeAll(async () => {
  const tokens = ['ann', 'bob'].map((owner) => ({
    owner,
    operator: false,
    quota: { sessions: 3 },
    sha256: sha256(`token-of-${owner}`),
  }));
  server = await serveScenarios(['pendulum'], { tokens });
});
afterAll(() => server.stop(0));

interface Ask {
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly method?: string;
}

/** `ann` shows her token in a header, `bob` as the clients of the Open Reward Standard do; anybody shows none. */
async function as(
  who: 'ann' | 'bob' | 'anybody',
  path: string,
  { body = {}, headers = {}, method = 'POST' }: Ask = {},
) {
  const shown: Record<string, string> = {
    ann: { authorization: 'Bearer token-of-ann' },
    bob: { 'x-api-key': 'token-of-bob' },
    anybody: {},
  }[who];
  const reply = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...shown,
      ...headers,
    },
    ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
  });
  return { status: reply.status, headers: reply.headers, text: await reply.text() };
}

describe("an id is its owner's own", () => {
  const open = (who: 'ann' | 'bob', id: string) => as(who, '/v1/sessions', { body: { id } });
  const reset = (who: 'ann' | 'bob', id: string, seed: number) =>
    as(who, `/v1/sessions/${id}/reset`, { body: { seed } });

  it("tells nobody of another's session, and keeps nobody from an id", async () => {
    expect((await open('ann', 'shared')).status).toBe(201);
    expect((await open('ann', 'shared')).status).toBe(409);
    expect((await open('bob', 'shared')).status).toBe(201);
    const [ann, bob] = [await reset('ann', 'shared', 1), await reset('bob', 'shared', 2)];
    expect(JSON.parse(ann.text).observation).not.toEqual(JSON.parse(bob.text).observation);
    expect((await as('bob', '/v1/sessions/shared', { method: 'DELETE' })).status).toBe(204);
    expect((await as('bob', '/v1/sessions/shared', { method: 'GET' })).status).toBe(410);
    expect(JSON.parse((await as('ann', '/v1/sessions/shared', { method: 'GET' })).text).seed).toBe(1);
    await as('ann', '/v1/sessions/shared', { method: 'DELETE' });
  });
});

describe("another's session is unknown", () => {
  it('in the Open Reward Standard', async () => {
    const headers = { 'x-session-id': 'mine' };
    expect((await as('ann', '/create', { body: { split: 'train', index: 0 }, headers })).status).toBe(200);
    const call = { name: 'step', input: { action: [0] } };
    const [, id] = /data: (\S+)/.exec((await as('ann', '/call', { body: call, headers })).text)!;
    for (const path of ['/ping', '/call']) expect((await as('bob', path, { body: call, headers })).status).toBe(404);
    expect((await as('bob', '/delete', { headers })).status).toBe(200);
    expect((await as('ann', '/call', { body: { ...call, task_id: id }, headers })).text).toContain('event: end');
    expect((await as('anybody', '/call', { body: call, headers })).status).toBe(401);
  });

  it('in MCP', async () => {
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } };
    const begun = await as('ann', '/mcp', { body: { jsonrpc: '2.0', id: 0, method: 'initialize', params } });
    const headers = { 'mcp-session-id': begun.headers.get('mcp-session-id')! };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    for (const path of ['/mcp', '/mcp/pendulum']) {
      expect((await as('bob', path, { body, headers })).status).toBe(404);
      expect((await as('bob', path, { method: 'DELETE', headers })).status).toBe(404);
      expect((await as('ann', path, { body, headers })).status).toBe(200);
      expect((await as('anybody', path, { body, headers })).status).toBe(401);
    }
  });

  it('in NeMo-Gym, whoever shows its cookie', async () => {
    const begun = await as('bob', '/nemo/pendulum/reset');
    const cookie = begun.headers.get('set-cookie')!.split(';')[0];
    const body = { response: { output: [{ type: 'message', content: '[0]' }] } };
    expect((await as('ann', '/nemo/pendulum/step', { body, headers: { cookie } })).status).toBe(404);
    expect((await as('bob', '/nemo/pendulum/step', { body, headers: { cookie } })).status).toBe(200);
    expect((await as('anybody', '/nemo/pendulum/step', { body, headers: { cookie } })).status).toBe(401);
  });
});
