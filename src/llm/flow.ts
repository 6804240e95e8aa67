// Listening for the end of a run: thousands of calls share one signal, which would search all of its listeners for each
// one that is taken off.

import { Rng } from '../core/rng.js';

const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `callback` once the signal, not aborted yet, is; until the function it answers is called. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const known = listeners.get(signal);
  const callbacks = known ?? new Set<() => void>();
  if (known === undefined) {
    listeners.set(signal, callbacks);
    const callAll = () => {
      for (const each of [...callbacks]) each();
      callbacks.clear();
    };
    signal.addEventListener('abort', callAll, { once: true });
  }
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

/** What a call that was called off rejects with: always an AbortError, whatever reason was given. */
export function abortError(signal: AbortSignal): Error {
  const { reason } = signal;
  if (reason instanceof Error && reason.name === 'AbortError') return reason;
  const error = new DOMException('The call was called off.', 'AbortError');
  return Object.assign(error, { cause: reason });
}

/** Resolves after so many seconds. Rejects with an AbortError. */
export function wait(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortError(signal));
    const timer = setTimeout(finish, seconds * 1000);
    const forgetSignal = signal && onAbort(signal, finish);
    function finish(): void {
      clearTimeout(timer);
      forgetSignal?.();
      if (signal?.aborted) reject(abortError(signal));
      else resolve();
    }
  });
}

// How many requests a server is sent at once: additive increase, multiplicative decrease (Chiu and Jain 1989), started
// by doubling as TCP does (RFC 5681). The limit grows only while it is what holds requests back.

export type Outcome = 'success' | 'congestion' | 'other';

interface Waiter {
  resolve: ((epoch: number) => void) | undefined;
}

const START = 16;

export class Limiter {
  private current: number;
  private slowStart = true;
  private running = 0;
  /** Counts cuts: a request sent before the last cut tells nothing about the limit after it. */
  private epoch = 0;
  private queue: Waiter[] = [];
  private head = 0;

  constructor(
    private readonly minimum: number,
    private readonly maximum: number,
  ) {
    this.current = Math.min(maximum, Math.max(START, minimum));
  }

  get limit(): number {
    return Math.floor(this.current);
  }

  get inFlight(): number {
    return this.running;
  }

  /** Takes a place at once; undefined if none is free. The number goes to `release`. */
  tryAcquire(): number | undefined {
    if (this.running + 1 > this.current) return undefined;
    this.running++;
    return this.epoch;
  }

  /** Waits for a place, in order of arrival. Rejects with the signal's reason once it is aborted. */
  acquire(signal?: AbortSignal): Promise<number> {
    return new Promise((resolve, reject) => {
      const forgetSignal = signal && onAbort(signal, abandon);
      const waiter: Waiter = {
        resolve: (epoch) => {
          forgetSignal?.();
          resolve(epoch);
        },
      };
      this.queue.push(waiter);
      function abandon(): void {
        waiter.resolve = undefined;
        reject(abortError(signal!));
      }
    });
  }

  release(epoch: number, outcome: Outcome): void {
    if (outcome === 'congestion') this.cut(epoch);
    else if (outcome === 'success') this.grow();
    this.running--;
    this.admit();
  }

  private grow(): void {
    if (this.running + 1 < this.current) return;
    this.current = Math.min(this.maximum, this.current + (this.slowStart ? 1 : 1 / this.current));
  }

  private cut(epoch: number): void {
    if (epoch !== this.epoch) return;
    this.epoch++;
    this.slowStart = false;
    this.current = Math.max(this.minimum, Math.floor(this.current / 2));
  }

  private admit(): void {
    while (this.head < this.queue.length && this.running + 1 <= this.current) {
      const { resolve } = this.queue[this.head++];
      if (resolve === undefined) continue;
      this.running++;
      resolve(this.epoch);
    }
    if (this.head === this.queue.length || this.head > 4096) {
      this.queue = this.queue.slice(this.head);
      this.head = 0;
    }
  }
}

// When to try again after a failure: exponential backoff with jitter (Brooker, AWS 2015), Retry-After where the server gives one.

const LONGEST_DELAY = 8;
/** A server that asks for more is asked again after this. */
const LONGEST_RETRY_AFTER = 60;
// Waits change when something is asked, never what is answered; so their stream needs no seed.
const backoff = Rng.fromSeed(0).split('llm-backoff');

/** Seconds to wait before retry number `retry` (from 1). */
export function retryDelay(retry: number, firstDelay: number, retryAfter: number | undefined): number {
  const longest = Math.min(LONGEST_DELAY, firstDelay * 2 ** (retry - 1));
  return Math.max(longest * (0.25 + 0.75 * backoff.uniform()), Math.min(retryAfter ?? 0, LONGEST_RETRY_AFTER));
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
