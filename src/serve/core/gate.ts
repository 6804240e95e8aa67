// One at a time, in the order of asking; whoever waits may leave.

import { Deadline } from './deadline.js';

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
