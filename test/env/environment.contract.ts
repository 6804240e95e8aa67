// What every vector environment must do, whatever it simulates; run by every implementation.

import { describe, expect, test } from 'vitest';
import type { VectorEnvironment } from '../../src/core/environment.js';
import { Rng } from '../../src/core/rng.js';
import { type CheckName, checkEnvironment, describeReport } from '../../src/env/check-environment.js';
import { contains, rowSize } from '../../src/env/space-values.js';

type Make = () => Promise<VectorEnvironment>;

const CHECKS: CheckName[] = [
  'spaces',
  'not-reset',
  'steps',
  'seed-determinism',
  'stream-goes-on',
  'snapshot-restore',
  'fork',
  'clock',
  'action-out-of-space',
];

/** A random action in the space. */
export function randomAction(env: VectorEnvironment, rng: Rng): Float32Array {
  const space = env.actionSpace;
  if (space.type === 'discrete') return Float32Array.of(space.start + rng.int(space.n));
  return Float32Array.from({ length: rowSize(space) }, (_, i) => {
    const low = space.low[i] ?? -1;
    return low + ((space.high[i] ?? 1) - low) * rng.uniform();
  });
}

/** Copies of a JSON value with one part of it lost, or something else in its place. */
function* damaged(value: unknown): Generator<unknown> {
  for (const other of [null, 'AAAA', {}]) if (JSON.stringify(other) !== JSON.stringify(value)) yield other;
  if (typeof value !== 'object' || value === null) return;
  const parts = Object.entries(value);
  const made = (all: typeof parts) => (Array.isArray(value) ? all.map(([, part]) => part) : Object.fromEntries(all));
  for (const [key, part] of parts) {
    if (!Array.isArray(value)) yield made(parts.filter(([name]) => name !== key));
    for (const worse of damaged(part)) yield made(parts.map(([name, one]) => [name, name === key ? worse : one]));
  }
}

export function environmentContract(name: string, make: Make): void {
  describe(`environment contract: ${name}`, () => {
    test('passes every check of the checker, none skipped', async () => {
      const report = await checkEnvironment(make);
      expect(report.passed, describeReport(report)).toBe(true);
      expect(report.checks.map((check) => check.name).sort()).toEqual([...CHECKS].sort());
      expect(report.checks.filter((check) => check.skipped !== undefined)).toEqual([]);
    });

    test('other seeds start elsewhere or move elsewhere, and starts lie in the space', async () => {
      const env = await make();
      const histories = new Set<string>();
      for (let seed = 0; seed < 8; seed++) {
        const { observation } = await env.reset({ seed });
        expect(contains(env.observationSpace, observation)).toBe(true);
        const history = [...observation];
        for (let rng = Rng.fromSeed(3), i = 0; i < 20; i++) {
          const result = await env.step(randomAction(env, rng));
          history.push(...result.observation);
          if (result.terminated || result.truncated) break;
        }
        histories.add(history.join());
      }
      expect(histories.size).toBeGreaterThan(4);
      await env.close();
    });

    test('an observation given out is not changed by later steps', async () => {
      const env = await make();
      const { observation } = await env.reset({ seed: 5 });
      const copy = observation.slice();
      await env.step(randomAction(env, Rng.fromSeed(1)));
      expect(observation).toEqual(copy);
      await env.close();
    });

    test('known functions agree with what is lived', async () => {
      const env = await make();
      const rng = Rng.fromSeed(11);
      let obs = (await env.reset({ seed: 2 })).observation;
      for (let i = 0; i < 200; i++) {
        const action = randomAction(env, rng);
        const result = await env.step(action);
        const expected = env.known?.terminated?.(result.observation, 0);
        if (expected !== undefined) expect(expected).toBe(result.terminated);
        const reward = env.known?.reward?.(obs, 0, action, 0, result.observation);
        if (reward !== undefined) expect(Math.abs(reward - result.reward)).toBeLessThan(1e-4);
        obs = result.terminated || result.truncated ? (await env.reset()).observation : result.observation;
      }
      await env.close();
    });

    test('a snapshot taken before the first episode is one', async () => {
      const [env, other] = [await make(), await make()];
      const snapshot = JSON.parse(JSON.stringify(await env.snapshot()));
      const first = await env.reset();
      await other.reset({ seed: 9 });
      expect(await other.restore(snapshot)).toHaveLength(rowSize(env.observationSpace));
      const step = async () => other.step(randomAction(env, Rng.fromSeed(1)));
      await expect(step()).rejects.toMatchObject({ code: 'ENV_NOT_RESET' });
      expect((await other.reset()).observation).toEqual(first.observation);
      await Promise.all([env.close(), other.close()]);
    });

    test('a damaged snapshot is refused, and nothing is changed', async () => {
      const env = await make();
      await env.reset({ seed: 1 });
      const { terminated } = await env.step(randomAction(env, Rng.fromSeed(1)));
      if (terminated) await env.reset();
      const { env: id, state } = JSON.parse(JSON.stringify(await env.snapshot()));
      const before = JSON.stringify(await env.snapshot());
      for (const worse of [undefined, ...damaged(state)]) {
        const restored = async () => env.restore({ env: id, state: worse });
        await expect(restored(), JSON.stringify(worse) ?? 'lost').rejects.toMatchObject({ code: 'SNAPSHOT_MISMATCH' });
        expect(JSON.stringify(await env.snapshot())).toBe(before);
      }
      await env.step(randomAction(env, Rng.fromSeed(2)));
      await env.close();
    });

    test('a snapshot of another environment is refused', async () => {
      const env = await make();
      await env.reset({ seed: 1 });
      const snapshot = await env.snapshot();
      const restored = async () => env.restore({ ...snapshot, env: 'another' });
      await expect(restored()).rejects.toThrow(/cannot be restored/);
      await env.close();
    });
  });
}
