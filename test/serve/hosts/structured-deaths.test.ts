// Sessions of a service desk whose threads are killed as they go: each one's history is that of an environment that lived
// undisturbed in this thread, to the byte.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import type { Environment } from '../../../src/core/environment.js';
import { Rng } from '../../../src/core/rng.js';
import { loadAnyScenario } from '../../../src/run/scenario.js';
import { openServable } from '../../../src/run/servable.js';
import { WorkerHost } from '../../../src/serve/hosts/worker-host.js';
import { lasting } from './lasting.js';

type Lasting = Pick<Environment, 'reset' | 'step' | 'snapshot' | 'restore'>;

// Threads take seconds to start where other tests keep the processor busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const SESSIONS = 4;
const STEPS = 40;
/** Steps of all sessions between two kills. */
const BETWEEN_KILLS = 40;

const folder = mkdtempSync(join(tmpdir(), 'reverie-deaths-'));
const served = await openServable(await loadAnyScenario('helpdesk'), { folder, log: () => {} });
const host = new WorkerHost({ workers: 2 });
host.add('helpdesk', served.blueprint!);
afterAll(async () => {
  await host.close();
  await served.close();
});

/** A session's history: right calls and wrong ones, words, now and then a snapshot gone back to. */
async function history(env: Lasting, seed: number, onStep = () => {}): Promise<unknown[]> {
  const rng = Rng.fromSeed(seed).split('session');
  const tasks = served.domain!.tasks;
  const seen: unknown[] = [];
  const begin = async (options: { seed?: number }) => {
    const task = tasks[rng.int(tasks.length)];
    seen.push(await env.reset({ ...options, task: task.id }));
    return task.reference!.calls.map((call) => ({ content: null, toolCalls: [{ id: 'call', ...call }] }));
  };
  let actions = await begin({ seed });
  let kept = await env.snapshot();
  for (let t = 0; t < STEPS; t++) {
    const choice = rng.int(10);
    if (choice === 0) kept = await env.snapshot();
    if (choice === 1) seen.push(await env.restore(kept));
    if (choice === 2) await expect(env.step({ content: 3 })).rejects.toMatchObject({ code: 'ACTION_OUT_OF_SPACE' });
    const result = await env.step(choice === 4 ? { content: 'Is there anything else?' } : actions[t % actions.length]);
    seen.push(result);
    onStep();
    if (result.terminated || result.truncated) {
      actions = await begin({});
      kept = await env.snapshot();
    }
  }
  seen.push(await env.snapshot());
  return seen;
}

it('leaves no trace in what sessions see', async () => {
  const seeds = Array.from({ length: SESSIONS }, (_, i) => i);
  const expected = await Promise.all(seeds.map(async (seed) => history(await served.make(), seed)));
  const kills = Rng.fromSeed(5);
  const killed: Promise<void>[] = [];
  let stepped = 0;
  const onStep = () => {
    if (++stepped % BETWEEN_KILLS === 0) killed.push(host.restart(kills.int(2)));
  };
  const seen = await Promise.all(seeds.map(async (seed) => history(lasting(host, 'helpdesk'), seed, onStep)));
  await Promise.all(killed);
  expect(seen).toEqual(expected);
  const { restarts, steps } = host.stats;
  expect(restarts[0] + restarts[1]).toBeGreaterThanOrEqual(2);
  expect(Math.min(...steps)).toBeGreaterThan(0);
});
