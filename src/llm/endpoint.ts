// One URL of a model: its connections, how much it may be sent, whether it is well, and what it has been found to accept.

import { Breaker } from './breaker.js';
import type { ServerConfig } from './config.js';
import type { EndpointStats } from './counters.js';
import { Capabilities, type Dialect, probeDialect } from './dialect.js';
import { Limiter } from './limiter.js';
import type { ServerFailure } from './server-failure.js';
import { type HttpReply, Transport } from './transport.js';

const PROBE_SECONDS = 5;

export class Endpoint {
  readonly limiter: Limiter;
  readonly breaker: Breaker;
  readonly capabilities: Capabilities;
  readonly transport: Transport;
  /** What is known now, without asking. */
  dialect: Dialect | undefined;
  /** How the last request failed, until one succeeds. */
  failure: ServerFailure | undefined;
  private probe: Promise<Dialect | undefined> | undefined;

  constructor(
    readonly url: string,
    config: ServerConfig,
    headers: Readonly<Record<string, string>>,
  ) {
    const { concurrency, minConcurrency, connectSeconds, timeoutSeconds, maxReplyBytes } = config;
    this.limiter = new Limiter(Math.min(minConcurrency, concurrency), concurrency);
    this.breaker = new Breaker(config.breakerFailures, config.breakerSeconds);
    this.capabilities = new Capabilities(config.structured);
    this.transport = new Transport(url, headers, {
      connections: concurrency,
      connectSeconds,
      timeoutSeconds,
      maxReplyBytes,
    });
    if (config.dialect !== 'auto') this.dialect = config.dialect;
  }

  /** Finds out the dialect once; until something answers, the server is spoken to as if it were OpenAI's. */
  async findDialect(): Promise<Dialect> {
    this.probe ??= probeDialect((path) => this.get(path));
    const found = await this.probe;
    if (found === undefined) this.probe = undefined;
    this.dialect = found;
    return found ?? 'openai';
  }

  stats(): EndpointStats {
    const { url, dialect, limiter, breaker, capabilities } = this;
    const { inFlight, limit } = limiter;
    const { structured, omitted } = capabilities;
    const picture = { url, dialect, inFlight, limit, breaker: breaker.state, structured, omitted: [...omitted] };
    return this.failure === undefined ? picture : { ...picture, problem: this.failure.problem };
  }

  private get(path: string): Promise<HttpReply | undefined> {
    const request = { method: 'GET', path, timeoutSeconds: PROBE_SECONDS } as const;
    return this.transport.send(request).catch(() => undefined);
  }
}
