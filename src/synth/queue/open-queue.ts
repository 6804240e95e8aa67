// From a URL to a queue. Who may use it is said in the environment alone, as command lines are recorded with runs.

import { reverieError } from '../../core/errors.js';
import type { QueueAddress, QueueOptions, RolloutQueue } from './rollout-queue.js';

/** @throws QUEUE_REFUSED */
export async function openQueue(url: string, options: QueueOptions): Promise<RolloutQueue> {
  const address = parseQueueUrl(url);
  return (await import('./redis-queue.js')).openRedisQueue(address, options);
}

/**
 * User and password come from REVERIE_QUEUE_USER and REVERIE_QUEUE_PASSWORD.
 * @throws QUEUE_REFUSED
 */
export function parseQueueUrl(
  text: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): QueueAddress {
  const refuse = (problem: string) =>
    reverieError('QUEUE_REFUSED', {
      problem: `"${text.replace(/\/\/[^@/]*@/, '//***@')}" names no queue: ${problem}.`,
      hint: 'Give one of: redis://host:port/name (rediss:// with TLS).',
    });
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['redis:', 'rediss:'].includes(url.protocol)) throw refuse('it is of no known form');
  if (url.username !== '' || url.password !== '') {
    throw refuse('it holds a user or password, which belong into REVERIE_QUEUE_USER and REVERIE_QUEUE_PASSWORD');
  }
  if (url.search !== '' || url.hash !== '') throw refuse('it has a query or fragment, which mean nothing');
  const name = url.pathname.replace(/^\//, '') || 'reverie';
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw refuse('the name must be up to 64 letters, digits, dashes and underscores');
  }
  if (url.hostname === '') throw refuse('it names no host');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = url.port === '' ? 6379 : Number(url.port);
  const { REVERIE_QUEUE_USER: user, REVERIE_QUEUE_PASSWORD: password } = env;
  return { tls: url.protocol === 'rediss:', host, port, name, user, password };
}
