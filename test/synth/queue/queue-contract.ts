// What every engine of the rollout queue keeps to.

import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { packError, reverieError } from '../../../src/core/errors.js';
import {
  type Lease,
  MAX_LOST_LEASES,
  type Outcome,
  type RolloutItem,
  type RolloutQueue,
} from '../../../src/synth/queue/rollout-queue.js';

/** As short as leases can be without running out in the middle of a slow machine's turn. */
export const LEASE_MS = 1200;
/** Long enough for any lease to run out and its item to come back. */
export const PATIENCE_MS = 12_000;

const hex = (text: string) => createHash('sha256').update(text).digest('hex');
const JOB = hex('job');

export function item(row: number, job = JOB): RolloutItem {
  return { id: hex(`${job} ${row}`), job, payload: Buffer.from(`row ${row}`) };
}

function result(text: string, note = '') {
  return { bytes: Buffer.from(text), note };
}

/** An end of a queue that keeps the outcomes it was told. */
interface End {
  readonly queue: RolloutQueue;
  readonly outcomes: Outcome[];
  /** The outcome of an item, once it is told. */
  outcome(id: string): Promise<Outcome>;
}

/** A queue for one test: its coordinator's end, and as many more as are asked for, closed after the test. */
interface QueueOfTest {
  readonly coordinator: End;
  end(): Promise<RolloutQueue>;
}

/** Most of a test is waiting for leases to run out: they wait beside each other. */
export function describeQueue(name: string, open: (queue: string) => Promise<RolloutQueue>): void {
  let count = 0;

  const test = it.extend<{ ends: QueueOfTest }>({
    // biome-ignore lint/correctness/noEmptyPattern: how a fixture says that it needs no other
    ends: async ({}, use) => {
      const queueName = `contract-${count++}`;
      const opened: RolloutQueue[] = [];
      const end = async () => {
        const queue = await open(queueName);
        opened.push(queue);
        return queue;
      };
      await use({ coordinator: withOutcomes(await end()), end });
      await Promise.all(opened.map((queue) => queue.close()));
    },
  });

  const one = async (queue: RolloutQueue): Promise<Lease> => {
    const [lease] = await queue.lease(1, { waitMs: PATIENCE_MS });
    expect(lease).toBeDefined();
    return lease;
  };

  describe.concurrent(name, () => {
    test('keeps the first description of a job', async ({ ends: { coordinator, end } }) => {
      const worker = await end();
      expect(await worker.description(JOB)).toBeUndefined();
      await coordinator.queue.describe(JOB, Buffer.from('first'));
      await coordinator.queue.describe(JOB, Buffer.from('second'));
      expect(Buffer.from((await worker.description(JOB))!).toString()).toBe('first');
    });

    test('hands out items in order, with what they carry, and brings results back', async ({
      ends: { coordinator, end },
    }) => {
      const worker = await end();
      await coordinator.queue.enqueue([item(0), item(1), item(2)]);
      expect(await coordinator.queue.stats()).toMatchObject({ queued: 3, running: 0, succeeded: 0 });
      const leases = await worker.lease(2, { waitMs: PATIENCE_MS });
      expect(leases.map((lease) => lease.item.id)).toEqual([item(0).id, item(1).id]);
      expect(leases.map((lease) => Buffer.from(lease.item.payload).toString())).toEqual(['row 0', 'row 1']);
      expect(leases[0].item.job).toBe(JOB);
      expect(await coordinator.queue.stats()).toMatchObject({ queued: 1, running: 2 });
      expect(await worker.ack(leases[1], result('one', 'by me'))).toBe(true);
      const outcome = await coordinator.outcome(item(1).id);
      expect(outcome).toMatchObject({ id: item(1).id, state: 'succeeded', result: { note: 'by me' } });
      expect(textOf(outcome)).toBe('one');
      expect(await coordinator.queue.stats()).toMatchObject({ queued: 1, running: 1, succeeded: 1 });
    });

    test('answers none where there are none, and ends a wait that is called off', async ({ ends: { coordinator } }) => {
      expect(await coordinator.queue.lease(4)).toEqual([]);
      const stop = new AbortController();
      const waiting = coordinator.queue.lease(4, { waitMs: 60_000, signal: stop.signal });
      stop.abort();
      expect(await waiting).toEqual([]);
    });

    test('brings an item that comes later to one that waits', async ({ ends: { coordinator, end } }) => {
      const worker = await end();
      const waiting = worker.lease(1, { waitMs: PATIENCE_MS });
      await coordinator.queue.enqueue([item(0)]);
      expect((await waiting).map((lease) => lease.item.id)).toEqual([item(0).id]);
    });

    test('queues an item once, however often it is enqueued', async ({ ends: { coordinator, end } }) => {
      const worker = await end();
      await coordinator.queue.enqueue([item(0)]);
      await coordinator.queue.enqueue([item(0), item(0)]);
      const lease = await one(worker);
      await coordinator.queue.enqueue([item(0)]);
      expect(await worker.lease(1)).toEqual([]);
      await worker.ack(lease, result('done'));
      await coordinator.outcome(item(0).id);
      const told = coordinator.outcomes.length;
      await coordinator.queue.enqueue([item(0)]);
      expect(await worker.lease(1)).toEqual([]);
      // Told again, for a coordinator that was away.
      expect(coordinator.outcomes.length).toBe(told + 1);
      const back = withOutcomes(await end());
      await back.queue.enqueue([item(0)]);
      expect(textOf(await back.outcome(item(0).id))).toBe('done');
    });

    test('gives the item of a lost lease to another, and takes the first result only', async ({
      ends: { coordinator, end },
    }) => {
      const [lost, other] = [await end(), await end()];
      await coordinator.queue.enqueue([item(0)]);
      const first = await one(lost);
      const second = await one(other);
      expect(second.item.id).toBe(first.item.id);
      expect(await other.ack(second, result('bytes', 'second'))).toBe(true);
      const outcome = await coordinator.outcome(item(0).id);
      expect(await lost.ack(first, result('bytes', 'first'))).toBe(false);
      expect(outcome).toMatchObject({ result: { note: 'second' } });
      await coordinator.queue.enqueue([item(0)]);
      expect(coordinator.outcomes.map(textOf)).toEqual(['bytes', 'bytes']);
      expect(await coordinator.queue.stats()).toMatchObject({ queued: 0, running: 0, succeeded: 1 });
    });

    test('takes a late result where there is none yet', async ({ ends: { coordinator, end } }) => {
      const [late, other] = [await end(), await end()];
      await coordinator.queue.enqueue([item(0)]);
      const first = await one(late);
      const second = await one(other);
      expect(await late.ack(first, result('early bird'))).toBe(true);
      expect(await other.ack(second, result('too late'))).toBe(false);
      expect(textOf(await coordinator.outcome(item(0).id))).toBe('early bird');
    });

    test('keeps a lease that is renewed', async ({ ends: { coordinator, end } }) => {
      const [worker, other] = [await end(), await end()];
      await coordinator.queue.enqueue([item(0), item(1)]);
      const kept = await one(worker);
      const left = await one(worker);
      const renewed = setInterval(() => void worker.heartbeat([kept]), LEASE_MS / 4);
      try {
        const found = await one(other);
        expect(found.item.id).toBe(left.item.id);
        expect(await other.lease(1)).toEqual([]);
        expect(await worker.heartbeat([kept])).toEqual([]);
        expect(await worker.ack(kept, result('kept'))).toBe(true);
      } finally {
        clearInterval(renewed);
      }
    });

    test('queues what is given back at once, and does not count it', async ({ ends: { coordinator, end } }) => {
      const worker = await end();
      await coordinator.queue.enqueue([item(0)]);
      for (let time = 0; time < MAX_LOST_LEASES + 2; time++) {
        const lease = await one(worker);
        expect(await coordinator.queue.stats()).toMatchObject({ queued: 0, running: 1 });
        await worker.nack(lease, { kind: 'given-back' });
      }
      expect(await worker.ack(await one(worker), result('at last'))).toBe(true);
      expect(textOf(await coordinator.outcome(item(0).id))).toBe('at last');
    });

    test('says why an item failed, and queues it anew when it is wanted again', async ({
      ends: { coordinator, end },
    }) => {
      const worker = await end();
      await coordinator.queue.enqueue([item(0)]);
      const error = packError(reverieError('SCENARIO_UNFIT', { name: 'a', family: 'b', wanted: 'c' }));
      await worker.nack(await one(worker), { kind: 'failed', error, note: 'by me' });
      const outcome = await coordinator.outcome(item(0).id);
      expect(outcome).toMatchObject({
        state: 'failed',
        note: 'by me',
        error: { code: error.code, values: error.values },
      });
      expect(await coordinator.queue.stats()).toMatchObject({ queued: 0, failed: 1 });
      await coordinator.queue.enqueue([item(0)]);
      expect(await coordinator.queue.stats()).toMatchObject({ queued: 1, failed: 0 });
      expect(await worker.ack(await one(worker), result('fine now'))).toBe(true);
    });

    test('gives up an item whose leases run out again and again', async ({ ends: { coordinator, end } }) => {
      const worker = await end();
      await coordinator.queue.enqueue([item(0)]);
      for (let time = 0; time < MAX_LOST_LEASES; time++) await one(worker);
      const stop = new AbortController();
      const next = worker.lease(1, { waitMs: PATIENCE_MS, signal: stop.signal });
      expect(await coordinator.outcome(item(0).id)).toMatchObject({ state: 'failed', error: undefined });
      stop.abort();
      expect(await next).toEqual([]);
    });

    test('cancels what is queued, not what is running; cancelled items can be queued anew', async ({
      ends: { coordinator, end },
    }) => {
      const worker = await end();
      await coordinator.queue.enqueue([item(0), item(1), item(2)]);
      const lease = await one(worker);
      const ids = [item(0).id, item(1).id, item(2).id, item(3).id];
      expect(await coordinator.queue.cancel(ids)).toEqual([item(1).id, item(2).id]);
      expect(await worker.lease(2)).toEqual([]);
      expect(await coordinator.queue.stats()).toMatchObject({ queued: 0, running: 1 });
      expect(await worker.ack(lease, result('done'))).toBe(true);
      await coordinator.queue.enqueue([item(1)]);
      expect(await coordinator.queue.stats()).toMatchObject({ queued: 1 });
      expect((await one(worker)).item.id).toBe(item(1).id);
    });

    test('forgets what has ended', async ({ ends: { coordinator, end } }) => {
      const worker = await end();
      await coordinator.queue.enqueue([item(0), item(1)]);
      await worker.ack(await one(worker), result('gone'));
      await coordinator.outcome(item(0).id);
      await coordinator.queue.forget([item(0).id]);
      expect(await coordinator.queue.stats()).toMatchObject({ queued: 1, succeeded: 0 });
      await coordinator.queue.enqueue([item(0)]);
      expect((await one(worker)).item.id).toBe(item(1).id);
      expect(await worker.ack(await one(worker), result('again'))).toBe(true);
    });

    test('carries results larger than any one message', async ({ ends: { coordinator, end } }) => {
      const worker = await end();
      await coordinator.queue.enqueue([item(0)]);
      const bytes = Buffer.alloc(3_500_000);
      for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 2_654_435_761) >>> 24;
      await worker.ack(await one(worker), { bytes, note: 'large' });
      const outcome = await coordinator.outcome(item(0).id);
      expect(outcome.state === 'succeeded' && Buffer.from(outcome.result.bytes).equals(bytes)).toBe(true);
    });

    test('counts the workers that told of themselves', async ({ ends: { coordinator, end } }) => {
      const worker = await end();
      await worker.announce({ id: 'a-1', slots: 4 });
      await worker.announce({ id: 'a-1', slots: 4 });
      await worker.announce({ id: 'b-2', slots: 1 });
      expect(await coordinator.queue.stats()).toMatchObject({ workers: 2 });
    });
  });
}

function withOutcomes(queue: RolloutQueue): End {
  const outcomes: Outcome[] = [];
  const waiting = new Map<string, (outcome: Outcome) => void>();
  queue.onOutcome((outcome) => {
    outcomes.push(outcome);
    waiting.get(outcome.id)?.(outcome);
  });
  const outcome = (id: string) => {
    const known = outcomes.find((one) => one.id === id);
    return known ? Promise.resolve(known) : new Promise<Outcome>((resolve) => waiting.set(id, resolve));
  };
  return { queue, outcomes, outcome };
}

function textOf(outcome: Outcome): string {
  return outcome.state === 'succeeded' ? Buffer.from(outcome.result.bytes).toString() : outcome.state;
}
