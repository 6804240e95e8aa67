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

// One at a time, in the order of asking; whoever waits may leave.

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

  /** Whether one is inside, as nobody was; `leave` is owed then. */
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

  /** Resolves once everybody who was there has left; nobody may enter after. */
  shut(): Promise<void> {
    return this.enter(new Deadline(Number.POSITIVE_INFINITY));
  }
}

// A bounded number of episodes at a time: whoever comes when all slots are taken waits its turn.

interface Waiting {
  readonly count: number;
  readonly take: () => void;
}

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
