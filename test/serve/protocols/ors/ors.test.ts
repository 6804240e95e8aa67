import { afterAll, describe, expect, it } from 'vitest';
import { serveScenarios } from '../../running-server.js';
import { eventsOf, type SseEvent } from './sse-events.js';

const server = await serveScenarios(['helpdesk', 'pendulum']);
afterAll(() => server.stop(0));

interface Asked {
  readonly sid?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

function ask(path: string, { sid, body, headers = {} }: Asked = {}): Promise<Response> {
  const all = {
    ...headers,
    ...(sid === undefined ? {} : { 'x-session-id': sid }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const method = body === undefined && !path.startsWith('POST ') ? 'GET' : 'POST';
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const url = `${server.url}${path.replace('POST ', '')}`;
  return fetch(url, { method, headers: all, redirect: 'manual', ...(body === undefined ? {} : { body: text }) });
}

// biome-ignore lint/suspicious/noExplicitAny: what came over the wire
function bodyOf(reply: Response): Promise<any> {
  return reply.json();
}

async function created(body: unknown): Promise<string> {
  const events = await eventsOf(await ask('POST /create_session'));
  expect(events.map(({ event }) => event)).toEqual(['task_id', 'end']);
  const sid = events[0].data;
  const reply = await ask('/create', { sid, body });
  expect([reply.status, await bodyOf(reply)]).toEqual([200, { sid }]);
  return sid;
}

async function called(sid: string, body: unknown, env = 'pendulum'): Promise<SseEvent[]> {
  return eventsOf(await ask(`/${env}/call`, { sid, body }));
}

const PENDULUM = { env_name: 'pendulum', split: 'train', index: 3 };
const STEP = { name: 'step', input: { action: [1] } };

describe('a session', () => {
  it('is pinged, deleted, and gone after that', async () => {
    const sid = await created(PENDULUM);
    expect((await ask('POST /ping', { sid })).status).toBe(200);
    for (const path of ['POST /delete', 'POST /delete_session', 'POST /delete_session']) {
      expect((await ask(path, { sid })).status, path).toBe(200);
    }
    expect((await ask('POST /ping', { sid })).status).toBe(410);
    expect((await ask('/pendulum/call', { sid, body: STEP })).status).toBe(410);
    expect((await ask('/create', { sid, body: PENDULUM })).status).toBe(410);
  });

  it('is no other where its answer got lost and it is asked for again', async () => {
    const sid = await created(PENDULUM);
    await called(sid, STEP);
    expect((await ask('/create', { sid, body: PENDULUM })).status).toBe(200);
    expect(server.sessions.state(sid, 'local').stepCount).toBe(1);
    expect((await ask('/create', { sid, body: { ...PENDULUM, index: 4 } })).status).toBe(409);
  });

  it('begins what a task says: the same as by its place, and a seed of its own', async () => {
    const { task } = await bodyOf(await ask('/pendulum/task', { body: { split: 'train', index: 3 } }));
    const first = await Promise.all(
      [PENDULUM, { env_name: 'pendulum', task_spec: task }, { env_name: 'PENDULUM', task_spec: { seed: 3 } }].map(
        async (body) => bodyOf(await ask('/pendulum/prompt', { sid: await created(body) })),
      ),
    );
    expect(first[1]).toEqual(first[0]);
    expect(first[2]).toEqual(first[0]);
    expect(first[0][1]).toEqual({ text: expect.stringMatching(/^\[/), detail: null, type: 'text' });
  });

  it('goes on from a snapshot', async () => {
    const sid = await created(PENDULUM);
    await called(sid, STEP);
    const { id } = await server.sessions.snapshot(sid, 'local');
    const forked = await created({ env_name: 'pendulum', task_spec: { from_snapshot: id } });
    expect(await called(forked, STEP)).toMatchObject([{}, { data: (await called(sid, STEP))[1].data }]);
  });

  it('has tools under its own name of an environment, or none, and not under that of another', async () => {
    const sid = await created(PENDULUM);
    const named = await bodyOf(await ask('/pendulum/task_tools', { sid }));
    expect(named.tools.map(({ name }: { name: string }) => name)).toEqual(['step']);
    expect(await bodyOf(await ask('/task_tools', { sid }))).toEqual(named);
    const other = await ask('/helpdesk/prompt', { sid });
    expect(other.status).toBe(409);
    expect((await bodyOf(other)).detail).toContain('is of environment "pendulum"');
  });
});

describe('a call', () => {
  it('is answered again by its task id, without a second step', async () => {
    const sid = await created(PENDULUM);
    const first = await called(sid, STEP);
    expect(first.map(({ event }) => event)).toEqual(['task_id', 'end']);
    expect(await called(sid, { ...STEP, task_id: first[0].data })).toEqual(first);
    expect(server.sessions.state(sid, 'local').stepCount).toBe(1);
  });

  it.each([
    ['a tool that is not there', { name: 'jump', input: {} }, 'not_found'],
    ['an action out of its space', { name: 'step', input: { action: [1e300] } }, 'input_validation'],
    ['nothing', { name: 'step', input: {} }, 'input_validation'],
  ])('refuses %s, and nothing has happened', async (_, body, reason) => {
    const sid = await created(PENDULUM);
    const [, end] = await called(sid, body);
    expect(JSON.parse(end.data)).toMatchObject({ ok: false, reason });
    expect(server.sessions.state(sid, 'local').stepCount).toBe(0);
  });

  it('leaves out arguments that are null where a tool has them optional: TRL sends all there are', async () => {
    const sid = await created({ env_name: 'helpdesk', split: 'train', index: 0 });
    const input = { employee_id: 'EMP-1042', site: null, kind: null, status: null };
    const [, end] = await called(sid, { name: 'find_devices', input }, 'helpdesk');
    const { output } = JSON.parse(end.data);
    expect(output.blocks[0].text).toContain('EMP-1042');
    expect(output).toMatchObject({ reward: null, finished: false, metadata: { step_reward: 0, step_count: 1 } });
  });
});

describe('requests without the name of an environment', () => {
  it.each(['/tools', '/splits'])('%s goes to the first, or the one that X-Deployment names', async (path) => {
    const to = async (headers: Record<string, string>) => {
      const { status, headers: answer } = await ask(path, { headers });
      return [status, answer.get('location')];
    };
    expect(await to({})).toEqual([308, `/helpdesk${path}`]);
    expect(await to({ 'x-deployment': 'env' })).toEqual([308, `/helpdesk${path}`]);
    expect(await to({ 'x-deployment': 'someone/pendulum' })).toEqual([308, `/pendulum${path}`]);
    expect((await to({ 'x-deployment': 'helpdsk' }))[0]).toBe(404);
  });
});

describe('hostile input', () => {
  const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
  it.each([
    ['no session id', '/create', { body: PENDULUM }, 422],
    ['an unknown session', '/pendulum/call', { sid: 'nobody', body: STEP }, 404],
    ['a task twice', '/create', { sid: 'a', body: { ...PENDULUM, task_spec: {} } }, 422],
    ['an index beyond the last', '/create', { sid: 'a', body: { ...PENDULUM, index: 1e6 } }, 400],
    ['an environment that is not served', '/create', { sid: 'a', body: { ...PENDULUM, env_name: 'x' } }, 404],
    ['a toolset', '/create', { sid: 'a', body: { ...PENDULUM, toolset_name: 'codex' } }, 422],
    ['a key of a prototype', '/create', { sid: 'a', body: '{"__proto__":{"split":"train"}}' }, 422],
    ['deep JSON', '/create', { sid: 'a', body: deep }, 422],
  ])('%s is refused with a reason', async (_, path, request, status) => {
    const reply = await ask(path, request);
    expect(reply.status).toBe(status);
    expect((await bodyOf(reply)).detail).toMatch(/\w/);
    expect(server.sessions.list('local').some(({ id }) => id === 'a')).toBe(false);
  });
});
