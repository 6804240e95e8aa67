// When to try again after a failure: exponential backoff with full jitter (Brooker, AWS 2015), Retry-After where the
// server gives one, and a budget so that retries cannot multiply the load of a server in trouble (Google SRE book, 22).

import { Rng } from '../core/rng.js';

const LONGEST_DELAY = 8;
/** A server that asks for more is asked again after this. */
export const LONGEST_RETRY_AFTER = 60;
const PACED_PER_SECOND = 50;
const FREE_RETRIES = 10;
/** Retries that a long time without any may save up for one bad moment. */
const MOST_TOKENS = 1000;

export class RetryPolicy {
  private tokens = FREE_RETRIES;
  private refilled: number;
  // Waits change when something is asked, never what is answered; so their stream is nobody's seed.
  private readonly rng = Rng.fromSeed(0).split('llm-backoff');

  constructor(
    private readonly share: number,
    private readonly firstDelay: number,
    private readonly now: () => number = () => performance.now() / 1000,
  ) {
    this.refilled = now();
  }

  /** Counts a request that is not a retry, which earns a share of one. */
  earn(): void {
    if (this.tokens < MOST_TOKENS) this.tokens += this.share;
  }

  /** Seconds to wait before retry number `retry` (from 1). */
  delay(retry: number, retryAfter: number | undefined): number {
    const longest = Math.min(LONGEST_DELAY, this.firstDelay * 2 ** (retry - 1));
    const backoff = longest * (0.25 + 0.75 * this.rng.uniform());
    const asked = Math.min(retryAfter ?? 0, LONGEST_RETRY_AFTER);
    return Math.max(backoff, asked, this.pace());
  }

  /** Takes a token; seconds until it would have been there. */
  private pace(): number {
    const now = this.now();
    const refill = (now - this.refilled) * PACED_PER_SECOND;
    // Time pays off debts and no more: only requests earn retries in advance.
    if (this.tokens < FREE_RETRIES) this.tokens = Math.min(FREE_RETRIES, this.tokens + refill);
    this.refilled = now;
    this.tokens--;
    return Math.max(0, -this.tokens / PACED_PER_SECOND);
  }
}

/** Seconds of a `Retry-After` header (RFC 9110: seconds, or a date), or of `retry-after-ms`; undefined if there is none. */
export function retryAfterSeconds(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): number | undefined {
  const milliseconds = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (milliseconds >= 0) return milliseconds / 1000;
  const text = headers['retry-after'];
  if (typeof text !== 'string') return undefined;
  const seconds = /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}
