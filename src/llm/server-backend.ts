// Asks OpenAI-compatible servers, with everything that makes a call come back with an answer: a limit on what is in
// flight, other URLs, retries, and what a refusal teaches about the server.

import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ReverieError, reverieError } from '../core/errors.js';
import type { Counters, EndpointStats } from './budget.js';
import { type Answer, type Backend, type Completion, finishReply, readCompletion } from './completion.js';
import type { ServerConfig } from './config.js';
import { type CallSignal, Limiter, type Outcome, retryAfterSeconds, retryDelay, wait } from './flow.js';
import { depthExceeds } from './reply-json.js';
import { Capabilities, type Dialect, type PreparedRequest, probeDialect, requestBody } from './request.js';
import { type HttpReply, ServerFailure, Transport, TransportError } from './transport.js';

/** Keys around the text of a reply. */
const ENVELOPE_DEPTH = 16;
/** One refusal teaches one thing. */
const MAX_LESSONS = 12;

interface Ask {
  readonly prepared: PreparedRequest;
  readonly signal: CallSignal | undefined;
  /** Seconds (monotonic) at which it was first sent. */
  firstSent: number | undefined;
  tried: Endpoint | undefined;
}

export class ServerBackend implements Backend {
  private readonly all: readonly Endpoint[];
  private readonly choice: EndpointChoice;

  /** `apiKey` is sent to every URL and shown nowhere. */
  constructor(
    private readonly config: ServerConfig,
    private readonly apiKey: string | undefined,
    private readonly counters: Counters,
  ) {
    const headers = {
      'content-type': 'application/json',
      ...(apiKey === undefined ? undefined : { authorization: `Bearer ${apiKey}` }),
    };
    const urls = typeof config.url === 'string' ? [config.url] : config.url;
    this.all = urls.map((url) => new Endpoint(url, config, headers));
    this.choice = new EndpointChoice(this.all);
  }

  async ask(prepared: PreparedRequest, signal?: CallSignal): Promise<Answer> {
    const ask: Ask = { prepared, signal, firstSent: undefined, tried: undefined };
    for (let tries = 1; ; tries++) {
      try {
        return await this.tryOnce(ask);
      } catch (error) {
        if (!(error instanceof ServerFailure)) throw error;
        const delay = retryDelay(tries, this.config.retryDelaySeconds, error.retryAfter);
        if (tries > this.config.retries || delay >= this.secondsLeft(ask)) throw error.toReverieError(tries);
        this.counters.retries++;
        await wait(delay, signal);
      }
    }
  }

  endpoints(): readonly EndpointStats[] {
    return this.all.map((endpoint) => endpoint.stats());
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map(({ transport }) => transport.close()));
  }

  private async tryOnce(ask: Ask): Promise<Answer> {
    const endpoint = this.choice.choose(ask.prepared.request.messages[0]?.content ?? '', ask.tried);
    const { limiter } = endpoint;
    ask.tried = endpoint;
    const epoch = limiter.tryAcquire() ?? (await limiter.acquire(ask.signal));
    let outcome: Outcome = 'other';
    try {
      const reply = await this.exchange(endpoint, ask);
      endpoint.failure = undefined;
      outcome = 'success';
      return reply;
    } catch (error) {
      outcome = this.judge(endpoint, error);
      throw error;
    } finally {
      limiter.release(epoch, outcome);
    }
  }

  /** What a failure says about the server. */
  private judge(endpoint: Endpoint, error: unknown): Outcome {
    if (error instanceof ReverieError) {
      // It answered: what it said is another matter.
      endpoint.failure = undefined;
      return 'success';
    }
    if (!(error instanceof ServerFailure)) return 'other';
    endpoint.failure = error;
    endpoint.failedAt = performance.now();
    return error.congestion ? 'congestion' : 'other';
  }

  /** Sends, and sends again what a refusal teaches to ask otherwise. */
  private async exchange(endpoint: Endpoint, ask: Ask): Promise<Answer> {
    const dialect = endpoint.dialect ?? (await endpoint.findDialect());
    const { capabilities } = endpoint;
    const { prepared } = ask;
    for (let lessons = 0; ; lessons++) {
      const body = requestBody(prepared, { config: this.config, dialect, capabilities });
      const reply = await this.send(endpoint, body.text, ask);
      if (reply.status >= 200 && reply.status < 300) return this.read(endpoint, reply, prepared);
      const failure = ServerFailure.ofReply(endpoint.url, reply, retryAfterSeconds(reply.headers), this.apiKey);
      if (failure.isServers) throw failure;
      const asked = body.structured && { schemaText: prepared.schema!.text, structured: body.structured };
      const isLesson = reply.status === 400 || reply.status === 422 || reply.status === 501;
      if (isLesson && lessons < MAX_LESSONS && capabilities.learn(failure.problem, body.text, asked)) continue;
      this.counters.refused++;
      throw failure.toReverieError(1);
    }
  }

  private async send({ transport, url }: Endpoint, body: string, ask: Ask): Promise<HttpReply> {
    const start = performance.now();
    ask.firstSent ??= start / 1000;
    this.counters.requests++;
    const timeoutSeconds = Math.max(0.001, Math.min(this.config.timeoutSeconds, this.secondsLeft(ask)));
    try {
      const reply = await transport.send(
        { method: 'POST', path: 'chat/completions', body, timeoutSeconds },
        ask.signal,
      );
      this.counters.addLatency((performance.now() - start) / 1000);
      return reply;
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      if (error.problem !== 'too-large') throw ServerFailure.ofTransport(url, error);
      const { model, maxReplyBytes: limit } = this.config;
      throw reverieError('LLM_REPLY_TOO_LARGE', { model, size: error.message, limit, retryable: true, ofModel: true });
    }
  }

  private read({ url }: Endpoint, reply: HttpReply, prepared: PreparedRequest): Answer {
    let completion: Completion;
    try {
      completion = readCompletion(this.parse(reply));
    } catch (error) {
      throw new ServerFailure({
        url,
        problem: (error as Error).message,
        unreadable: true,
      });
    }
    return finishReply(completion, prepared, this.config, this.counters);
  }

  private parse({ text }: HttpReply): unknown {
    const depth = this.config.maxReplyDepth + ENVELOPE_DEPTH;
    if (depthExceeds(text, depth)) throw new Error(`it is nested deeper than ${depth} levels`);
    try {
      return JSON.parse(text);
    } catch {
      throw new Error(`it is not JSON ("${text.slice(0, 60)}")`);
    }
  }

  private secondsLeft({ firstSent }: Ask): number {
    const elapsed = firstSent === undefined ? 0 : performance.now() / 1000 - firstSent;
    return this.config.deadlineSeconds - elapsed;
  }
}

// Which of several URLs a request goes to: the one that its first message always goes to, as that server has it in its
// prefix cache (rendezvous hashing, Thaler and Ravishankar 1998), unless it is unwell or has much more to do than the
// others (bounded loads, Mirrokni et al. 2018).

const MOST_LOAD = 1.25;

class EndpointChoice {
  private readonly orders = new LRUCache<string, readonly Endpoint[]>({ max: 1024 });

  constructor(private readonly endpoints: readonly Endpoint[]) {}

  /** `tried`: not again, if there is another. */
  choose(firstMessage: string, tried?: Endpoint): Endpoint {
    if (this.endpoints.length === 1) return this.endpoints[0];
    const order = this.order(firstMessage).filter((endpoint) => endpoint !== tried);
    const well = order.filter((endpoint) => endpoint.isWell);
    const candidates = well.length > 0 ? well : order;
    const inFlight = candidates.reduce((sum, { limiter }) => sum + limiter.inFlight, 0);
    const most = Math.ceil((MOST_LOAD * (inFlight + 1)) / candidates.length);
    const free = candidates.find(({ limiter: { inFlight, limit } }) => inFlight < limit && inFlight < most);
    return free ?? candidates.reduce((a, b) => (load(b) < load(a) ? b : a));
  }

  private order(firstMessage: string): readonly Endpoint[] {
    let order = this.orders.get(firstMessage);
    if (order === undefined) {
      const ranked = this.endpoints.map((endpoint) => ({
        endpoint,
        rank: hash('sha256', `${endpoint.url}\n${firstMessage}`),
      }));
      order = ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1)).map(({ endpoint }) => endpoint);
      this.orders.set(firstMessage, order);
    }
    return order;
  }
}

function load({ limiter: { inFlight, limit } }: Endpoint): number {
  return inFlight / limit;
}

// One URL of a model: its connections, how much it may be sent, whether it is well, and what it has been found to accept.

const PROBE_SECONDS = 5;
/** How long others are preferred to one that failed. */
const REST_MILLISECONDS = 5000;

export class Endpoint {
  readonly limiter: Limiter;
  readonly capabilities: Capabilities;
  readonly transport: Transport;
  /** What is known now, without asking. */
  dialect: Dialect | undefined;
  /** How the last request failed, until one succeeds, and when (monotonic milliseconds). */
  failure: ServerFailure | undefined;
  failedAt = 0;
  private probe: Promise<Dialect | undefined> | undefined;

  constructor(
    readonly url: string,
    config: ServerConfig,
    headers: Readonly<Record<string, string>>,
  ) {
    const { concurrency, minConcurrency, connectSeconds, timeoutSeconds, maxReplyBytes } = config;
    this.limiter = new Limiter(Math.min(minConcurrency, concurrency), concurrency);
    this.capabilities = new Capabilities(config.structured);
    this.transport = new Transport(url, headers, {
      connections: concurrency,
      connectSeconds,
      timeoutSeconds,
      maxReplyBytes,
    });
    if (config.dialect !== 'auto') this.dialect = config.dialect;
  }

  /** Whether it may be preferred: it did not fail just now, or only asked for less. */
  get isWell(): boolean {
    return this.failure === undefined || this.failure.slowDown || performance.now() - this.failedAt > REST_MILLISECONDS;
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
    const { url, dialect, limiter, capabilities } = this;
    const { inFlight, limit } = limiter;
    const { structured, omitted } = capabilities;
    const picture = { url, dialect, inFlight, limit, structured, omitted: [...omitted] };
    return this.failure === undefined ? picture : { ...picture, problem: this.failure.problem };
  }

  private get(path: string): Promise<HttpReply | undefined> {
    const request = { method: 'GET', path, timeoutSeconds: PROBE_SECONDS } as const;
    return this.transport.send(request).catch(() => undefined);
  }
}
