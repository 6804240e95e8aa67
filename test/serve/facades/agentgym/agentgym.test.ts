// As AgentGym's TodoEnvClient speaks (agentenv/envs/todo.py): by the facts of its source.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../../../src/serve/index.js';
import { ask, serveScenarios } from '../../running-server.js';
import { helpdeskReference } from '../reference-calls.js';

let server: RunningServer;

beforeAll(async () => {
  server = await serveScenarios(['helpdesk', 'pendulum', 'cellar']);
});
afterAll(() => server.stop(0));

const url = (env: string, path: string) => `${server.url}/agentgym/${env}/${path}`;

async function made(env: string): Promise<number> {
  const { status, body } = await ask(url(env, 'create'), { id: 0 });
  expect([status, Number.isInteger(body)]).toEqual([200, true]);
  return body;
}

describe('the dialect of todo', () => {
  it('plays helpdesk to reward 1, by text alone', async () => {
    const env_idx = await made('helpdesk');
    const { body: first } = await ask(url('helpdesk', 'reset'), { id: 0, env_idx });
    expect(first).toContain('Marta Teixeira');
    expect(first).toContain('Name: restore_access');
    expect(first).toContain('Action Input:');
    expect((await ask(url('helpdesk', `observation?env_idx=${env_idx}`))).body).toBe(first);
    const { calls, say } = helpdeskReference('unlock-after-holiday');
    for (const { name, arguments: given } of calls) {
      const action = `Thought: next.\n\nAction: ${name} with Action Input: ${JSON.stringify(given)}`;
      const { body } = await ask(url('helpdesk', 'step'), { action, env_idx });
      expect(body).toMatchObject({ observation: expect.stringMatching(/\w/), reward: 0, done: false });
    }
    const { body: last } = await ask(url('helpdesk', 'step'), { action: `Thought: done.\n${say}`, env_idx });
    expect(last).toMatchObject({ reward: 1, done: true });
    expect((await ask(url('helpdesk', `observation?id=${env_idx}`))).body).toBe(last.observation);
    expect((await ask(url('helpdesk', 'step'), { action: 'Hi', env_idx })).body.error).toContain('its episode ended');
    expect((await ask(url('helpdesk', 'reset'), { id: 1, env_idx })).body).toContain('Rui Fonseca');
  });

  it('plays a game of text', async () => {
    const env_idx = await made('cellar');
    expect((await ask(url('cellar', 'reset'), { id: 0, env_idx })).body).toContain('Action: [what you do]');
    const { body } = await ask(url('cellar', 'step'), { action: 'Thought: see.\nAction: look', env_idx });
    expect(body).toMatchObject({ observation: expect.stringMatching(/\w/), done: false });
  });

  it('plays numbers: an item is a seed', async () => {
    const first = async () => {
      const env_idx = await made('pendulum');
      await ask(url('pendulum', 'reset'), { id: 5, env_idx });
      return (await ask(url('pendulum', 'step'), { action: 'Action: [0.5]', env_idx })).body;
    };
    const step = await first();
    expect(JSON.parse(step.observation)).toHaveLength(3);
    expect(step.reward).toBeLessThan(0);
    expect(await first()).toEqual(step);
  });

  it('tells the agent what it may mend, and nothing has happened', async () => {
    const env_idx = await made('pendulum');
    await ask(url('pendulum', 'reset'), { id: 5, env_idx });
    for (const action of ['left', '[99]', '[0, 0]', '[1e999]', '']) {
      const { body } = await ask(url('pendulum', 'step'), { action, env_idx });
      expect(body, action).toMatchObject({ observation: expect.stringContaining('Error'), reward: 0, done: false });
    }
    expect(server.sessions.list('local').every(({ env, stepCount }) => env !== 'pendulum' || stepCount < 2)).toBe(true);
  });

  it('closes, and knows it no more', async () => {
    const env_idx = await made('pendulum');
    expect((await ask(url('pendulum', 'close'), { env_idx })).body).toBe(true);
    expect((await ask(url('pendulum', 'close'), { id: env_idx })).body.error).toContain('no session');
  });

  const env_idx = 123_456;
  it.each([
    ['an environment that is not served', 'nowhere', 'create', {}],
    ['an unknown session', 'pendulum', 'step', { action: '[0]', env_idx }],
    ['an unknown session to reset', 'pendulum', 'reset', { id: 0, env_idx }],
    ['an index beyond the last', 'helpdesk', 'reset', { id: 1e6, env_idx: 0 }],
    ['a negative index', 'helpdesk', 'reset', { id: -1, env_idx: 0 }],
    ['a huge index', 'helpdesk', 'reset', { id: 1e300, env_idx: 0 }],
    ['an index that is none', 'helpdesk', 'reset', { id: 'a', env_idx: 0 }],
    ['an action that is no text', 'helpdesk', 'step', { action: {}, env_idx: 0 }],
    ['no number', 'helpdesk', 'step', { action: 'a' }],
  ])('answers %s with an error of status 200', async (_, env, path, body) => {
    const answer = await ask(url(env, path), body);
    expect(answer).toEqual({ status: 200, body: { error: expect.stringMatching(/\w/) } });
  });

  it('answers JSON that is none, or hostile, the same way', async () => {
    for (const body of ['{', '{"__proto__": {"env_idx": 0}}', `${'['.repeat(9000)}${']'.repeat(9000)}`]) {
      const headers = { 'content-type': 'application/json' };
      const reply = await fetch(url('helpdesk', 'step'), { method: 'POST', headers, body });
      expect([reply.status, await reply.json()]).toEqual([200, { error: expect.stringMatching(/\w/) }]);
    }
  });
});
