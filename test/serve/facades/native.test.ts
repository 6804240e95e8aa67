import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../../src/serve/index.js';
import { ask, serveScenarios } from '../running-server.js';

let server: RunningServer;
let v1: string;

beforeAll(async () => {
  server = await serveScenarios(['pendulum', 'helpdesk']);
  v1 = `${server.url}/v1`;
});
afterAll(() => server.stop(0));

async function opened(env: string): Promise<string> {
  const { status, body } = await ask(`${v1}/sessions`, { env });
  expect(status).toBe(201);
  return `${v1}/sessions/${body.id}`;
}

describe('the native API', () => {
  it('plays an episode of numbers, the same for the same seed', async () => {
    const episode = async () => {
      const session = await opened('pendulum');
      const turns = [(await ask(`${session}/reset`, { seed: 3 })).body];
      for (let i = 0; i < 200; i++) turns.push((await ask(`${session}/step`, { action: [i % 2] })).body);
      return turns.map(({ observation, reward, truncated }) => ({ observation, reward, truncated }));
    };
    const first = await episode();
    expect(first[0].observation).toHaveLength(3);
    expect(first[200]).toMatchObject({ truncated: true, reward: expect.any(Number) });
    expect(await episode()).toEqual(first);
  });

  it('plays an episode of tools', async () => {
    const session = await opened('helpdesk');
    const { body } = await ask(`${session}/reset`, { split: 'train', index: 0, seed: 1 });
    expect(body.observation.messages[0].role).toBe('system');
    const call = { name: 'no_such_tool', arguments: {} };
    const step = await ask(`${session}/step`, { action: { tool_calls: [call] } });
    expect(step.body.observation.messages.at(-1)).toMatchObject({ role: 'tool', isError: true });
    expect(step.body.info.answered[0].backend).toBe('schema');
  });

  it('says what is wrong', async () => {
    const session = await opened('pendulum');
    expect((await ask(`${session}/step`, { action: [0] })).body.error.code).toBe('ENV_NOT_RESET');
    expect((await ask(`${v1}/sessions/none/step`, { action: [0] })).status).toBe(404);
    expect((await ask(`${v1}/sessions`, { env: 'nowhere' })).body.error.code).toBe('ENV_NOT_SERVED');
    expect((await ask(`${server.url}/nothing`)).body.error.code).toBe('ROUTE_UNKNOWN');
  });
});
