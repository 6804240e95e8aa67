// Asks an OpenAI-compatible server, with everything that makes a call come back with an answer: a limit on what is in flight, retries, and
// what a refusal teaches about the server.

import { addCosts, type Cost, NO_COST } from '../core/cost.js';
import { ReverieError, reverieError } from '../core/errors.js';
import type { ModelStats } from './budget.js';
import { type Answer, type Completion, finishReply, MAX_REPLY_DEPTH, readCompletion } from './completion.js';
import type { LlmConfig } from './config.js';
import { Limiter, type Outcome, retryAfterSeconds, retryDelay, wait } from './flow.js';
import { depthExceeds } from './reply-json.js';
import { Capabilities, type PreparedRequest, requestBody, roomLeft } from './request.js';
import { assembledStream, isStream } from './stream.js';
import { type HttpReply, ReplyTooLarge, ServerFailure, Transport } from './transport.js';

/** Keys around the text of a reply. */
const ENVELOPE_DEPTH = 16;
/** One refusal teaches one thing. */
const MAX_LESSONS = 12;

interface Ask {
  readonly prepared: PreparedRequest;
  readonly signal: AbortSignal | undefined;
  /** Seconds (monotonic) at which it was first sent. */
  firstSent: number | undefined;
  /** Maximum tokens that the context leaves for the reply, once known from the server. */
  room?: number;
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
    private readonly config: LlmConfig & { readonly url: string },
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
  async ask(prepared: PreparedRequest, signal?: AbortSignal): Promise<Answer> {
    const ask: Ask = { prepared, signal, firstSent: undefined };
    for (let tries = 1; ; tries++) {
      try {
        return await this.tryOnce(ask);
      } catch (error) {
        if (!(error instanceof ServerFailure)) throw error;
        const delay = retryDelay(tries, this.config.retryDelaySeconds, error.retryAfter);
        // A busy server refuses immediately: retried until the deadline, with growing delays.
        const isLast = tries > this.config.retries && !error.isBusy;
        if (isLast || delay >= this.secondsLeft(ask)) throw error.toReverieError(tries);
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
    this.problem = `${this.config.url}: ${error.problem}`;
    return error.congestion ? 'congestion' : 'other';
  }

  /** Sends a request, and resends it in another form after a refusal, or after a reply that ignored the JSON mode. */
  private async exchange(ask: Ask): Promise<Answer> {
    const { config, capabilities, apiKey } = this;
    const { prepared } = ask;
    let wasted: Cost = NO_COST;
    const lessons: (() => void)[] = [];
    while (true) {
      const body = requestBody(prepared, config, capabilities, ask.room);
      const asked = body.structured && { schemaText: prepared.schema!.text, structured: body.structured };
      const reply = await this.send(body.text, ask);
      if (reply.status >= 200 && reply.status < 300) {
        try {
          const answer = this.read(reply, prepared);
          if (asked) capabilities.worked(asked.structured);
          const usage = addCosts(answer.reply.usage, wasted);
          return wasted.calls === 0 ? answer : { ...answer, reply: { ...answer.reply, usage } };
        } catch (error) {
          if (!(error instanceof ReverieError)) throw error;
          const cost = addCosts(wasted, (error.values.usage as Cost | undefined) ?? NO_COST);
          error.values.usage = cost;
          const mayBeIgnored = asked && error.code === 'LLM_REPLY_INVALID' && error.values.cut !== true;
          if (!mayBeIgnored || !capabilities.ignored(asked)) throw error;
          wasted = cost;
          continue;
        }
      }
      const failure = ServerFailure.ofReply(config.url, reply, retryAfterSeconds(reply.headers), apiKey);
      if (failure.isServers) throw failure;
      const isLesson = reply.status === 400 || reply.status === 422 || reply.status === 501;
      if (isLesson && lessons.length < MAX_LESSONS) {
        const room = ask.room === undefined ? roomLeft(failure.problem, body.text) : undefined;
        ask.room ??= room;
        const lesson = room === undefined ? capabilities.learn(failure.problem, body, asked) : () => {};
        if (lesson !== undefined && lessons.push(lesson)) continue;
      }
      // A refusal that quotes the request names keys that have nothing to do with it: other requests keep theirs.
      for (const forget of lessons) forget();
      throw failure.toReverieError(1);
    }
  }

  private async send(body: string, ask: Ask): Promise<HttpReply> {
    ask.firstSent ??= performance.now() / 1000;
    this.requests++;
    const { timeoutSeconds, model, maxReplyBytes: limit } = this.config;
    const seconds = Math.max(0.001, Math.min(timeoutSeconds, this.secondsLeft(ask)));
    try {
      return await this.transport.send(body, seconds, ask.signal, ask.prepared.request.session);
    } catch (error) {
      if (!(error instanceof ReplyTooLarge)) throw error;
      throw reverieError('LLM_REPLY_TOO_LARGE', { model, size: error.message, limit, retryable: true, ofModel: true });
    }
  }

  /** Throws ServerFailure if the body is not a completion, or reports a failure under a status of success. */
  private read(reply: HttpReply, prepared: PreparedRequest): Answer {
    const { url } = this.config;
    let completion: Completion;
    try {
      const body = parsed(reply);
      const code = errorCode(body);
      if (code !== undefined) throw ServerFailure.ofReply(url, { ...reply, status: code }, undefined, this.apiKey);
      completion = readCompletion(body);
    } catch (error) {
      if (error instanceof ServerFailure && !error.isServers) throw error.toReverieError(1);
      if (error instanceof ServerFailure) throw error;
      throw new ServerFailure({ url, problem: (error as Error).message, unreadable: true });
    }
    return finishReply(completion, prepared, this.config);
  }

  private secondsLeft({ firstSent }: Ask): number {
    const elapsed = firstSent === undefined ? 0 : performance.now() / 1000 - firstSent;
    return this.config.deadlineSeconds - elapsed;
  }
}

/** The HTTP status of an error within a reply, as gateways send it under status 200. */
function errorCode(body: unknown): number | undefined {
  const { error, choices } = body as { error?: { code?: unknown }; choices?: unknown };
  if (!error || (Array.isArray(choices) && choices.length > 0)) return undefined;
  const code = Number(error.code);
  return code >= 400 && code < 600 ? code : undefined;
}

function parsed(reply: HttpReply): unknown {
  const text = reply.text.replace(/^\uFEFF/, '');
  const depth = MAX_REPLY_DEPTH + ENVELOPE_DEPTH;
  if (isStream(text)) return assembledStream(text, depth);
  if (depthExceeds(text, depth)) throw new Error(`it is nested deeper than ${depth} levels`);
  try {
    return JSON.parse(text) ?? {};
  } catch {
    throw new Error(text.trim() === '' ? 'it is empty' : `it is not JSON ("${text.trim().slice(0, 60)}")`);
  }
}
