// A bounded number of episodes at a time: whoever comes when all slots are taken waits its turn.

import { reverieError } from '../../core/errors.js';
import type { Deadline } from './deadline.js';

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
