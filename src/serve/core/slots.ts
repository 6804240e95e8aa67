// A bounded number of episodes at a time: whoever comes when all slots are taken waits its turn.

import { reverieError } from '../../errors.js';

interface Waiting {
  readonly take: () => void;
  readonly refuse: (error: unknown) => void;
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

  /** Resolves once a slot is held, first come first served. @throws CAPACITY_REACHED; what `signal` is aborted with */
  async take(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.taken < this.size) {
      this.taken++;
      return;
    }
    if (this.patience === 0) throw this.full();
    await this.wait(signal);
  }

  release(): void {
    const [next] = this.queue;
    if (next === undefined) this.taken--;
    else next.take();
  }

  private wait(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.queue.delete(waiting);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiting: Waiting = {
        take: () => {
          leave();
          resolve();
        },
        refuse: (error) => {
          leave();
          reject(error);
        },
      };
      const onAbort = () => waiting.refuse(signal?.reason);
      const timer = setTimeout(() => waiting.refuse(this.full()), this.patience);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.queue.add(waiting);
    });
  }

  private full() {
    return reverieError('CAPACITY_REACHED', { active: this.taken, slots: this.size });
  }
}
