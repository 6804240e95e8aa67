// What holds requests to time and number: deadlines, one request at a time, slots for episodes.

import { reverieError } from '../../core/errors.js';
import type { Owner, QuotaLimits } from './session-contract.js';

/** Longer timers fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * When an answer is due, and what else calls it off: the client has left, the session was closed. OpenEnv's client takes a late
 * answer for that of its next step, so something is answered in time, whatever the work does.
 */
export class Deadline {
  private readonly due: number;
  private timer: NodeJS.Timeout | undefined;
  private stop: AbortController | undefined;
  private readonly waiting = new Set<(reason: unknown) => void>();
  private over: { readonly reason: unknown } | undefined;

  /** Begins now. @param seconds  `Infinity`: only called off @param client  leaves by it */
  constructor(
    readonly seconds: number,
    private readonly client?: AbortSignal,
  ) {
    this.due = performance.now() + seconds * 1000;
    if (client?.aborted) this.leave();
    client?.addEventListener('abort', this.leave);
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
      work.then(resolve, reject).finally(() => this.waiting.delete(reject));
    });
  }

  /** Everything that waits is rejected with `reason`. The first reason stays. */
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
    this.client?.removeEventListener('abort', this.leave);
  }

  private readonly leave = () => this.callOff(this.client?.reason);

  private arm(): void {
    if (this.timer !== undefined || this.remaining > LONGEST_TIMER) return;
    const late = () => this.callOff(reverieError('STEP_DEADLINE', { seconds: this.seconds }));
    this.timer = setTimeout(late, this.remaining);
  }
}

/** A bounded number of places: who comes when all are taken waits, first come first served, or leaves again. */
export class Slots {
  private taken = 0;
  private readonly queue = new Set<{ readonly count: number; readonly take: () => void }>();

  constructor(
    readonly size: number,
    /** Milliseconds one waits at most; 0: one is refused at once. */
    private readonly patience = Number.POSITIVE_INFINITY,
  ) {}

  get counts(): { readonly active: number; readonly waiting: number; readonly slots: number } {
    return { active: this.taken, waiting: this.queue.size, slots: this.size };
  }

  /**
   * Resolves once `count` are held, all of them at once.
   * @throws CAPACITY_REACHED after the patience, or at the deadline, or at once where there never are so many; what
   *   `deadline` was called off with
   */
  async take(deadline: Deadline, count = 1): Promise<void> {
    deadline.throwIfOver();
    if (this.queue.size === 0 && this.fits(count)) this.taken += count;
    else if (this.patience === 0 || count > this.size) throw this.full();
    else await this.wait(deadline, count);
  }

  /** Takes `count` if they are free. @throws CAPACITY_REACHED */
  takeNow(count: number): void {
    if (this.queue.size > 0 || !this.fits(count)) throw this.full();
    this.taken += count;
  }

  release(count = 1): void {
    this.taken -= count;
    this.serve();
  }

  private fits(count: number): boolean {
    return this.taken + count <= this.size;
  }

  private serve(): void {
    for (const next of this.queue) {
      if (!this.fits(next.count)) return;
      this.queue.delete(next);
      this.taken += next.count;
      next.take();
    }
  }

  private async wait(deadline: Deadline, count: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const waiting = { count, take: () => {} };
    this.queue.add(waiting);
    const turn = new Promise<void>((resolve, reject) => {
      waiting.take = resolve;
      if (this.patience === Number.POSITIVE_INFINITY) return;
      // A moment before the deadline: that there is no room says more than that time is up.
      const patience = Math.min(this.patience, deadline.remaining - 1, LONGEST_TIMER);
      timer = setTimeout(() => reject(this.full()), Math.max(0, patience));
    });
    try {
      await deadline.race(turn);
    } catch (error) {
      // Its turn may have come in the same moment: then it holds them, and gives them back.
      if (!this.queue.delete(waiting)) this.release(count);
      else this.serve();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  private full() {
    return reverieError('CAPACITY_REACHED', { active: this.taken, slots: this.size });
  }
}

export interface SessionLimits {
  /** Episodes under way at once. */
  readonly slots: number;
  /** Seconds a reset waits for a slot; never beyond `stepSeconds`, so that something is always answered by then. */
  readonly slotWaitSeconds: number;
  /** Seconds without a request after which a session is closed. */
  readonly idleSeconds: number;
  /** Seconds from asking to the answer, waiting for other requests and for a slot included. OpenEnv's clients give up after 60. */
  readonly stepSeconds: number;
  /** Snapshots kept for each owner: the latest. */
  readonly snapshots: number;
}

export const SESSION_LIMITS: SessionLimits = {
  slots: 1024,
  slotWaitSeconds: 30,
  idleSeconds: 900,
  stepSeconds: 55,
  snapshots: 256,
};

/** Seconds in which one of an owner's sessions may be closed. */
const SESSION_PAUSE = 2;

/** What each owner may take. */
export class Quotas {
  /** Sessions that are open, and slots that were lent. */
  private readonly open = new Map<Owner, number>();
  /** Steps that may still be taken at once; they fill up again evenly. */
  private readonly allowances = new Map<Owner, { readonly left: number; readonly at: number }>();

  constructor(private readonly limitsOf: (owner: Owner) => QuotaLimits = () => ({})) {}

  /** @throws QUOTA_EXCEEDED where `more` sessions are too many */
  requireSessions(owner: Owner, more: number): void {
    const { sessions: limit } = this.limitsOf(owner);
    if (limit === undefined || (this.open.get(owner) ?? 0) + more <= limit) return;
    const used = this.open.get(owner) ?? 0;
    throw reverieError('QUOTA_EXCEEDED', { what: 'open sessions', used, limit, retryAfter: SESSION_PAUSE });
  }

  countSessions(owner: Owner, more: number): void {
    const count = (this.open.get(owner) ?? 0) + more;
    if (count > 0) this.open.set(owner, count);
    else this.open.delete(owner);
  }

  /** Counts as many steps. @throws QUOTA_EXCEEDED */
  takeSteps(owner: Owner, steps = 1): void {
    const { stepsPerMinute: limit } = this.limitsOf(owner);
    if (limit === undefined) return;
    const now = performance.now();
    const { left, at } = this.allowances.get(owner) ?? { left: limit, at: now };
    const filled = Math.min(limit, left + ((now - at) / 60_000) * limit);
    if (filled < steps) {
      const retryAfter = Math.ceil(((Math.min(steps, limit) - filled) / limit) * 60);
      throw reverieError('QUOTA_EXCEEDED', { what: 'steps a minute', used: limit, limit, retryAfter });
    }
    this.allowances.set(owner, { left: filled - steps, at: now });
  }
}
