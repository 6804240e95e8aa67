// What is waited for is asked for again: brokers may lose things, and not tell of others.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RolloutCalls } from '../../../src/run/queue/coordinator.js';
import { InProcessBroker, InProcessQueue } from '../../synth/queue/in-process-queue.js';

const item = { id: 'a'.repeat(64), job: 'b'.repeat(64), payload: Buffer.from('row') };

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('rollouts that are waited for', () => {
  it('are queued again, and their job described again, in a broker that lost everything', async () => {
    const broker = new InProcessBroker();
    const queue = new InProcessQueue(broker, { leaseMs: 60_000 });
    let described = 0;
    let ticks = 0;
    const calls = new RolloutCalls(
      queue,
      () => ticks++,
      async () => {
        described++;
      },
    );
    const outcome = calls.call(item);
    await until(() => broker.entries.size === 1);
    broker.entries.clear();
    for (let second = 1; second <= 30; second++) {
      vi.advanceTimersByTime(1000);
      await until(() => ticks === second);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => broker.entries.size === 1);
    expect(described).toBe(1);
    const [lease] = await queue.lease(1);
    await queue.ack(lease, { bytes: Buffer.from('lived'), note: '' });
    expect(await outcome).toMatchObject({ state: 'succeeded' });
    await calls.close();
  });

  it('end with what the queue fails with', async () => {
    const queue = new InProcessQueue(new InProcessBroker(), { leaseMs: 60_000 });
    queue.enqueue = async () => {
      throw new Error('no room');
    };
    const calls = new RolloutCalls(
      queue,
      () => {},
      async () => {},
    );
    await expect(calls.call(item)).rejects.toThrow('no room');
    await calls.close();
  });
});
