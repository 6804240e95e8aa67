// Which queue a URL means. Who may use it is said in the environment alone, as command lines are recorded with runs.

import { reverieError } from '../../core/errors.js';

export interface QueueAddress {
  readonly engine: 'in-process' | 'redis' | 'nats';
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Name of the queue: letters, digits, dashes, underscores. */
  readonly name: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
}

export const QUEUE_URL_FORMS =
  'redis://host:port/name, nats://host:port/name (rediss:// and natss:// with TLS), in-process:';

const SCHEMES: Readonly<Record<string, Pick<QueueAddress, 'engine' | 'tls' | 'port'>>> = {
  'redis:': { engine: 'redis', tls: false, port: 6379 },
  'rediss:': { engine: 'redis', tls: true, port: 6379 },
  'nats:': { engine: 'nats', tls: false, port: 4222 },
  'natss:': { engine: 'nats', tls: true, port: 4222 },
  'in-process:': { engine: 'in-process', tls: false, port: 0 },
};

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * User and password come from REVERIE_QUEUE_USER and REVERIE_QUEUE_PASSWORD.
 * @throws QUEUE_URL_INVALID
 */
export function parseQueueUrl(text: string, env: Environment = process.env): QueueAddress {
  const refuse = (problem: string) =>
    reverieError('QUEUE_URL_INVALID', { url: withoutSecrets(text), problem, forms: QUEUE_URL_FORMS });
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const scheme = url && SCHEMES[url.protocol];
  if (url === undefined || scheme === undefined) throw refuse('it is of no known form');
  if (url.username !== '' || url.password !== '') {
    throw refuse('it holds a user or password, which belong into REVERIE_QUEUE_USER and REVERIE_QUEUE_PASSWORD');
  }
  if (url.search !== '' || url.hash !== '') throw refuse('it has a query or fragment, which mean nothing');
  const name = url.pathname.replace(/^\//, '') || 'reverie';
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw refuse('the name must be up to 64 letters, digits, dashes and underscores');
  }
  if (scheme.engine !== 'in-process' && url.hostname === '') throw refuse('it names no host');
  const { engine, tls, port } = scheme;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const { REVERIE_QUEUE_USER: user, REVERIE_QUEUE_PASSWORD: password } = env;
  return { engine, tls, host, port: url.port === '' ? port : Number(url.port), name, user, password };
}

export function addressText({ engine, host, port, name, tls }: QueueAddress): string {
  return engine === 'in-process' ? 'in-process:' : `${engine}${tls ? 's' : ''}://${host}:${port}/${name}`;
}

function withoutSecrets(text: string): string {
  return text.replace(/\/\/[^@/]*@/, '//***@');
}
