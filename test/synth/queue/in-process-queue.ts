// The queue in this process: what the other engines must agree with, and a way to run coordinator and worker in one.
// Every end of it shares one `InProcessBroker`.

import type { PackedError } from '../../../src/core/errors.js';
import {
  DEFAULT_LEASE_MS,
  type Lease,
  type LeaseOptions,
  MAX_LOST_LEASES,
  type Outcome,
  PRESENCE_MS,
  type QueueOptions,
  type QueueStats,
  type Refusal,
  type RolloutItem,
  type RolloutQueue,
  type RolloutResultBytes,
  type WorkerPresence,
} from '../../../src/synth/queue/rollout-queue.js';

interface Entry {
  readonly item: RolloutItem;
  state: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  lost: number;
  /** While it is running. */
  token: string | undefined;
  expiresAt: number;
  outcome: Outcome | undefined;
}

/** What ends of one queue share. Nothing in it outlives the process. */
export class InProcessBroker {
  readonly entries = new Map<string, Entry>();
  readonly descriptions = new Map<string, Uint8Array>();
  /** When each worker last told of itself. */
  readonly workers = new Map<string, number>();
  private readonly listeners = new Set<(outcome: Outcome) => void>();
  private readonly waiting = new Set<() => void>();
  private tokens = 0;

  queued(): Entry[] {
    return [...this.entries.values()].filter(({ state }) => state === 'queued');
  }

  /** Puts an item at the end of the line. */
  add(item: RolloutItem): void {
    this.entries.delete(item.id);
    this.entries.set(item.id, { item, state: 'queued', lost: 0, token: undefined, expiresAt: 0, outcome: undefined });
    this.wake();
  }

  take(entry: Entry, leaseMs: number): Lease {
    entry.state = 'running';
    entry.token = String(++this.tokens);
    entry.expiresAt = Date.now() + leaseMs;
    return { token: entry.token, item: entry.item };
  }

  end(entry: Entry, outcome: Outcome): void {
    entry.state = outcome.state;
    entry.token = undefined;
    entry.outcome = outcome;
    this.tell(outcome);
  }

  tell(outcome: Outcome): void {
    for (const listener of this.listeners) listener(outcome);
  }

  release(entry: Entry): void {
    entry.state = 'queued';
    entry.token = undefined;
    this.wake();
  }

  /** Leases that ran out: their items are queued again, or have failed. */
  expire(): void {
    const now = Date.now();
    for (const entry of this.entries.values()) {
      if (entry.state !== 'running' || entry.expiresAt > now) continue;
      if (++entry.lost >= MAX_LOST_LEASES) {
        this.end(entry, { id: entry.item.id, state: 'failed', error: undefined, note: '' });
      } else this.release(entry);
    }
  }

  /** Resolves when something may have been queued, or a lease may have run out. */
  async change(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    const running = [...this.entries.values()].filter(({ state }) => state === 'running');
    const next = Math.min(...running.map(({ expiresAt }) => expiresAt - Date.now()), waitMs);
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', wake);
        this.waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.max(1, next));
      signal?.addEventListener('abort', wake, { once: true });
      this.waiting.add(wake);
    });
  }

  listen(listener: (outcome: Outcome) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  wake(): void {
    for (const wake of [...this.waiting]) wake();
  }
}

export class InProcessQueue implements RolloutQueue {
  private readonly enqueued = new Set<string>();
  private stopListening: () => void = () => {};
  private closed = false;

  constructor(
    private readonly broker: InProcessBroker,
    private readonly options: QueueOptions,
  ) {}

  private get leaseMs(): number {
    return this.options.leaseMs ?? DEFAULT_LEASE_MS;
  }

  async describe(job: string, description: Uint8Array): Promise<void> {
    if (!this.broker.descriptions.has(job)) this.broker.descriptions.set(job, description);
  }

  async description(job: string): Promise<Uint8Array | undefined> {
    return this.broker.descriptions.get(job);
  }

  async enqueue(batch: readonly RolloutItem[]): Promise<void> {
    this.broker.expire();
    for (const item of batch) {
      this.enqueued.add(item.id);
      const known = this.broker.entries.get(item.id);
      if (known === undefined || known.state === 'failed' || known.state === 'cancelled') this.broker.add(item);
      else if (known.outcome !== undefined) this.broker.tell(known.outcome);
    }
  }

  async cancel(ids: readonly string[]): Promise<readonly string[]> {
    this.broker.expire();
    const cancelled = ids.filter((id) => this.broker.entries.get(id)?.state === 'queued');
    for (const id of cancelled) this.broker.entries.get(id)!.state = 'cancelled';
    return cancelled;
  }

  onOutcome(listener: (outcome: Outcome) => void): void {
    this.stopListening();
    this.stopListening = this.broker.listen((outcome) => {
      if (this.enqueued.has(outcome.id)) listener(outcome);
    });
  }

  async forget(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      this.enqueued.delete(id);
      const state = this.broker.entries.get(id)?.state;
      if (state !== 'queued' && state !== 'running') this.broker.entries.delete(id);
    }
  }

  async lease(n: number, { waitMs = 0, signal }: LeaseOptions = {}): Promise<readonly Lease[]> {
    const until = Date.now() + waitMs;
    while (!this.closed) {
      this.broker.expire();
      const found = this.broker.queued().slice(0, n);
      const left = until - Date.now();
      if (found.length > 0 || left <= 0 || signal?.aborted) {
        return found.map((entry) => this.broker.take(entry, this.leaseMs));
      }
      await this.broker.change(left, signal);
    }
    return [];
  }

  async heartbeat(leases: readonly Lease[]): Promise<readonly Lease[]> {
    this.broker.expire();
    const lost = leases.filter((lease) => this.held(lease) === undefined);
    for (const lease of leases) {
      const entry = this.held(lease);
      if (entry !== undefined) entry.expiresAt = Date.now() + this.leaseMs;
    }
    return lost;
  }

  async ack({ item: { id } }: Lease, result: RolloutResultBytes): Promise<boolean> {
    const entry = this.broker.entries.get(id);
    // One that lived it whole counts, whether its lease ran out or not: the bytes are the same.
    if (entry === undefined || (entry.state !== 'running' && entry.state !== 'queued')) return false;
    this.broker.end(entry, { id, state: 'succeeded', result });
    return true;
  }

  async nack(lease: Lease, refusal: Refusal): Promise<void> {
    const entry = this.held(lease);
    if (entry === undefined) return;
    if (refusal.kind === 'given-back') this.broker.release(entry);
    else this.broker.end(entry, failed(lease.item.id, refusal.error, refusal.note));
  }

  async announce({ id }: WorkerPresence): Promise<void> {
    this.broker.workers.set(id, Date.now());
  }

  async stats(): Promise<QueueStats> {
    this.broker.expire();
    const counts = { queued: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0 };
    for (const { state } of this.broker.entries.values()) counts[state]++;
    const present = [...this.broker.workers.values()].filter((at) => Date.now() - at < PRESENCE_MS);
    return { ...counts, workers: present.length };
  }

  async close(): Promise<void> {
    this.closed = true;
    this.stopListening();
    this.broker.wake();
  }

  private held({ token, item }: Lease): Entry | undefined {
    const entry = this.broker.entries.get(item.id);
    return entry?.token === token ? entry : undefined;
  }
}

function failed(id: string, error: PackedError, note: string): Outcome {
  return { id, state: 'failed', error, note };
}
