// Section by section what the reference server promises over /ws (OpenEnv 0.3, core/env_server/http_server.py), and what we
// do better. Whole episodes are played by OpenEnv's own client (openenv-client.test.ts) and by test/e2e/golden.test.ts.

import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { serveScenarios } from '../../running-server.js';
import { FramesClient, type Reply } from './frames-client.js';

const clients: FramesClient[] = [];

const server = await serveScenarios(['pendulum', 'helpdesk']);
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

describe('an episode of tools', () => {
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

it('a connection is a session, closed with it', async () => {
  const client = await connected();
  const { session_id: id } = (await client.ask({ type: 'state' })).data;
  expect(server.sessions.list().some((session) => session.id === id)).toBe(true);
  client.send({ type: 'close' });
  expect(await client.closed).toBe(1000);
  await expect.poll(() => server.sessions.list().some((session) => session.id === id)).toBe(false);
});
