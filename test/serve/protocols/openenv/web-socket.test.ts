// Section by section what the reference server promises over /ws (OpenEnv 0.3, core/env_server/http_server.py), and what we
// do better.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../../../src/serve/index.js';
import { serveScenarios } from '../../running-server.js';
import { helpdeskReference } from '../reference-calls.js';
import { FramesClient, type Reply } from './frames-client.js';

const TASK = 'unlock-after-holiday';

let server: RunningServer;
const clients: FramesClient[] = [];

beforeAll(async () => {
  server = await serveScenarios(['pendulum', 'helpdesk', 'cellar']);
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.leave()));
});
afterAll(() => server.stop(0));

async function connected(prefix = ''): Promise<FramesClient> {
  const client = await FramesClient.connect(`${server.url}${prefix}`);
  clients.push(client);
  return client;
}

const call = (tool_name: string, given: object) => {
  return { type: 'step', data: { type: 'call_tool', tool_name, arguments: given } };
};

describe('an episode of numbers', () => {
  it('ends by the clock, its rewards sum to the return, and the same seed gives the same', async () => {
    const episode = async () => {
      const client = await connected();
      const replies = [await client.ask({ type: 'reset', data: { seed: 3, episode_id: 'mine' } })];
      for (let i = 0; i < 200; i++) replies.push(await client.ask({ type: 'step', data: { values: [0.5] } }));
      return { replies: replies.map(({ data }) => data), state: (await client.ask({ type: 'state' })).data };
    };
    const { replies, state } = await episode();
    const values = [expect.any(Number), expect.any(Number), expect.any(Number)];
    expect(replies[0]).toEqual({
      observation: { values },
      reward: null,
      done: false,
    });
    expect(replies[200]).toMatchObject({ done: true, observation: { ended: 'truncated' } });
    expect(replies.slice(0, -1).every(({ done, observation }) => !done && !('ended' in observation))).toBe(true);
    const sum = replies.slice(1).reduce((total: number, { reward }: Reply) => total + reward, 0);
    expect(state).toMatchObject({ episode_id: 'mine', step_count: 200, status: 'done', env: 'pendulum', seed: 3 });
    expect(state.return).toBeCloseTo(sum, 9);
    expect((await episode()).replies).toEqual(replies);
  });
});

describe('an episode of tools', () => {
  it('earns reward 1 by the reference calls and what is said at the end', async () => {
    const client = await connected('/envs/helpdesk');
    const first = await client.ask({ type: 'reset', data: { task: TASK, seed: 1 } });
    const told = {
      instructions: expect.stringContaining('# Service desk policy'),
      user: expect.stringContaining('Marta Teixeira'),
    };
    // Twice: OpenEnv's MCPToolClient keeps nothing but the metadata.
    expect(first.data.observation).toEqual({ ...told, metadata: told });
    const { calls, say } = helpdeskReference(TASK);
    for (const { name, arguments: given } of calls) {
      const { data } = await client.ask(call(name, given));
      expect(data).toMatchObject({ observation: { tool_name: name, error: null }, reward: 0, done: false });
      expect(typeof data.observation.result.data).toBe('string');
    }
    const last = await client.ask(call('respond_to_user', { content: say }));
    expect(last.data).toMatchObject({ reward: 1, done: true });
    expect(last.data.observation).toMatchObject({
      result: { data: 'No, that is all. Thank you.' },
      ended: 'terminated',
      evaluation: { reward: 1 },
    });
  });

  it('lists its tools before a reset, as no step and without a slot', async () => {
    const client = await connected('/envs/helpdesk');
    const { active } = server.sessions.counts;
    const { data } = await client.ask({ type: 'step', data: { type: 'list_tools' } });
    expect(data).toMatchObject({ reward: null, done: false });
    const names = data.observation.tools.map(({ name }: Reply) => name);
    expect(names).toEqual(expect.arrayContaining(['verify_identity', 'hand_over', 'respond_to_user']));
    expect(data.observation.tools[0]).toEqual({
      name: 'find_employee',
      description: expect.any(String),
      input_schema: expect.objectContaining({ type: 'object' }),
    });
    expect(server.sessions.counts.active).toBe(active);
    expect((await client.ask({ type: 'state' })).data).toMatchObject({ step_count: 0, episode_id: null });
  });

  it('tells errors of a tool from calls that reached none', async () => {
    const client = await connected('/envs/helpdesk');
    await client.ask({ type: 'reset', data: { split: 'train', index: 0 } });
    const failed = await client.ask(call('get_employee', { employee_id: 'EMP-9999' }));
    expect(failed.data.observation).toMatchObject({ result: { is_error: true }, error: null });
    const unknown = await client.ask(call('no_such_tool', {}));
    expect(unknown.data.observation).toMatchObject({ result: null, error: { error_type: 'tool_not_found' } });
    const wrong = await client.ask(call('get_employee', { id: 5 }));
    expect(wrong.data.observation).toMatchObject({ result: null, error: { error_type: 'invalid_args' } });
    expect((await client.ask({ type: 'state' })).data.step_count).toBe(3);
  });

  it.each([
    ['task_id', { task_id: 'unlock-and-new-password' }],
    ['its whole spec', { task: { id: 'unlock-and-new-password', split: 'train', index: 1 } }],
  ])('begins the task named by %s', async (_how, data) => {
    const client = await connected('/envs/helpdesk');
    const first = await client.ask({ type: 'reset', data });
    expect(first.data.observation.user).toContain('Rui Fonseca');
    expect((await client.ask({ type: 'state' })).data.task).toBe('unlock-and-new-password');
  });
});

describe('an episode of text', () => {
  it('takes a message and answers a text', async () => {
    const client = await connected('/envs/cellar');
    const first = await client.ask({ type: 'reset' });
    expect(first.data.observation).toMatchObject({
      instructions: expect.any(String),
      text: expect.stringContaining('taproom'),
    });
    const { data } = await client.ask({ type: 'step', data: { message: 'go to bar 1', metadata: {} } });
    expect(data.observation).toEqual({ text: expect.stringContaining('bar 1') });
  });
});

describe('what is wrong', () => {
  it.each<[string, string | object, object]>([
    ['no JSON', '{"type":', { code: 'INVALID_JSON', message: expect.stringMatching(/^Invalid JSON: /) }],
    ['an unknown type', { type: 'foo' }, { code: 'UNKNOWN_TYPE', message: 'Unknown message type: foo' }],
    ['no object', '[1]', { code: 'VALIDATION_ERROR', message: 'Invalid message' }],
    [
      'a further key on the envelope',
      { type: 'reset', data: {}, id: 1 },
      { code: 'VALIDATION_ERROR', message: 'Invalid message', errors: [expect.objectContaining({ loc: ['id'] })] },
    ],
    [
      'a step without data',
      { type: 'step' },
      { code: 'VALIDATION_ERROR', errors: [expect.objectContaining({ type: 'missing', loc: ['data'] })] },
    ],
    [
      'a field the action has not',
      { type: 'step', data: { values: [1], speed: 2 } },
      {
        code: 'VALIDATION_ERROR',
        errors: [expect.objectContaining({ type: 'extra_forbidden', loc: ['data', 'speed'] })],
      },
    ],
    ['a seed below 0', { type: 'reset', data: { seed: -1 } }, { code: 'VALIDATION_ERROR' }],
    ['an unknown split', { type: 'reset', data: { split: 'training' } }, { code: 'EXECUTION_ERROR' }],
    ['a step before a reset', { type: 'step', data: { values: [0] } }, { code: 'EXECUTION_ERROR' }],
    ['a key to a prototype', '{"type":"reset","data":{"__proto__":{"a":1}}}', { code: 'INVALID_JSON' }],
  ])('%s: one error, and the connection goes on', async (_what, frame, data) => {
    const client = await connected();
    expect(await client.ask(frame)).toEqual({ type: 'error', data: expect.objectContaining(data) });
    expect((await client.ask({ type: 'reset', data: { seed: 1 } })).type).toBe('observation');
    expect(client.unread).toBe(0);
  });

  it('an environment that is not served is an HTTP 404', async () => {
    await expect(FramesClient.connect(`${server.url}/envs/nowhere`)).rejects.toThrow('404');
  });

  it('binary frames and frames too large end the connection, not the server', async () => {
    const binary = await FramesClient.connect(server.url);
    binary.socket.send(Buffer.from('{"type":"state"}'), { binary: true });
    expect(await binary.closed).toBe(1003);
    const large = await FramesClient.connect(server.url);
    large.send(`"${'x'.repeat(2 << 20)}"`);
    expect(await large.closed).toBe(1009);
    const client = await connected();
    expect((await client.ask({ type: 'state' })).type).toBe('state');
  });
});

describe('a connection', () => {
  it('is a session, closed with it', async () => {
    const client = await connected();
    const { session_id: id } = (await client.ask({ type: 'state' })).data;
    expect(server.sessions.list().some((session) => session.id === id)).toBe(true);
    client.send({ type: 'close' });
    expect(await client.closed).toBe(1000);
    await expect.poll(() => server.sessions.list().some((session) => session.id === id)).toBe(false);
  });
});
