// Environments of `reverie serve` over each protocol it speaks, as the real environment of a domain: what a client does comes to what
// the environment itself does.

import { afterAll, describe, expect, it } from 'vitest';
import type { ToolsTask } from '../../../src/env/tools/domain.js';
import { serveScenarios } from '../../serve/running-server.js';
import { act, begin, environmentOf, on } from './episodes.js';

const server = await serveScenarios(['helpdesk', 'cartpole'], { real: true });
afterAll(() => server.stop(0));

const task = () => server.sessions.environments.get('helpdesk')!.domain!.tasks[0];
const callsOf = ({ reference }: ToolsTask) => {
  return reference!.calls as unknown as { name: string; arguments: Record<string, string> }[];
};

/** Makes the calls of the solution and says what it says; what came of it. */
async function solved(spec: Record<string, unknown>, tool: string, taskId?: string) {
  return on(spec, async (domain) => {
    const env = environmentOf(domain);
    const opening = await begin(env, 1, taskId);
    const rewards: number[] = [];
    const said = task().reference!.say === undefined ? [] : [1, 2, 3].map(() => task().reference!.say!);
    const calls = [...callsOf(task()), ...said.map((content) => ({ name: tool, arguments: { content } }))];
    for (const call of calls) {
      const { reward, ended, verdict } = await act(env, call);
      rewards.push(reward);
      if (ended) return { opening, rewards, verdict, tasks: domain.tasks.length };
    }
    return { opening, rewards, verdict: undefined, tasks: domain.tasks.length };
  });
}

describe('an environment of tools of our own, as somebody else’s server', () => {
  it('over OpenEnv', async () => {
    const told = await solved({ openenv: `${server.url}/envs/helpdesk` }, 'respond_to_user', task().id);
    expect(told).toMatchObject({ opening: expect.stringContaining(task().user.opening!), verdict: 1 });
    expect(told.rewards.at(-1)).toBe(1);
    expect(told.tasks).toBeGreaterThan(3);
  });

  it('over the Open Reward Standard', async () => {
    const told = await solved({ ors: server.url, environment: 'helpdesk' }, 'respond_to_user', task().id);
    expect(told).toMatchObject({ opening: expect.stringContaining(task().user.opening!), verdict: 1 });
    expect(told.rewards.slice(0, -1).every((reward) => reward === 0)).toBe(true);
  });

  it('over MCP', async () => {
    const address = `${server.url}/mcp/helpdesk?task=${task().id}`;
    expect(await solved({ mcp: address }, 'respond_to_user')).toMatchObject({ verdict: 1, tasks: 1 });
  });

  it('is refused by name where it is not there', async () => {
    await expect(on({ ors: server.url, environment: 'nowhere' }, async () => {})).rejects.toMatchObject({
      code: 'ENV_NOT_SERVED',
    });
    await expect(on({ openenv: 'http://127.0.0.1:9' }, async () => {})).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
  });
});
