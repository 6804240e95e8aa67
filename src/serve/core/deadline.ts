// When an answer is due, and what else calls it off: whoever asked has left, the session was closed. OpenEnv's client takes
// a late answer for that of its next step, so something is answered in time, whatever the work does.

import { reverieError } from '../../core/errors.js';

/** Longer timers fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

export class Deadline {
  private readonly due: number;
  private timer: NodeJS.Timeout | undefined;
  private stop: AbortController | undefined;
  private readonly waiting = new Set<(reason: unknown) => void>();
  private over: { readonly reason: unknown } | undefined;

  /** Begins now. @param seconds  `Infinity`: only called off */
  constructor(readonly seconds: number) {
    this.due = performance.now() + seconds * 1000;
  }

  /** Whether it has passed or was called off. */
  get isOver(): boolean {
    return this.over !== undefined;
  }

  /** Milliseconds. */
  get remaining(): number {
    return Math.max(0, this.due - performance.now());
  }

  /** Aborted once it is over: tells the work to stop. */
  get signal(): AbortSignal {
    if (this.stop === undefined) {
      this.stop = new AbortController();
      if (this.over !== undefined) this.stop.abort(this.over.reason);
      else this.arm();
    }
    return this.stop.signal;
  }

  /** @throws STEP_DEADLINE, or what it was called off with */
  throwIfOver(): void {
    if (this.over !== undefined) throw this.over.reason;
  }

  /** Settles as `work` does, or as soon as it is over. @throws STEP_DEADLINE; what it was called off with; what `work` throws */
  race<R>(work: Promise<R>): Promise<R> {
    return new Promise((resolve, reject) => {
      if (this.over !== undefined) {
        work.catch(() => {});
        reject(this.over.reason);
        return;
      }
      this.arm();
      this.waiting.add(reject);
      work.then(
        (result) => {
          this.waiting.delete(reject);
          resolve(result);
        },
        (error) => {
          this.waiting.delete(reject);
          reject(error);
        },
      );
    });
  }

  /** Everyone who waits is told `reason`. The first reason stays. */
  callOff(reason: unknown): void {
    if (this.over !== undefined) return;
    this.over = { reason };
    this.end();
    this.stop?.abort(reason);
    for (const refuse of this.waiting) refuse(reason);
  }

  /** The answer is there: it no longer passes. */
  end(): void {
    clearTimeout(this.timer);
  }

  private arm(): void {
    if (this.timer !== undefined || this.remaining > LONGEST_TIMER) return;
    this.timer = setTimeout(
      () => this.callOff(reverieError('STEP_DEADLINE', { seconds: this.seconds })),
      this.remaining,
    );
  }
}
