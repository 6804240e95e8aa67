// What holds requests to time and number: deadlines, one request at a time, slots for episodes, and quotas of owners.

import type { Info } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import type { ToolsStepInfo } from '../../env/tools/tools-family.js';
import type { Owner, QuotaLimits, Spend } from './session-contract.js';

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
  }

  private arm(): void {
    if (this.timer !== undefined || this.remaining > LONGEST_TIMER) return;
    this.timer = setTimeout(
      () => this.callOff(reverieError('STEP_DEADLINE', { seconds: this.seconds })),
      this.remaining,
    );
  }
}

/** One at a time, in the order of asking; a request that waits may leave. */
export class Gate {
  private isTaken = false;
  private readonly queue = new Set<() => void>();

  /** Somebody is inside. */
  get busy(): boolean {
    return this.isTaken;
  }

  /** Resolves once one is inside; `leave` is owed then. @throws what ends `deadline` before its turn came */
  async enter(deadline: Deadline): Promise<void> {
    deadline.throwIfOver();
    if (!this.isTaken) {
      this.isTaken = true;
      return;
    }
    let pass = () => {};
    const turn = new Promise<void>((resolve) => {
      pass = resolve;
    });
    this.queue.add(pass);
    try {
      await deadline.race(turn);
    } catch (error) {
      // Its turn may have come in the same moment: then it is inside, and goes.
      if (!this.queue.delete(pass)) this.leave();
      throw error;
    }
  }

  /** Whether it could be entered at once; `leave` is owed then. */
  enterNow(): boolean {
    if (this.isTaken) return false;
    this.isTaken = true;
    return true;
  }

  /** Lets the next one in. */
  leave(): void {
    if (this.queue.size === 0) {
      this.isTaken = false;
      return;
    }
    const [next] = this.queue;
    this.queue.delete(next);
    next();
  }

  /** Resolves once all before have left; none may enter after. */
  shut(): Promise<void> {
    return this.enter(new Deadline(Number.POSITIVE_INFINITY));
  }
}

interface Waiting {
  readonly count: number;
  readonly take: () => void;
}

/** A bounded number of episodes at a time: what comes when all slots are taken waits its turn. */
export class Slots {
  private taken = 0;
  private readonly queue = new Set<Waiting>();

  constructor(
    readonly size: number,
    /** Milliseconds one waits at most; 0: one is refused at once. */
    private readonly patience: number,
  ) {}

  get active(): number {
    return this.taken;
  }

  get waiting(): number {
    return this.queue.size;
  }

  /**
   * Resolves once `count` slots are held, all of them at once; first come first served, so that nobody who needs many
   * waits for ever.
   * @throws CAPACITY_REACHED after the patience, or at the deadline, or at once where there never are so many; what
   *   `deadline` was called off with
   */
  async take(deadline: Deadline, count = 1): Promise<void> {
    if (this.queue.size === 0 && this.fits(count)) this.taken += count;
    else if (this.patience === 0 || count > this.size) throw this.full();
    else await this.wait(deadline, count);
  }

  /** Takes `count` slots if they are free. @throws CAPACITY_REACHED */
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
    let waiting: Waiting | undefined;
    const turn = new Promise<void>((resolve, reject) => {
      waiting = { count, take: resolve };
      this.queue.add(waiting);
      // A moment before the deadline: that there is no room says more than that time is up.
      const patience = Math.min(this.patience, deadline.remaining - 1);
      timer = setTimeout(() => reject(this.full()), Math.max(0, Math.min(patience, 2 ** 31 - 1)));
    });
    try {
      await deadline.race(turn);
    } catch (error) {
      if (!this.queue.delete(waiting!)) this.release(count);
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
  /** Seconds that work may go on after it was called off; then its session is lost. */
  readonly graceSeconds: number;
  /** Snapshots kept for each owner: the latest. */
  readonly snapshots: number;
}

export const SESSION_LIMITS: SessionLimits = {
  slots: 1024,
  slotWaitSeconds: 30,
  idleSeconds: 900,
  stepSeconds: 55,
  graceSeconds: 30,
  snapshots: 256,
};

/** Seconds in which one of an owner's sessions may be closed. */
const SESSION_PAUSE = 2;
const NOTHING_SPENT: Spend = { money: 0, tokens: 0 };

/** Steps that may still be taken at once; it fills up again evenly. */
interface Allowance {
  left: number;
  at: number;
}

export class Quotas {
  private readonly spent = new Map<Owner, Spend>();
  private readonly allowances = new Map<Owner, Allowance>();

  constructor(private readonly quotaOf: (owner: Owner) => QuotaLimits = () => ({})) {}

  limitsOf(owner: Owner): QuotaLimits {
    return this.quotaOf(owner);
  }

  spentBy(owner: Owner): Spend {
    return this.spent.get(owner) ?? NOTHING_SPENT;
  }

  /** What was spent before, e.g. until the server ended. */
  recall(owner: Owner, spend: Spend): void {
    this.spent.set(owner, spend);
  }

  /** @throws QUOTA_EXCEEDED where `more` sessions beside `open` are too many */
  requireSessions(owner: Owner, open: number, more: number): void {
    const { sessions: limit } = this.quotaOf(owner);
    if (limit !== undefined && open + more > limit) throw exceeded('open sessions', open, limit, SESSION_PAUSE);
  }

  /** Before work that may ask a language model. @throws QUOTA_EXCEEDED */
  requireSpend(owner: Owner): void {
    const { money, tokens } = this.quotaOf(owner);
    if (money === undefined && tokens === undefined) return;
    const spent = this.spentBy(owner);
    if (money !== undefined && spent.money >= money) throw exceeded('money for language models', spent.money, money);
    if (tokens !== undefined && spent.tokens >= tokens) throw exceeded('tokens', spent.tokens, tokens);
  }

  /** Counts as many steps. @throws QUOTA_EXCEEDED */
  takeStep(owner: Owner, steps = 1): void {
    const { stepsPerMinute: limit } = this.quotaOf(owner);
    if (limit === undefined) return;
    const now = performance.now();
    const { left, at } = this.allowances.get(owner) ?? { left: limit, at: now };
    const filled = Math.min(limit, left + ((now - at) / 60_000) * limit);
    if (filled < steps) {
      const retryAfter = Math.ceil(((Math.min(steps, limit) - filled) / limit) * 60);
      throw exceeded('steps a minute', limit, limit, retryAfter);
    }
    this.allowances.set(owner, { left: filled - steps, at: now });
  }

  /** Whether anything was charged. @param info  of a turn: what its user and its answers cost */
  charge(owner: Owner, info: Info): boolean {
    const { userCost, predictions = [] } = info as Partial<ToolsStepInfo>;
    if (userCost === undefined && predictions.length === 0) return false;
    let { money, tokens } = NOTHING_SPENT;
    for (const cost of [userCost, ...predictions.map((one) => one.cost)]) {
      money += cost?.money ?? 0;
      tokens += (cost?.promptTokens ?? 0) + (cost?.completionTokens ?? 0);
    }
    if (money === 0 && tokens === 0) return false;
    const before = this.spentBy(owner);
    this.spent.set(owner, { money: before.money + money, tokens: before.tokens + tokens });
    return true;
  }
}

/** @param retryAfter  seconds after which asking again may help */
function exceeded(what: string, used: number, limit: number, retryAfter?: number) {
  return reverieError('QUOTA_EXCEEDED', { what, used, limit, retryAfter });
}
