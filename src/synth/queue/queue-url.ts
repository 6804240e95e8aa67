// Which queue a URL means. Who may use it is said in the environment alone, as command lines are recorded with runs.

import { reverieError } from '../../core/errors.js';

export interface QueueAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Name of the queue: letters, digits, dashes, underscores. */
  readonly name: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
}

export const QUEUE_URL_FORMS = 'redis://host:port/name (rediss:// with TLS)';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * User and password come from REVERIE_QUEUE_USER and REVERIE_QUEUE_PASSWORD.
 * @throws QUEUE_REFUSED
 */
export function parseQueueUrl(text: string, env: Environment = process.env): QueueAddress {
  const shown = text.replace(/\/\/[^@/]*@/, '//***@');
  const refuse = (problem: string) =>
    reverieError('QUEUE_REFUSED', {
      problem: `"${shown}" names no queue: ${problem}.`,
      hint: `Give one of: ${QUEUE_URL_FORMS}.`,
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
  const { REVERIE_QUEUE_USER: user, REVERIE_QUEUE_PASSWORD: password } = env;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return {
    tls: url.protocol === 'rediss:',
    host,
    port: url.port === '' ? 6379 : Number(url.port),
    name,
    user,
    password,
  };
}

export function addressText({ host, port, name, tls }: QueueAddress): string {
  return `redis${tls ? 's' : ''}://${host}:${port}/${name}`;
}
