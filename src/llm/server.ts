// Asks an OpenAI-compatible server, with everything that makes a call come back with an answer: a limit on what is in flight, retries, and
// what a refusal teaches about the server.

import { ReverieError, reverieError } from '../core/errors.js';
import type { ModelStats } from './budget.js';
import { type Answer, type Completion, finishReply, MAX_REPLY_DEPTH, readCompletion } from './completion.js';
import type { LlmConfig } from './config.js';
import { type CallSignal, Limiter, type Outcome, retryAfterSeconds, retryDelay, wait } from './flow.js';
import { depthExceeds } from './reply-json.js';
import { Capabilities, type PreparedRequest, requestBody } from './request.js';
import { type HttpReply, ReplyTooLarge, ServerFailure, Transport } from './transport.js';

/** Keys around the text of a reply. */
const ENVELOPE_DEPTH = 16;
/** One refusal teaches one thing. */
const MAX_LESSONS = 12;

interface Ask {
  readonly prepared: PreparedRequest;
  readonly signal: CallSignal | undefined;
  /** Seconds (monotonic) at which it was first sent. */
  firstSent: number | undefined;
}

export class ChatServer {
  private readonly limiter: Limiter;
  private readonly capabilities: Capabilities;
  private readonly transport: Transport;
  private requests = 0;
  private retries = 0;
  /** How the last request failed; undefined where it succeeded. */
  private problem: string | undefined;

  /** `apiKey` is sent to the URL and shown nowhere. */
  constructor(
    private readonly config: LlmConfig,
    private readonly apiKey: string | undefined,
  ) {
    const { url, concurrency, maxReplyBytes, structured } = config;
    this.limiter = new Limiter(1, concurrency);
    this.capabilities = new Capabilities(structured);
    const headers = {
      'content-type': 'application/json',
      ...(apiKey === undefined ? undefined : { authorization: `Bearer ${apiKey}` }),
    };
    this.transport = new Transport(url, headers, { connections: concurrency, maxReplyBytes });
  }

  /**
   * Asks, again where that is worthwhile. Rejects as `LanguageModel.chat` does; an error after which something has to be paid says so in
   * `values.usage` (a Cost).
   */
  async ask(prepared: PreparedRequest, signal?: CallSignal): Promise<Answer> {
    const ask: Ask = { prepared, signal, firstSent: undefined };
    for (let tries = 1; ; tries++) {
      try {
        return await this.tryOnce(ask);
      } catch (error) {
        if (!(error instanceof ServerFailure)) throw error;
        const delay = retryDelay(tries, this.config.retryDelaySeconds, error.retryAfter);
        if (tries > this.config.retries || delay >= this.secondsLeft(ask)) throw error.toReverieError(tries);
        this.retries++;
        await wait(delay, signal);
      }
    }
  }

  stats(): Omit<ModelStats, 'cacheHits' | 'spent'> {
    const { requests, retries, problem, limiter, capabilities } = this;
    const { inFlight, limit } = limiter;
    const { structured, omitted } = capabilities;
    const counted = { requests, retries, inFlight, limit, structured, omitted: [...omitted] };
    return problem === undefined ? counted : { ...counted, problem };
  }

  close(): Promise<void> {
    return this.transport.close();
  }

  private async tryOnce(ask: Ask): Promise<Answer> {
    const epoch = this.limiter.tryAcquire() ?? (await this.limiter.acquire(ask.signal));
    let outcome: Outcome = 'other';
    try {
      const answer = await this.exchange(ask);
      this.problem = undefined;
      outcome = 'success';
      return answer;
    } catch (error) {
      outcome = this.judge(error);
      throw error;
    } finally {
      this.limiter.release(epoch, outcome);
    }
  }

  /** What a failure says about the server. */
  private judge(error: unknown): Outcome {
    if (error instanceof ReverieError) {
      // It answered: what it said is another matter.
      this.problem = undefined;
      return 'success';
    }
    if (!(error instanceof ServerFailure)) return 'other';
    this.problem = error.problem;
    return error.congestion ? 'congestion' : 'other';
  }

  /** Sends, and sends again what a refusal teaches to ask otherwise. */
  private async exchange(ask: Ask): Promise<Answer> {
    const { config, capabilities, apiKey } = this;
    const { prepared } = ask;
    for (let lessons = 0; ; lessons++) {
      const body = requestBody(prepared, config, capabilities);
      const reply = await this.send(body.text, ask);
      if (reply.status >= 200 && reply.status < 300) return this.read(reply, prepared);
      const failure = ServerFailure.ofReply(config.url, reply, retryAfterSeconds(reply.headers), apiKey);
      if (failure.isServers) throw failure;
      const asked = body.structured && { schemaText: prepared.schema!.text, structured: body.structured };
      const isLesson = reply.status === 400 || reply.status === 422 || reply.status === 501;
      if (isLesson && lessons < MAX_LESSONS && capabilities.learn(failure.problem, body.text, asked)) continue;
      throw failure.toReverieError(1);
    }
  }

  private async send(body: string, ask: Ask): Promise<HttpReply> {
    ask.firstSent ??= performance.now() / 1000;
    this.requests++;
    const { timeoutSeconds, model, maxReplyBytes: limit } = this.config;
    const seconds = Math.max(0.001, Math.min(timeoutSeconds, this.secondsLeft(ask)));
    try {
      return await this.transport.send(body, seconds, ask.signal);
    } catch (error) {
      if (!(error instanceof ReplyTooLarge)) throw error;
      throw reverieError('LLM_REPLY_TOO_LARGE', { model, size: error.message, limit, retryable: true, ofModel: true });
    }
  }

  private read(reply: HttpReply, prepared: PreparedRequest): Answer {
    let completion: Completion;
    try {
      completion = readCompletion(parsed(reply));
    } catch (error) {
      throw new ServerFailure({ url: this.config.url, problem: (error as Error).message, unreadable: true });
    }
    return finishReply(completion, prepared, this.config);
  }

  private secondsLeft({ firstSent }: Ask): number {
    const elapsed = firstSent === undefined ? 0 : performance.now() / 1000 - firstSent;
    return this.config.deadlineSeconds - elapsed;
  }
}

function parsed({ text }: HttpReply): unknown {
  const depth = MAX_REPLY_DEPTH + ENVELOPE_DEPTH;
  if (depthExceeds(text, depth)) throw new Error(`it is nested deeper than ${depth} levels`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`it is not JSON ("${text.slice(0, 60)}")`);
  }
}
