// From a URL to a queue.

import { InProcessBroker, InProcessQueue } from './in-process-queue.js';
import { parseQueueUrl } from './queue-url.js';
import type { QueueOptions, RolloutQueue } from './rollout-queue.js';

/** All ends of `in-process:` queues of one name meet in one broker. */
const brokers = new Map<string, InProcessBroker>();

/** @throws QUEUE_URL_INVALID, QUEUE_UNREACHABLE */
export async function openQueue(url: string, options: QueueOptions): Promise<RolloutQueue> {
  const address = parseQueueUrl(url);
  switch (address.engine) {
    case 'in-process': {
      const broker = brokers.get(address.name) ?? new InProcessBroker();
      brokers.set(address.name, broker);
      return new InProcessQueue(broker, options);
    }
    case 'redis':
      return (await import('./redis-queue.js')).openRedisQueue(address, options);
    case 'nats':
      return (await import('./nats-queue.js')).openNatsQueue(address, options);
  }
}
