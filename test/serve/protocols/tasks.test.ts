import { afterAll, describe, expect, it } from 'vitest';
import { ask, serveScenarios } from '../running-server.js';

const server = await serveScenarios(['helpdesk', 'pendulum']);
afterAll(() => server.stop(0));

const at = (path: string, body?: unknown) => ask(`${server.url}/${path}`, body);

describe('the task routes', () => {
  it('tell tasks, and nothing of how they are solved', async () => {
    const { tasks, env_name } = (await at('helpdesk/tasks', { split: 'train' })).body;
    expect(env_name).toBe('helpdesk');
    expect(tasks[0]).toEqual({
      id: 'unlock-after-holiday',
      split: 'train',
      index: 0,
      group: 'unlock',
      tags: ['write', 'multi-write'],
    });
    expect((await at('helpdesk/num_tasks', { split: 'train' })).body).toEqual({ num_tasks: tasks.length });
    expect((await at('helpdesk/task', { split: 'train', index: 2 })).body).toEqual({ task: tasks[2], env_name });
    const range = await at('helpdesk/task_range', { split: 'train', start: 1, stop: 3 });
    expect(range.body).toEqual({ tasks: tasks.slice(1, 3), env_name });
    expect((await at('helpdesk/task_range', { split: 'train' })).body).toEqual({ tasks, env_name });
    expect((await at('helpdesk/task_range', { split: 'train', start: -1 })).body.tasks).toEqual(tasks.slice(-1));
    expect((await at('helpdesk/task_range', { split: 'train', start: 100_000 })).body).toEqual({ tasks: [], env_name });
  });

  it.each<[string, unknown, number, RegExp]>([
    ['helpdesk/tasks', { split: 'dev' }, 400, /^Invalid split/],
    ['helpdesk/tasks', undefined, 404, /no POST|no GET/],
    ['helpdesk/task', { split: 'train', index: 100_000 }, 400, /^Invalid index/],
    ['helpdesk/task', { split: 'train', index: '1' }, 400, /^Invalid index/],
    ['nowhere/tasks', { split: 'train' }, 404, /nowhere/],
  ])('%s %j is answered %i', async (path, body, status, detail) => {
    const answer = await at(path, body);
    expect(answer.status).toBe(status);
    expect(answer.body.detail ?? answer.body.error.message).toMatch(detail);
  });
});
