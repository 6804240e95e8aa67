// Worlds of tools and text in threads: clients cannot tell, and nobody waits for the rules of another world.

import { afterAll, describe, expect, it, vi } from 'vitest';
import type { RunningServer } from '../../../src/serve/index.js';
import { helpdeskReference } from '../protocols/reference-calls.js';
import { type Answer, ask, serveScenarios } from '../running-server.js';
import { spinningWorld } from './spinning-world.js';

// Threads take seconds to start where other tests keep the processor busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const TASK = 'unlock-after-holiday';

const running: RunningServer[] = [];
afterAll(() => Promise.all(running.map((server) => server.stop(0))));

async function served(names: readonly string[], workers: number, persist?: string): Promise<RunningServer> {
  const server = await serveScenarios(names, { workers, persist });
  running.push(server);
  return server;
}

async function opened({ url }: RunningServer, env: string): Promise<string> {
  const { body } = await ask(`${url}/v1/sessions`, { env });
  return `${url}/v1/sessions/${body.id}`;
}

const call = (name: string, args: object = {}) => ({ action: { tool_calls: [{ name, arguments: args }] } });

/** What clients are told, without names that are drawn. */
function told({ status, body }: Answer): unknown {
  const { episode_id: _, error, info, ...rest } = body;
  const shown = info?.outcome === undefined ? info : { ...info, outcome: { ...info.outcome, attempt: undefined } };
  return { status, ...rest, info: shown, ...(error && { error: { ...error, trace: undefined } }) };
}

describe('a rule that loops', () => {
  it('keeps nobody waiting in another world', async () => {
    const server = await served(['pendulum', spinningWorld()], 1);
    const [pendulum, spinning] = [await opened(server, 'pendulum'), await opened(server, 'spinning')];
    await ask(`${pendulum}/reset`, { seed: 1 });
    await ask(`${spinning}/reset`, { seed: 1 });
    let isSpinning = true;
    void ask(`${spinning}/step`, call('spin'))
      .catch(() => {})
      .finally(() => {
        isSpinning = false;
      });
    for (let step = 0; step < 10; step++) {
      expect((await ask(`${pendulum}/step`, { action: [0.1] })).status).toBe(200);
    }
    // When it is stopped, the tests of the sandbox say; the end of its server is soon enough here.
    expect(isSpinning).toBe(true);
  });
});

describe('a world in a thread', () => {
  /** An episode of helpdesk with all that can be asked of a session. */
  async function helpdeskEpisode(server: RunningServer, onTurn = (_turn: number) => {}): Promise<unknown[]> {
    const session = await opened(server, 'helpdesk');
    const { body: reset } = await ask(`${session}/reset`, { task: TASK, seed: 7 });
    const { calls, say } = helpdeskReference(TASK);
    const turns = [told({ status: 200, body: reset })];
    const step = async (body: object) => {
      turns.push(told(await ask(`${session}/step`, body)));
      onTurn(turns.length);
    };
    for (const { name, arguments: args } of calls) await step(call(name, args));
    const snapshot = await ask(`${session}/snapshot`, {});
    turns.push(snapshot.body);
    const { body: forks } = await ask(`${session}/fork`, { count: 1 });
    await step(call('no_such_tool'));
    await step({ action: 3 });
    turns.push(told(await ask(`${session}/restore`, { snapshot: snapshot.body.id })));
    await step({ action: { content: say } });
    const [fork] = forks.sessions ?? forks;
    turns.push(told(await ask(`${server.url}/v1/sessions/${fork.id}/step`, { action: { content: say } })));
    return turns;
  }

  it('answers to the byte as on the loop that serves, though its thread dies', async () => {
    const [without, server] = [await served(['helpdesk'], 0), await served(['helpdesk'], 1)];
    const alone = await helpdeskEpisode(without);
    expect(without.workerHost).toBeUndefined();
    const killed: Promise<void>[] = [];
    const onTurn = (turn: number) => {
      if (turn === 3) killed.push(server.workerHost!.restart(0));
    };
    expect(await helpdeskEpisode(server, onTurn)).toEqual(alone);
    await Promise.all(killed);
    expect(alone.length).toBeGreaterThan(5);
    expect(alone.at(-1)).toMatchObject({ status: 200, terminated: true, reward: 1 });
    expect(server.workerHost!.stats).toMatchObject({ environments: [2], restarts: [1] });
  });
});
