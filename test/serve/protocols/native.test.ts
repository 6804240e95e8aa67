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
  it('plays an episode of numbers, the same for the same seed', async () => {
    const episode = async () => {
      const session = await opened('pendulum');
      const turns = [(await ask(`${session}/reset`, { seed: 3 })).body];
      for (let i = 0; i < 10; i++) turns.push((await ask(`${session}/step`, { action: [i % 2] })).body);
      return turns.map(({ observation, reward, truncated }) => ({ observation, reward, truncated }));
    };
    const first = await episode();
    expect(first[0].observation).toHaveLength(3);
    expect(first[10]).toMatchObject({ truncated: true, reward: expect.any(Number) });
    expect(await episode()).toEqual(first);
  });

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

  it('comes back to a snapshot, and forks there', async () => {
    const session = await opened('pendulum');
    await ask(`${session}/reset`, { seed: 2 });
    await ask(`${session}/step`, { action: [1] });
    const { status, body: kept } = await ask(`${session}/snapshot`, undefined, 'POST');
    expect([status, kept]).toEqual([201, { id: expect.any(String), env: 'pendulum', step_count: 1 }]);
    const forks = (await ask(`${session}/fork`, { count: 2 })).body.sessions;
    const onward = (await ask(`${session}/step`, { action: [-1] })).body;
    for (const { id, parent } of forks) {
      expect(`${v1}/sessions/${parent}`).toBe(session);
      const step = (await ask(`${v1}/sessions/${id}/step`, { action: [-1] })).body;
      expect({ ...step, episode_id: '' }).toEqual({ ...onward, episode_id: '' });
    }
    expect((await ask(`${session}/restore`, { snapshot: kept.id })).body.step_count).toBe(1);
    expect((await ask(`${session}/step`, { action: [-1] })).body.observation).toEqual(onward.observation);
    const other = await opened('pendulum');
    expect((await ask(`${other}/reset`, { snapshot: kept.id })).body.step_count).toBe(1);
    expect((await ask(`${session}/restore`, { snapshot: 'none' })).body.error.code).toBe('SNAPSHOT_UNKNOWN');
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

describe('many sessions', () => {
  it('start as a group from one state', async () => {
    const { status, body } = await ask(`${v1}/groups`, { env: 'pendulum', count: 3, seed: 5 });
    expect(status).toBe(201);
    const results = await Promise.all(
      body.sessions.map(({ id }: { id: string }) => ask(`${v1}/sessions/${id}/step`, { action: [0.5] })),
    ).then((answers) => answers.map((answer) => answer.body));
    expect(results).toHaveLength(3);
    expect(new Set(results.map(({ observation }: { observation: number[] }) => observation.join())).size).toBe(1);
    expect(results[0].observation).not.toEqual(body.turn.observation);
  });
});
