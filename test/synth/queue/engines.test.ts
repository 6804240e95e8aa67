// The queue's engines, each held to the same contract: in this process, on Redis, on NATS.

import { afterAll, beforeAll, describe } from 'vitest';
import { openQueue } from '../../../src/synth/index.js';
import { type Broker, type BrokerKind, missingBroker, startBroker } from './brokers.js';
import { describeQueue, LEASE_MS } from './queue-contract.js';

describeQueue('in this process', (name) => openQueue(`in-process:/${name}`, { leaseMs: LEASE_MS }));

for (const kind of ['redis', 'nats'] as const) onBroker(kind);

function onBroker(kind: BrokerKind): void {
  const missing = missingBroker(kind);
  describe.skipIf(missing !== undefined)(`${kind}${missing === undefined ? '' : ` (${missing})`}`, () => {
    let broker: Broker;
    beforeAll(async () => {
      broker = await startBroker(kind);
    });
    afterAll(() => broker?.stop());
    describeQueue('as a queue', (name) => openQueue(broker.url(name), { leaseMs: LEASE_MS }));
  });
}
