// The queue on Redis, and the one that tests of coordinator and workers use, held to the same contract.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openQueue } from '../../../src/synth/queue/open-queue.js';
import { type Broker, type BrokerKind, missingBroker, startBroker } from './brokers.js';
import { InProcessBroker, InProcessQueue } from './in-process-queue.js';
import { describeQueue, item, LEASE_MS, PATIENCE_MS } from './queue-contract.js';

const brokers = new Map<string, InProcessBroker>();
describeQueue('of the tests', async (name) => {
  const broker = brokers.get(name) ?? new InProcessBroker();
  brokers.set(name, broker);
  return new InProcessQueue(broker, { leaseMs: LEASE_MS });
});

onBroker('redis');

function onBroker(kind: BrokerKind): void {
  const missing = missingBroker(kind);
  describe.skipIf(missing !== undefined)(`${kind}${missing === undefined ? '' : ` (${missing})`}`, () => {
    let broker: Broker;
    beforeAll(async () => {
      broker = await startBroker(kind);
    });
    afterAll(() => broker?.stop());
    describeQueue('as a queue', (name) => openQueue(broker.url(name), { leaseMs: LEASE_MS }));

    it.concurrent('keeps the lease that workers ask for, though who leases nothing comes after them', async () => {
      const worker = await openQueue(broker.url('short'), { leaseMs: LEASE_MS });
      const coordinator = await openQueue(broker.url('short'), {});
      try {
        await coordinator.enqueue([item(0)]);
        expect(await worker.lease(1, { waitMs: PATIENCE_MS })).toHaveLength(1);
        // Long before a lease of the default length would have run out.
        const [again] = await worker.lease(1, { waitMs: PATIENCE_MS });
        expect(again.item.id).toBe(item(0).id);
      } finally {
        await Promise.all([coordinator.close(), worker.close()]);
      }
    });

    it('is waited for while it is away, and has what it had', async () => {
      let onTrouble: (line: string) => void = () => {};
      const trouble = new Promise<string>((resolve) => {
        onTrouble = resolve;
      });
      const coordinator = await openQueue(broker.url('away'), { leaseMs: LEASE_MS, onTrouble });
      const worker = await openQueue(broker.url('away'), { leaseMs: LEASE_MS });
      const done = new Promise((resolve) => coordinator.onOutcome(resolve));
      try {
        await coordinator.enqueue([item(0)]);
        const leased = worker.lease(1, { waitMs: 30_000 });
        await broker.kill();
        const told = coordinator.describe(item(0).job, Buffer.from('told while it was away'));
        expect(await trouble).toMatch(/^The queue at .* does not answer/);
        await broker.revive();
        const [lease] = await leased;
        expect(lease.item.id).toBe(item(0).id);
        expect(await worker.ack(lease, { bytes: Buffer.from('done'), note: '' })).toBe(true);
        await told;
        // What is never told is found when it is asked for again.
        await coordinator.enqueue([item(0)]);
        expect(await done).toMatchObject({ id: item(0).id, state: 'succeeded' });
        expect(await worker.description(item(0).job)).toBeDefined();
      } finally {
        await Promise.all([coordinator.close(), worker.close()]);
      }
    });
  });
}
