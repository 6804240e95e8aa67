// Sessions that step while their workers are killed at random: every one's history is that of an environment that lived
// undisturbed in this thread, to the byte.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Environment } from '../../../src/core/environment.js';
import { Rng } from '../../../src/core/rng.js';
import { type VectorBlueprint, maker as vectorMaker } from '../../../src/run/serve-vector.js';
import { WorkerHost } from '../../../src/serve/hosts/worker-host.js';
import { cart, ensembleDream, pendulum } from './blueprints.js';
import { lasting } from './lasting.js';

type Lasting = Pick<Environment, 'reset' | 'step' | 'snapshot' | 'restore'>;

// Threads take seconds to start where other tests keep the processor busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const STEPS = 90;
/** Steps of all sessions between two kills: enough that a request which was tried alone is answered before the next. */
const BETWEEN_KILLS = 350;

let host: WorkerHost;
let blueprints: Readonly<Record<string, VectorBlueprint>>;
let stepped = 0;

beforeAll(async () => {
  host = new WorkerHost({ workers: 2 });
  blueprints = { pendulum, cart, dream: await ensembleDream() };
  for (const [name, blueprint] of Object.entries(blueprints)) host.add(name, blueprint);
});
afterAll(() => host.close());

/** A session's history: steps, resets where episodes end, now and then a snapshot gone back to. */
async function history(env: Lasting, name: string, seed: number, onStep = () => {}): Promise<unknown[]> {
  const rng = Rng.fromSeed(seed).split('session');
  const draw = () => Float32Array.of(name === 'cart' ? rng.int(2) : 2 * rng.uniform() - 1);
  const seen: unknown[] = [await env.reset({ seed })];
  let kept = await env.snapshot();
  for (let t = 0; t < STEPS; t++) {
    const choice = rng.int(12);
    if (choice === 0) kept = await env.snapshot();
    if (choice === 1) seen.push(await env.restore(kept, rng.int(2) === 0 ? {} : { seed: t }));
    const result = await env.step(draw());
    seen.push(result);
    onStep();
    if (result.terminated || result.truncated) {
      seen.push(await env.reset());
      kept = await env.snapshot();
    }
  }
  seen.push(await env.snapshot());
  return seen;
}

it('leaves no trace in what sessions see', async () => {
  const sessions = Object.keys(blueprints).flatMap((name) => [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => ({ name, seed })));
  const expected: unknown[] = [];
  for (const { name, seed } of sessions) {
    const maker = await vectorMaker(blueprints[name]);
    expected.push(await history(await maker.make(), name, seed));
    await maker.close();
  }
  const kills = Rng.fromSeed(5);
  const killed: Promise<void>[] = [];
  const onStep = () => {
    if (++stepped % BETWEEN_KILLS === 0) killed.push(host.restart(kills.int(2)));
  };
  const histories = await Promise.all(
    sessions.map(async ({ name, seed }) => history(lasting(host, name), name, seed, onStep)),
  );
  await Promise.all(killed);
  expect(histories).toEqual(expected);
  const { restarts, steps, batches } = host.stats;
  expect(restarts[0] + restarts[1]).toBeGreaterThanOrEqual(4);
  expect(Math.min(...steps)).toBeGreaterThan(0);
  expect(batches.rows).toBeGreaterThan(batches.batches);
});
