import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Sessions } from '../../../../src/serve/core/sessions.js';
import { makeApp } from '../../../../src/serve/http/app.js';
import type { RunningServer } from '../../../../src/serve/index.js';
import { answerOfficialMcp, openEnvFacade } from '../../../../src/serve/protocols/openenv/openenv.js';
import { servedCounter } from '../../core/doubles.js';
import { serveScenarios } from '../../running-server.js';
import { helpdeskReference } from '../reference-calls.js';
import type { Reply } from './frames-client.js';

const IDENTITY = { employee_id: 'EMP-1042', badge_number: 'LK-41042' };

let server: RunningServer;

beforeAll(async () => {
  server = await serveScenarios(['helpdesk', 'pendulum']);
});
afterAll(() => server.stop(0));

const request = (method: string, params: object = {}, id: string | number = 1) => {
  return { jsonrpc: '2.0', id, method, params };
};

async function post(body: unknown, path = '/mcp'): Promise<Reply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(`${server.url}${path}`, { method: 'POST', body: text, headers });
  expect(reply.status).toBe(200);
  return reply.json();
}

describe('POST /mcp', () => {
  it('lists the tools with inputSchema', async () => {
    const { id, result } = await post(request('tools/list', {}, 'x'));
    expect(id).toBe('x');
    expect(result.tools).toHaveLength(19);
    expect(Object.keys(result.tools[0]).sort()).toEqual(['description', 'inputSchema', 'name']);
  });

  it('plays an episode in a session that is created and closed', async () => {
    const created = await post(request('openenv/session/create', { task: 'unlock-after-holiday' }));
    const { session_id } = created.result;
    expect(created.result.observation.user).toContain('Marta Teixeira');
    const { calls, say } = helpdeskReference('unlock-after-holiday');
    const turns = [...calls, { name: 'respond_to_user', arguments: { content: say } }];
    let last: Reply;
    for (const turn of turns) last = (await post(request('tools/call', { ...turn, session_id }))).result;
    expect(last).toMatchObject({
      content: [{ type: 'text', text: 'No, that is all. Thank you.' }],
      data: 'No, that is all. Thank you.',
      isError: false,
      _meta: { reward: 1, done: true, evaluation: { reward: 1 } },
    });
    const close = request('openenv/session/close', { session_id });
    expect((await post(close)).result).toEqual({ session_id, closed: true });
    expect((await post(close)).error).toMatchObject({ code: -32602, message: `Unknown session_id: ${session_id}` });
    expect(server.sessions.list()).toEqual([]);
  });

  it('calls a tool without a session in a new environment, and leaves none behind', async () => {
    const { result } = await post(request('tools/call', { name: 'verify_identity', arguments: IDENTITY }));
    expect(JSON.parse(result.data)).toEqual({ employee_id: 'EMP-1042', verified: true });
    expect(server.sessions.list()).toEqual([]);
  });

  it.each<[string, unknown, number]>([
    ['nothing', '', -32700],
    ['no JSON', '{', -32700],
    ['an empty object', {}, -32600],
    ['a list', [request('tools/list')], -32600],
    ['a further key', { ...request('tools/list'), extra: 1 }, -32600],
    ['an unknown method', request('toString'), -32601],
    ['no name', request('tools/call', { arguments: {} }), -32602],
    ['an unknown tool', request('tools/call', { name: 'nope' }), -32602],
    ['an unknown session', request('tools/call', { name: 'hand_over', session_id: 'none' }), -32602],
    ['no session', request('openenv/session/close'), -32602],
  ])('%s is an error of status 200', async (_what, body, code) => {
    expect(await post(body)).toMatchObject({ jsonrpc: '2.0', error: { code, message: expect.any(String) } });
  });

  it('a body too large is one too', async () => {
    expect(await post(`"${'x'.repeat(2 << 20)}"`)).toMatchObject({ error: { code: expect.any(Number) } });
  });

  it('an environment of numbers has one tool, as at /mcp/NAME: its step', async () => {
    const path = '/envs/pendulum/mcp';
    const { result } = await post(request('tools/list'), path);
    expect(result.tools).toMatchObject([{ name: 'step', inputSchema: { required: ['action'] } }]);
    const { session_id, observation } = (await post(request('openenv/session/create', { seed: 1 }), path)).result;
    expect(observation.metadata).toMatchObject({
      instructions: expect.stringContaining('until the episode ends'),
      values: observation.values,
    });
    const call = { name: 'step', arguments: { action: [0.5] }, session_id };
    const stepped = (await post(request('tools/call', call), path)).result;
    expect(JSON.parse(stepped.data)).toHaveLength(3);
    expect(stepped._meta).toMatchObject({ reward: expect.any(Number), done: false });
    const unknown = await post(request('tools/call', { ...call, name: 'steps' }), path);
    expect(unknown.error).toMatchObject({ code: -32602, message: 'Tool not found: steps' });
    await post(request('openenv/session/close', { session_id }), path);
  });
});

it('what speaks the official protocol is handed to whoever answers that', async () => {
  const sessions = new Sessions([servedCounter()]);
  const app = await makeApp({ sessions, version: '1', facades: [openEnvFacade] });
  answerOfficialMcp(sessions, (asked, _reply, { name }) => ({ official: name, body: asked.body }));
  const asked = async (payload: object, headers = {}) => {
    return (await app.inject({ method: 'POST', url: '/mcp', payload, headers })).json();
  };
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize' };
  expect(await asked(initialize)).toEqual({ official: 'counter', body: initialize });
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
  expect(await asked(list, { 'mcp-session-id': 'x' })).toMatchObject({ official: 'counter' });
  expect(await asked(list)).toMatchObject({ jsonrpc: '2.0', id: 2 });
  await sessions.drain(0);
  await app.close();
});
