import { afterAll, describe, expect, it } from 'vitest';
import { ask, serveScenarios } from '../../running-server.js';

const server = await serveScenarios(['pendulum', 'helpdesk', 'cellar']);
afterAll(() => server.stop(0));

it('a request over HTTP has an environment of its own, as in the reference, and leaves none behind', async () => {
  const before = server.sessions.list().length;
  expect(await ask(`${server.url}/reset`, { seed: 4 })).toEqual(await ask(`${server.url}/reset`, { seed: 4 }));
  expect((await ask(`${server.url}/reset`, undefined, 'POST')).status).toBe(200);
  expect((await ask(`${server.url}/state`)).body).toEqual({ episode_id: null, step_count: 0 });
  const step = await ask(`${server.url}/step`, { action: { values: [0] } });
  expect(step).toMatchObject({ status: 400, body: { error: { code: 'SESSION_NOT_NAMED' } } });
  const tools = await ask(`${server.url}/envs/helpdesk/step`, { action: { type: 'list_tools' } });
  expect(tools.body.observation.tools).toHaveLength(19);
  expect(server.sessions.list()).toHaveLength(before);
});

describe('what is wrong', () => {
  it.each<[string, unknown, (string | number)[]]>([
    ['/step', { action: 'left' }, ['body', 'action']],
    ['/step', { action: { values: [1, 'a'] } }, ['body', 'action', 'values']],
    ['/reset', { seed: 1.5 }, ['body', 'seed']],
  ])('%s %j is answered 422 with its place', async (path, body, loc) => {
    const { status, body: answer } = await ask(`${server.url}${path}`, body);
    expect(status).toBe(422);
    expect(answer.detail[0].loc.slice(0, loc.length)).toEqual(loc);
  });

  it('an environment that is not served is a 404', async () => {
    expect((await ask(`${server.url}/envs/nowhere/schema`)).status).toBe(404);
  });
});

describe('what is told of an environment', () => {
  it('metadata and health', async () => {
    expect((await ask(`${server.url}/metadata`)).body).toMatchObject({ name: 'pendulum', version: expect.any(String) });
    expect((await ask(`${server.url}/envs/HelpDesk/metadata`)).body).toMatchObject({
      name: 'helpdesk',
      description: expect.stringContaining('service desk'),
      author: null,
    });
    expect((await ask(`${server.url}/health`)).body).toEqual({ status: 'healthy' });
    expect((await ask(`${server.url}/envs/cellar/health`)).body).toEqual({ status: 'healthy' });
  });

  it('schemas, titled as harnesses tell them apart', async () => {
    const schema = async (env: string) => (await ask(`${server.url}/envs/${env}/schema`)).body;
    expect((await schema('helpdesk')).action).toMatchObject({ title: 'CallToolAction', required: ['tool_name'] });
    expect((await schema('cellar')).action).toMatchObject({
      required: ['message'],
      properties: { message: { type: 'string' } },
      additionalProperties: false,
    });
    expect((await schema('pendulum')).action.properties.values).toMatchObject({
      minItems: 1,
      maxItems: 1,
      low: [expect.any(Number)],
      high: [expect.any(Number)],
    });
    expect((await schema('pendulum')).state.required).toContain('step_count');
  });
});

it('a discrete action is an action_id', async () => {
  const cartpole = await serveScenarios(['cartpole']);
  try {
    const { body } = await ask(`${cartpole.url}/schema`);
    expect(body.action.properties.action_id).toMatchObject({ type: 'integer', minimum: 0, maximum: 1 });
  } finally {
    await cartpole.stop(0);
  }
});
