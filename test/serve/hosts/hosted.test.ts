// A server whose environments live in worker threads: clients cannot tell. Of structured worlds, see structured-worlds.test.ts.

import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { RunningServer } from '../../../src/serve/index.js';
import { ask, serveScenarios } from '../running-server.js';

// Threads take seconds to start where other tests keep the processor busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const running: RunningServer[] = [];
const threads: Worker[] = [];
process.on('worker', (worker) => threads.push(worker));
afterAll(() => Promise.all(running.map((server) => server.stop(0))));

async function served(workers: number): Promise<RunningServer> {
  const server = await serveScenarios(['pendulum', 'helpdesk'], { workers });
  running.push(server);
  return server;
}

/** What a client sees of an episode: every turn, a fork's too. */
async function episode({ url }: RunningServer, seed: number, onTurn = (_turn: number) => {}): Promise<unknown[]> {
  const { body: opened } = await ask(`${url}/v1/sessions`, { env: 'pendulum' });
  const session = `${url}/v1/sessions/${opened.id}`;
  const turns = [(await ask(`${session}/reset`, { seed })).body];
  for (let t = 0; t < 60; t++) {
    turns.push((await ask(`${session}/step`, { action: [Math.sin(t)] })).body);
    onTurn(t);
  }
  const { body: forks } = await ask(`${session}/fork`, { count: 1 });
  const [fork] = forks.sessions ?? forks;
  turns.push((await ask(`${url}/v1/sessions/${fork.id}/step`, { action: [1] })).body);
  return turns.map(({ observation, reward, terminated, truncated, stepCount, step_count: count }) => {
    return { observation, reward, terminated, truncated, steps: stepCount ?? count };
  });
}

describe('a server with workers', () => {
  it('answers to the byte as one without, though a worker dies', async () => {
    const [without, server] = [await served(0), await served(1)];
    expect(without.workerHost).toBeUndefined();
    const killed: Promise<void>[] = [];
    const onTurn = (turn: number) => {
      if (turn === 30) killed.push(server.workerHost!.restart(0));
    };
    const [alone, together] = [
      await episode(without, 1),
      await Promise.all([1, 2].map((seed) => episode(server, seed, onTurn))),
    ];
    await Promise.all(killed);
    expect(together[0]).toEqual(alone);
    expect(together[1]).not.toEqual(alone);
    expect(alone[61]).toMatchObject({ observation: expect.any(Array), reward: expect.any(Number) });
    const { environments, restarts, steps } = server.workerHost!.stats;
    // One thread for numbers, another one for helpdesk.
    expect(environments).toEqual([4, 0]);
    expect(steps[0]).toBeGreaterThanOrEqual(122);
    expect(restarts[0]).toBeGreaterThanOrEqual(1);
  });

  it('leaves no thread behind', async () => {
    await Promise.all(running.map((server) => server.stop(0)));
    expect(threads.length).toBeGreaterThanOrEqual(2);
    // A thread that has ended has no id any more; one that was left behind never ends.
    await Promise.all(threads.map((thread) => thread.threadId === -1 || once(thread, 'exit')));
  });
});
