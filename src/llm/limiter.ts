// How many requests a server is sent at once: additive increase, multiplicative decrease (Chiu and Jain 1989), started
// by doubling as TCP does (RFC 5681). The limit grows only while it is what holds requests back.

import { abortError, type CallSignal, onAbort } from './abort.js';

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
  acquire(signal?: CallSignal): Promise<number> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { resolve };
      const forgetSignal =
        signal &&
        onAbort(signal, () => {
          waiter.resolve = undefined;
          reject(abortError(signal));
        });
      if (forgetSignal) {
        waiter.resolve = (epoch) => {
          forgetSignal();
          resolve(epoch);
        };
      }
      this.queue.push(waiter);
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
