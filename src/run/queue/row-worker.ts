// The side of a queue that lives rows: takes as many as it has slots, keeps its leases, and gives back what it cannot end.

import { hostname } from 'node:os';
import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import { packError, ReverieError } from '../../core/errors.js';
import { type Lease, packParcel, type RolloutQueue } from '../../synth/index.js';
import type { Note } from './messages.js';
import { within } from './within.js';
import type { WorkerJobs } from './worker-jobs.js';

/** Longest wait for a row before the worker looks whether it is to end. */
const WAIT_MS = 5000;
const ANNOUNCE_MS = 5000;
/** Leases are renewed so many times before they would run out. */
const BEATS = 3;
/** Longest that an end waits for a broker. */
const FAREWELL_MS = 2000;
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
    const { queue, jobs, slots, idleMs } = this.options;
    const stopped = aborted(stop);
    let busyAt = Date.now();
    while (!stop.aborted) {
      if (this.underway.size >= slots) {
        await Promise.race([...this.underway.values(), stopped]);
        continue;
      }
      const wanted = jobs.size === 0 ? 1 : slots - this.underway.size;
      const asked = queue.lease(wanted, { waitMs: Math.min(WAIT_MS, idleMs), signal: stop });
      // A broker that is away answers when it is back.
      await Promise.race([asked, stopped.then(() => within(FAREWELL_MS, asked))]);
      if (stop.aborted) return this.giveBack(asked);
      const leases = await asked;
      for (const lease of leases) await this.takeOrPrepare(lease);
      if (leases.length > 0 || this.underway.size > 0) busyAt = Date.now();
      else if (Date.now() - busyAt >= idleMs) return;
    }
  }

  /** What came when nobody wanted it any more. */
  private async giveBack(asked: Promise<readonly Lease[]>): Promise<void> {
    const back = async () => {
      for (const lease of await asked) await this.options.queue.nack(lease, { kind: 'given-back' });
    };
    await within(FAREWELL_MS, back());
  }

  /** A row of a job that is not known yet goes back first: parts take a while to make, and others may have them. */
  private async takeOrPrepare(lease: Lease): Promise<void> {
    const { queue, jobs } = this.options;
    const { job } = lease.item;
    if (jobs.isReady(job)) return this.take(lease);
    try {
      const description = await jobs.describe(job);
      await queue.nack(lease, { kind: 'given-back' });
      await jobs.prepare(job, description);
    } catch (error) {
      if (error instanceof ReverieError && error.code === 'QUEUE_JOB_UNKNOWN') return this.fail(lease, error);
      // What a worker cannot do is no fault of the row's: this one ends.
      this.refusal.abort(error);
      await queue.nack(lease, { kind: 'given-back' });
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
    const { queue, jobs } = this.options;
    try {
      const record = await jobs.live(lease.item, stop.signal);
      const bytes = await packParcel(record);
      if (await queue.ack(lease, { bytes, note: this.note(lease) })) this.counts.done++;
    } catch (error) {
      if (stop.signal.reason === LOST) return;
      if (!stop.signal.aborted) return this.fail(lease, error);
      this.counts.givenBack++;
      await queue.nack(lease, { kind: 'given-back' });
    }
  }

  private async fail(lease: Lease, error: unknown): Promise<void> {
    this.counts.failed++;
    const note = this.note(lease);
    await this.options.queue.nack(lease, { kind: 'failed', error: packError(error), note });
  }

  private note({ item }: Lease): string {
    const spent = this.options.jobs.spent(item.job);
    this.counts.spent = addCosts(this.counts.spent, spent);
    return JSON.stringify({ worker: this.id, spent } satisfies Note);
  }

  /** Lets rows under way end, as long as they may; gives back the others. */
  private async endRows(): Promise<void> {
    const late = setTimeout(() => {
      for (const { stop } of this.underway.keys()) stop.abort();
    }, this.options.graceMs);
    await within(this.options.graceMs + FAREWELL_MS, Promise.all(this.underway.values()));
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
