// Rollouts asked for and waited for: enqueued many at a time, asked for again now and then in case a broker lost or never
// told something, cancelled when nobody wants them any more, forgotten once they are kept elsewhere.

import type { Outcome, QueueStats, RolloutItem, RolloutQueue } from '../../synth/index.js';
import { within } from './within.js';

const TICK_MS = 1000;
/** Ticks after which everything that is waited for is asked for again. */
const ASK_AGAIN = 30;
/** Longest that an end waits for a broker. */
const FAREWELL_MS = 5000;

interface Call {
  readonly item: RolloutItem;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

export class RolloutCalls {
  private readonly waiting = new Map<string, Call>();
  private unsent: RolloutItem[] = [];
  private done: string[] = [];
  private readonly timer: NodeJS.Timeout;
  private ticks = 0;
  private ticking: Promise<void> | undefined;
  private farewell: Promise<unknown> | undefined;

  constructor(
    private readonly queue: RolloutQueue,
    /** Told of the queue every second. */
    private readonly onTick: (stats: QueueStats) => void,
    /** Tells the queue what the rollouts are of; repeated, as a broker may have come back empty. */
    private readonly describe: () => Promise<void>,
  ) {
    queue.onOutcome((outcome) => {
      this.waiting.get(outcome.id)?.resolve(outcome);
      this.waiting.delete(outcome.id);
    });
    this.timer = setInterval(() => {
      this.ticking ??= this.tick().finally(() => {
        this.ticking = undefined;
      });
    }, TICK_MS);
  }

  get size(): number {
    return this.waiting.size;
  }

  /** Resolves when the rollout has succeeded or failed. Throws what the queue throws, or what it is abandoned for. */
  call(item: RolloutItem): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (this.unsent.length === 0) setImmediate(() => void this.send());
      this.unsent.push(item);
      this.waiting.set(item.id, { item, resolve, reject });
    });
  }

  /** Calls off what nobody has begun; `error` is what becomes of it. */
  async cancelQueued(error: unknown): Promise<void> {
    const cancelled = await this.queue.cancel([...this.waiting.keys()]);
    for (const id of cancelled) {
      this.waiting.get(id)?.reject(error);
      this.waiting.delete(id);
    }
    this.done.push(...cancelled);
  }

  /** Everything waited for ends with `reason`, now; what nobody has begun is called off. */
  abandon(reason: unknown): void {
    const calls = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of calls) reject(reason);
    const ids = calls.map(({ item }) => item.id);
    this.farewell ??= this.queue.cancel(ids).catch(() => {});
  }

  /** The queue need not keep it any longer. */
  forget(id: string): void {
    this.done.push(id);
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    const last = async () => {
      await this.farewell;
      await this.ticking;
      await this.forgetDone();
    };
    // A broker that is away is not waited for: what it keeps it lets go of by itself.
    await within(FAREWELL_MS, last());
  }

  private async send(): Promise<void> {
    // What was abandoned in between is not wanted any more.
    const batch = this.unsent.filter(({ id }) => this.waiting.has(id));
    this.unsent = [];
    try {
      await this.queue.enqueue(batch);
    } catch (error) {
      this.abandon(error);
    }
  }

  private async tick(): Promise<void> {
    try {
      this.ticks++;
      this.onTick(await this.queue.stats());
      await this.forgetDone();
      const items = [...this.waiting.values()].map(({ item }) => item);
      if (this.ticks % ASK_AGAIN !== 0 || items.length === 0) return;
      await this.describe();
      await this.queue.enqueue(items);
    } catch (error) {
      this.abandon(error);
    }
  }

  private async forgetDone(): Promise<void> {
    const ids = this.done;
    this.done = [];
    if (ids.length > 0) await this.queue.forget(ids);
  }
}
