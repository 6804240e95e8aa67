import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAnyScenario } from '../../../src/run/scenario.js';
import type { RunningServer } from '../../../src/serve/index.js';
import { ask, serveScenarios } from '../running-server.js';

let server: RunningServer;
let v1: string;

beforeAll(async () => {
  const short = await loadAnyScenario('pendulum', { set: ['env.maxEpisodeSteps=10'] });
  server = await serveScenarios([], { scenarios: [short, await loadAnyScenario('helpdesk')] });
  v1 = `${server.url}/v1`;
});
afterAll(() => server.stop(0));

async function opened(env: string): Promise<string> {
  const { status, body } = await ask(`${v1}/sessions`, { env });
  expect(status).toBe(201);
  return `${v1}/sessions/${body.id}`;
}

describe('the environments', () => {
  it('tell their spaces, source and clock', async () => {
    const { environments } = (await ask(`${v1}/environments`)).body;
    expect(environments.map(({ name }: { name: string }) => name)).toEqual(['pendulum', 'helpdesk']);
    expect(environments[0]).toMatchObject({
      family: 'vector',
      source: 'real',
      observation_space: { type: 'box', shape: [3], low: [-1, -1, -8], high: [1, 1, 8] },
      action_space: { type: 'box', low: [-2], high: [2] },
      max_episode_steps: 10,
      is_default: true,
    });
  });

  it('tell their tools and tasks, and no way to solve them', async () => {
    const { tools, splits } = (await ask(`${v1}/environments/helpdesk`)).body;
    expect(tools[0]).toEqual({
      name: expect.any(String),
      description: expect.any(String),
      parameters: expect.objectContaining({ type: 'object' }),
    });
    const train = splits.find(({ name }: { name: string }) => name === 'train');
    const page = (await ask(`${v1}/environments/helpdesk/tasks?split=train&start=1&stop=2`)).body;
    expect(page).toMatchObject({ total: train.tasks, tasks: [{ split: 'train', index: 1 }] });
    for (const key of Object.keys(page.tasks[0])) expect(['id', 'split', 'index', 'family', 'tags']).toContain(key);
    expect((await ask(`${v1}/environments/none`)).body.error.code).toBe('ENV_NOT_SERVED');
    expect((await ask(`${v1}/environments/helpdesk/tasks?split=all`)).body.error.code).toBe('REQUEST_INVALID');
  });
});

describe('a session', () => {
  it('is listed, looked at, touched and closed', async () => {
    const session = await opened('pendulum');
    await ask(`${session}/reset`, { seed: 9, episode_id: 'mine' });
    await ask(`${session}/step`, { action: 1 });
    const state = (await ask(session)).body;
    expect(state).toMatchObject({ env: 'pendulum', status: 'running', episode_id: 'mine', seed: 9, step_count: 1 });
    expect(state).not.toHaveProperty('owner');
    expect((await ask(`${v1}/sessions`)).body.sessions).toContainEqual(state);
    expect((await ask(`${session}/touch`, undefined, 'POST')).status).toBe(204);
    expect((await ask(session, undefined, 'DELETE')).status).toBe(204);
    expect((await ask(session)).body.error.code).toBe('SESSION_GONE');
  });

  it('says what is wrong', async () => {
    const session = await opened('pendulum');
    expect((await ask(`${session}/step`, { action: [0] })).body.error.code).toBe('ENV_NOT_RESET');
    expect((await ask(`${session}/step`, { acton: [0] })).body.error.message).toMatch(/acton/);
    expect((await ask(`${v1}/sessions/none/step`, { action: [0] })).status).toBe(404);
    expect((await ask(`${v1}/sessions`, { env: 'nowhere' })).body.error.code).toBe('ENV_NOT_SERVED');
    expect((await ask(`${server.url}/nothing`)).body.error.code).toBe('ROUTE_UNKNOWN');
  });
});
