// From a URL to a queue.

import { parseQueueUrl } from './queue-url.js';
import type { QueueOptions, RolloutQueue } from './rollout-queue.js';

/** @throws QUEUE_REFUSED, QUEUE_REFUSED */
export async function openQueue(url: string, options: QueueOptions): Promise<RolloutQueue> {
  const address = parseQueueUrl(url);
  return (await import('./redis-queue.js')).openRedisQueue(address, options);
}
