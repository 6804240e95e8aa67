// The official SDK's client walks into environments, unmodified.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { loadAnyScenario } from '../../../../src/run/scenario.js';
import type { RunningServer } from '../../../../src/serve/index.js';
import { serveScenarios } from '../../running-server.js';
import { helpdeskReference } from '../reference-calls.js';

let server: RunningServer;
const clients: Client[] = [];

beforeAll(async () => {
  const short = await loadAnyScenario('pendulum', { set: ['env.maxEpisodeSteps=10'] });
  const desk = await loadAnyScenario('helpdesk', { set: ['user.varied=false'] });
  server = await serveScenarios([], { scenarios: [desk, short] });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(() => server.stop(0));

interface Connected {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  call(name: string, args: Record<string, unknown>): Promise<CallToolResult>;
}

async function connected(path: string): Promise<Connected> {
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}${path}`));
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  clients.push(client);
  const call = async (name: string, args: Record<string, unknown>) =>
    (await client.callTool({ name, arguments: args })) as CallToolResult;
  return { client, transport, call };
}

interface RpcError {
  readonly message: string;
  readonly data?: { readonly code: string };
}

/** Of JSON-RPC, or the server's own. */
async function errorOf(reply: Response): Promise<RpcError> {
  return ((await reply.json()) as { error: RpcError }).error;
}

function textsOf({ content }: CallToolResult): string[] {
  return content.map((block) => (block.type === 'text' ? block.text : ''));
}

describe('an environment of tools', () => {
  const { calls, say } = helpdeskReference('unlock-after-holiday');

  it.each(['/mcp', '/envs/helpdesk/mcp'])('is solved at %s', async (path) => {
    const { client, call } = await connected(`${path}?task=unlock-after-holiday&seed=1`);
    expect(client.getInstructions()).toContain('reverie://episode');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['get_employee', 'respond_to_user']));
    expect(server.sessions.counts.active).toBe(0);

    const { contents } = await client.readResource({ uri: 'reverie://episode' });
    const episode = JSON.parse((contents[0] as { text: string }).text);
    expect(episode).toMatchObject({ task: 'unlock-after-holiday', seed: 1, step_count: 0, status: 'running' });
    expect(episode.observation).toContain('Marta Teixeira');
    expect(server.sessions.counts.active).toBe(1);

    for (const { name, arguments: args } of calls) {
      const result = await call(name, args);
      expect(result).toMatchObject({ isError: false, _meta: { 'reverie/done': false, 'reverie/reward': 0 } });
    }
    const last = await call('respond_to_user', { content: say });
    expect(last._meta).toMatchObject({ 'reverie/done': true, 'reverie/reward': 1, 'reverie/return': 1 });
    expect(textsOf(last).at(-1)).toBe('The episode has ended.');
    expect(textsOf(last).join()).not.toContain('reward');

    const after = await call('get_employee', { employee_id: 'EMP-1042' });
    expect(after.isError).toBe(true);
    expect(textsOf(after)[0]).toContain('another session');
    await client.close();
  });

  it('says of a tool that is not there, and of arguments that break a schema, that they failed: a step each', async () => {
    const { call } = await connected('/mcp/helpdesk');
    expect(await call('no_such_tool', {})).toMatchObject({ isError: true, _meta: { 'reverie/step': 1 } });
    expect(await call('get_employee', { id: 1 })).toMatchObject({ isError: true, _meta: { 'reverie/step': 2 } });
    expect((await call('respond_to_user', { content: '' })).isError).toBe(true);
  });

  it('refuses what is no episode, and knows no other resource', async () => {
    const { client } = await connected('/mcp/helpdesk?split=train&index=1');
    const { contents } = await client.readResource({ uri: 'reverie://episode' });
    expect((contents[0] as { text: string }).text).toContain('Rui Fonseca');
    await expect(client.readResource({ uri: 'reverie://secrets' })).rejects.toThrow('There is no resource');
    await expect(connected('/mcp/helpdesk?split=train&index=-1')).rejects.toThrow('index: expected a whole number');
    const { open } = server.sessions.counts;
    const misspelled = connected('/mcp/helpdesk?task=unlock-after-holidays');
    await expect(misspelled).rejects.toThrow(/helpdesk.{1,3}has no task.*Did you mean .{1,3}unlock-after-holiday\W/);
    expect(server.sessions.counts.open).toBe(open);
  });
});

describe('an environment of numbers', () => {
  it('is stepped to its end', async () => {
    const { client, call } = await connected('/mcp/pendulum?split=train&index=7');
    const { tools } = await client.listTools();
    expect(tools[0].inputSchema.properties?.['action']).toMatchObject({ type: 'array', minItems: 1, maxItems: 1 });
    const { contents } = await client.readResource({ uri: 'reverie://episode' });
    const episode = JSON.parse((contents[0] as { text: string }).text);
    expect(episode.seed).toBe(7);
    expect(JSON.parse(episode.observation)).toHaveLength(3);
    let total = 0;
    let result = await call('step', { action: [0.5] });
    while (result._meta!['reverie/done'] === false) {
      total += result._meta!['reverie/reward'] as number;
      result = await call('step', { action: [0.5] });
    }
    total += result._meta!['reverie/reward'] as number;
    expect(result._meta).toMatchObject({ 'reverie/step': 10, 'reverie/truncated': true });
    expect(result._meta!['reverie/return']).toBeCloseTo(total, 8);
  });

  it.each([
    ['out of its space', [1e9]],
    ['of the wrong type', 'left'],
  ])('refuses an action %s, and nothing has happened', async (_, action) => {
    const { call } = await connected('/mcp/pendulum');
    expect(await call('step', { action })).toMatchObject({ isError: true });
    expect((await call('step', { action: [0] }))._meta).toMatchObject({ 'reverie/step': 1 });
  });
});

describe('a session', () => {
  const rpc = (body: unknown, headers: Record<string, string> = {}, path = '/mcp/pendulum', method = 'POST') =>
    fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      ...(method === 'POST' ? { body: typeof body === 'string' ? body : JSON.stringify(body) } : {}),
    });
  const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const INITIALIZE = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  };

  it('ends with DELETE, and is told apart from one that never was no more', async () => {
    const { transport, client } = await connected('/mcp/pendulum');
    await client.callTool({ name: 'step', arguments: { action: [0] } });
    const id = transport.sessionId!;
    expect(server.sessions.state(id, 'local').stepCount).toBe(1);
    await transport.terminateSession();
    expect(server.sessions.list('local').some((one) => one.id === id)).toBe(false);
    for (const session of [id, 'nobody']) expect((await rpc(LIST, { 'mcp-session-id': session })).status).toBe(404);
  });

  it('has a stream that the client may listen to', async () => {
    const { transport } = await connected('/mcp/pendulum');
    const headers = { 'mcp-session-id': transport.sessionId!, accept: 'text/event-stream' };
    // The client has opened the one stream there may be.
    expect((await rpc(undefined, headers, '/mcp/pendulum', 'GET')).status).toBe(409);
    await transport.terminateSession();
  });

  it.each([
    ['no session', LIST, '/mcp/pendulum', 422],
    ['an environment that is not served', INITIALIZE, '/mcp/nowhere', 404],
    ['a task that is not there', INITIALIZE, '/mcp/helpdesk?split=train&index=999', 400],
    ['a task that is not there, at the root', INITIALIZE, '/mcp?split=none', 400],
    ['a key of a prototype', '{"__proto__":{"method":"initialize"}}', '/mcp/pendulum', 422],
  ])('is not opened for %s', async (_, body, path, status) => {
    const before = server.sessions.counts.open;
    const reply = await rpc(body, {}, path);
    expect(reply.status).toBe(status);
    expect((await errorOf(reply)).message).toMatch(/\w/);
    expect(server.sessions.counts.open).toBe(before);
  });
});
