// The side of a queue that lives rows: takes as many as it has slots, keeps its leases, and gives back what it cannot end.

import { hostname } from 'node:os';
import { addCosts, type Cost, NO_COST } from '../../cost.js';
import { packError, ReverieError } from '../../errors.js';
import { type Lease, packParcel, type RolloutQueue } from '../../synth/index.js';
import type { Note } from './messages.js';
import type { WorkerJobs } from './worker-jobs.js';

/** Longest wait for a row before the worker looks whether it is to end. */
const WAIT_MS = 5000;
const ANNOUNCE_MS = 5000;
/** Leases are renewed so many times before they would run out. */
const BEATS = 3;
const NEVER = new Promise<void>(() => {});
const LOST = new Error('the lease was lost');

export interface RowWorkerOptions {
  readonly queue: RolloutQueue;
  readonly jobs: WorkerJobs;
  readonly slots: number;
  readonly leaseMs: number;
  /** Milliseconds that rows under way are given to end once the worker is asked to stop. */
  readonly graceMs: number;
  /** Milliseconds without a row after which the worker ends by itself; infinite: never. */
  readonly idleMs: number;
  readonly onChange: (counts: WorkerCounts) => void;
}

export interface WorkerCounts {
  /** Rows that this worker was the first to end. */
  readonly done: number;
  readonly failed: number;
  readonly givenBack: number;
  readonly underway: number;
  readonly spent: Cost;
}

interface Underway {
  readonly lease: Lease;
  readonly stop: AbortController;
}

export class RowWorker {
  readonly id = `${hostname().replaceAll(/[^A-Za-z0-9-]/g, '-')}-${process.pid}-${Date.now().toString(36)}`;
  private readonly underway = new Map<Underway, Promise<void>>();
  private counts = { done: 0, failed: 0, givenBack: 0, spent: NO_COST };
  private readonly refusal = new AbortController();
  /** One until the first job's parts are made: more rows would only wait for them, and be missed elsewhere. */
  private slots = 1;
  private open: () => void = () => {};
  private opened: Promise<void> = new Promise((resolve) => {
    this.open = resolve;
  });

  constructor(private readonly options: RowWorkerOptions) {}

  /**
   * Lives rows until `signal` is aborted, or none came for too long.
   * @throws what this worker cannot do, as QUEUE_JOB_REFUSED; its rows are given back
   */
  async run(signal: AbortSignal): Promise<WorkerCounts> {
    const stop = AbortSignal.any([signal, this.refusal.signal]);
    const { leaseMs } = this.options;
    const beat = setInterval(() => void this.keepLeases(), leaseMs / BEATS);
    await this.announce();
    const announcing = setInterval(() => void this.announce(), ANNOUNCE_MS);
    try {
      await this.takeRows(stop);
      await this.endRows();
    } finally {
      clearInterval(beat);
      clearInterval(announcing);
    }
    if (this.refusal.signal.aborted) throw this.refusal.signal.reason;
    return this.state;
  }

  private get state(): WorkerCounts {
    return { ...this.counts, underway: this.underway.size };
  }

  private async takeRows(stop: AbortSignal): Promise<void> {
    const { queue, idleMs } = this.options;
    const stopped = aborted(stop);
    let busyAt = Date.now();
    while (!stop.aborted) {
      if (this.underway.size >= this.slots) {
        await Promise.race([...this.underway.values(), this.opened, stopped]);
        continue;
      }
      const waitMs = Math.min(WAIT_MS, idleMs);
      const leases = await queue.lease(this.slots - this.underway.size, { waitMs, signal: stop });
      for (const lease of leases) this.take(lease);
      if (leases.length > 0 || this.underway.size > 0) busyAt = Date.now();
      else if (Date.now() - busyAt >= idleMs) return;
    }
  }

  private take(lease: Lease): void {
    const row: Underway = { lease, stop: new AbortController() };
    const ended = this.live(row)
      .catch((error) => this.refusal.abort(error))
      .finally(() => {
        this.underway.delete(row);
        this.options.onChange(this.state);
      });
    this.underway.set(row, ended);
    this.options.onChange(this.state);
  }

  private async live({ lease, stop }: Underway): Promise<void> {
    try {
      await this.prepared(lease);
      const record = await this.options.jobs.live(lease.item, stop.signal);
      const bytes = await packParcel(record);
      const isFirst = await this.options.queue.ack(lease, { bytes, note: await this.note(lease) });
      if (isFirst) this.counts.done++;
    } catch (error) {
      await this.giveUp(lease, stop, error);
    }
  }

  /** What a worker cannot do is no fault of the row's: it goes to another, and this one ends. */
  private async prepared({ item }: Lease): Promise<void> {
    try {
      await this.options.jobs.prepare(item.job);
      this.slots = this.options.slots;
      this.open();
      this.opened = NEVER;
    } catch (error) {
      if (error instanceof ReverieError && error.code === 'QUEUE_JOB_UNKNOWN') throw error;
      this.refusal.abort(error);
      throw error;
    }
  }

  private async giveUp(lease: Lease, stop: AbortController, error: unknown): Promise<void> {
    const { queue } = this.options;
    if (stop.signal.reason === LOST) return;
    if (stop.signal.aborted || this.refusal.signal.reason === error) {
      this.counts.givenBack++;
      return queue.nack(lease, { kind: 'given-back' });
    }
    this.counts.failed++;
    await queue.nack(lease, { kind: 'failed', error: packError(error), note: await this.note(lease) });
  }

  private async note({ item }: Lease): Promise<string> {
    const spent = await this.options.jobs.spent(item.job);
    this.counts.spent = addCosts(this.counts.spent, spent);
    return JSON.stringify({ worker: this.id, spent } satisfies Note);
  }

  /** Lets rows under way end, as long as they may; gives back the others. */
  private async endRows(): Promise<void> {
    const late = setTimeout(() => {
      for (const { stop } of this.underway.keys()) stop.abort();
    }, this.options.graceMs);
    await Promise.all(this.underway.values());
    clearTimeout(late);
  }

  private async keepLeases(): Promise<void> {
    const rows = [...this.underway.keys()];
    try {
      const lost = new Set(await this.options.queue.heartbeat(rows.map(({ lease }) => lease)));
      // Somebody else has it: what it would cost here is saved.
      for (const { lease, stop } of rows) if (lost.has(lease)) stop.abort(LOST);
    } catch (error) {
      this.refusal.abort(error);
    }
  }

  private async announce(): Promise<void> {
    try {
      await this.options.queue.announce({ id: this.id, slots: this.options.slots });
    } catch (error) {
      this.refusal.abort(error);
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
