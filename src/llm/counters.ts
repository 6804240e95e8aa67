// What a model counts while it works, and the picture of it that progress and reports show.

import { addCosts, type Cost, NO_COST } from '../core/cost.js';
import type { BreakerState } from './breaker.js';

export interface EndpointStats {
  readonly url: string;
  /** Found out once it was asked; undefined before. */
  readonly dialect?: string;
  readonly inFlight: number;
  /** Requests that may be in flight at once, now. */
  readonly limit: number;
  readonly breaker: BreakerState;
  /** How JSON is asked for. */
  readonly structured: string;
  /** Keys that the server refused, so that they are no longer sent. */
  readonly omitted: readonly string[];
  /** How its last request failed; absent where it succeeded. */
  readonly problem?: string;
}

export interface ModelStats {
  /** Calls of `chat`. */
  readonly calls: number;
  /** Requests sent, retries included. */
  readonly requests: number;
  readonly retries: number;
  /** Replies from memory or disk, and calls that shared the reply of an equal one in flight. */
  readonly cacheHits: number;
  /** Entries of the cache that were damaged, and asked again. */
  readonly corruptEntries: number;
  /** Replies whose token counts were missing or could not be true. */
  readonly estimatedUsage: number;
  /** Replies whose JSON had to be mended. */
  readonly repaired: number;
  /** Replies that could not be used (LLM_REPLY_INVALID, LLM_REPLY_TOO_LARGE). */
  readonly invalid: number;
  readonly refused: number;
  readonly inFlight: number;
  /** Spent by this model since it was made, replies that could not be used included. */
  readonly spent: Cost;
  /** Seconds from sending to the whole reply, of the last thousand replies; null before the first. */
  readonly latency: { readonly p50: number; readonly p99: number } | null;
  readonly endpoints: readonly EndpointStats[];
}

const LATENCIES = 1024;

export class Counters {
  calls = 0;
  requests = 0;
  retries = 0;
  cacheHits = 0;
  corruptEntries = 0;
  estimatedUsage = 0;
  repaired = 0;
  invalid = 0;
  refused = 0;
  spent: Cost = NO_COST;
  private readonly latencies = new Float64Array(LATENCIES);
  private replies = 0;

  addLatency(seconds: number): void {
    this.latencies[this.replies++ % LATENCIES] = seconds;
  }

  charge(usage: Cost): void {
    this.spent = addCosts(this.spent, usage);
  }

  picture(endpoints: readonly EndpointStats[], inFlight: number): ModelStats {
    const { calls, requests, retries, cacheHits, corruptEntries, estimatedUsage, repaired, invalid, refused, spent } =
      this;
    const counts = { calls, requests, retries, cacheHits, corruptEntries, estimatedUsage, repaired, invalid, refused };
    return { ...counts, inFlight, spent, latency: this.latency(), endpoints };
  }

  private latency(): ModelStats['latency'] {
    const count = Math.min(this.replies, LATENCIES);
    if (count === 0) return null;
    const sorted = this.latencies.slice(0, count).sort();
    return { p50: sorted[Math.floor(0.5 * (count - 1))], p99: sorted[Math.ceil(0.99 * (count - 1))] };
  }
}
