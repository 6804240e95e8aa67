// The side of a queue that wants rows: a row of the job becomes an item of the queue, and what comes back its record.
// Order, lag and what is durable stay with the job, for which a row on a queue is a row under way.

import { NO_COST } from '../../core/cost.js';
import { type PackedError, ReverieError, reverieError, unpackError } from '../../core/errors.js';
import type { Budget } from '../../llm/budget.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { episodeId } from '../../synth/episodes/run-episode.js';
import {
  MAX_LOST_LEASES,
  type Outcome,
  openParcel,
  packParcel,
  type QueueStats,
  type RolloutItem,
  type RolloutQueue,
  rolloutId,
} from '../../synth/queue/rollout-queue.js';
import type { PlannedRow, RowRunner } from '../pipeline/tools/rows.js';
import { type JobDescription, jobIdOf, noteSchema, type RowMessage, recordSchema, within } from './messages.js';

/** Rows on the queue at once, where the scenario does not say: enough for workers of some hundred slots. */
const DEFAULT_WINDOW = 512;
/** Times that an unexpected failure of a row is tried again, each time perhaps by another worker. */
const TRIES = 3;
/** Ticks without a worker after which that is said. */
const LONELY_TICKS = 20;

export interface CoordinatorOptions {
  readonly queue: RolloutQueue;
  /** The queue's address, for messages. */
  readonly url: string;
  readonly description: JobDescription;
  readonly budget: Budget;
  /** Rows on the queue at once; 0: many. */
  readonly window: number;
  readonly log: (line: string) => void;
  /** Told every second. */
  readonly onTick: () => void;
}

export class RowCoordinator implements RowRunner {
  readonly concurrency: number;
  private readonly job: string;
  private readonly calls: RolloutCalls;
  /** Ids of a row's tries. */
  private readonly tries = new Map<number, string[]>();
  private stats: QueueStats | undefined;
  private lonely = 0;
  private isListening = false;

  private constructor(
    private readonly options: CoordinatorOptions,
    describe: () => Promise<void>,
  ) {
    this.concurrency = options.window === 0 ? DEFAULT_WINDOW : options.window;
    this.job = jobIdOf(options.description);
    this.calls = new RolloutCalls(options.queue, (stats) => this.tick(stats), describe);
  }

  /** Tells workers what the job is. Throws what the queue throws. */
  static async begin(options: CoordinatorOptions): Promise<RowCoordinator> {
    const { queue, description } = options;
    const parcel = await packParcel(description);
    const describe = () => queue.describe(jobIdOf(description), parcel);
    await describe();
    return new RowCoordinator(options, describe);
  }

  /** `3 workers · 12 under way, 240 waiting`. */
  get note(): string {
    if (this.stats === undefined) return '';
    const { workers, running, queued } = this.stats;
    return `${workers} ${workers === 1 ? 'worker' : 'workers'} · ${running} under way, ${queued} waiting`;
  }

  /** Throws BUDGET_SPENT, ROLLOUT_GIVEN_UP, ROLLOUT_GIVEN_UP, what the worker threw, what the queue throws. */
  readonly run: RowRunner['run'] = async (row, signal) => {
    if (!this.isListening) {
      this.isListening = true;
      signal.addEventListener('abort', () => this.calls.abandon(signal.reason), { once: true });
    }
    for (let times = 1; ; times++) {
      signal.throwIfAborted();
      const outcome = await this.outcomeOf(row);
      if (outcome.state === 'succeeded') return this.recordOf(row, outcome.result.bytes);
      const error = failureOf(row, outcome.error);
      if (error instanceof ReverieError) throw error;
      if (times < TRIES) continue;
      const problem = `Row ${row.plan.row} was given up after ${times} tries: ${error.message}`;
      const hint = 'Workers tell the stack with REVERIE_DEBUG=1; the other rows are not affected.';
      throw reverieError('ROLLOUT_GIVEN_UP', { problem, hint }, error);
    }
  };

  known(row: number): void {
    for (const id of this.tries.get(row) ?? []) this.calls.forget(id);
    this.tries.delete(row);
  }

  close(): Promise<void> {
    return this.calls.close();
  }

  private async outcomeOf({ plan: { row }, task, maxSteps }: PlannedRow): Promise<Outcome> {
    const { budget, description } = this.options;
    const reservation = await budget.reserve(NO_COST);
    let spent = NO_COST;
    try {
      const tries = this.tries.get(row) ?? [];
      const message: RowMessage = { row, task: task.id, maxSteps, attempt: tries.length };
      const id = rolloutId({ job: this.job, task: task.id, seed: description.seed, row, attempt: tries.length });
      this.tries.set(row, [...tries, id]);
      const outcome = await this.calls.call({ id, job: this.job, payload: await packParcel(message) });
      spent = spentBy(outcome);
      return outcome;
    } finally {
      reservation.settle(spent);
      void this.stopWhenSpent();
    }
  }

  /** Rows that nobody has begun end as the budget says; those under way are paid for, and are kept. */
  private async stopWhenSpent(): Promise<void> {
    const { budget } = this.options;
    if (budget.exhausted() === undefined || this.calls.size === 0) return;
    try {
      await this.calls.cancelQueued(await budget.reserve(NO_COST).catch((spent) => spent));
    } catch (error) {
      this.calls.abandon(error);
    }
  }

  private async recordOf({ plan, task }: PlannedRow, bytes: Uint8Array): Promise<EpisodeRecord> {
    const what = `the episode of row ${plan.row}`;
    const record = await openParcel(bytes, recordSchema, what);
    const { scenario, seed } = this.options.description;
    const isThat = record.id === episodeId(scenario, seed, plan.row) && record.row === plan.row;
    if (isThat && record.task === task.id && record.scenarioHash === scenario)
      return record as unknown as EpisodeRecord;
    throw reverieError('QUEUE_REFUSED', {
      problem: `The queue holds something else where ${what} should be: it is of another row.`,
      hint: 'Something other than this version of Reverie wrote to it: use a queue of another name.',
    });
  }

  private tick(stats: QueueStats): void {
    const { log, url, onTick } = this.options;
    this.stats = stats;
    this.lonely = stats.workers === 0 && this.calls.size > 0 ? this.lonely + 1 : 0;
    if (this.lonely === LONELY_TICKS) log(`No worker has come yet; start some: reverie worker --queue ${url}`);
    void this.stopWhenSpent();
    onTick();
  }
}

/** Why the try failed, as it would have been thrown here. */
function failureOf({ plan: { row } }: PlannedRow, packed: PackedError | undefined): Error {
  if (packed === undefined)
    return reverieError('ROLLOUT_GIVEN_UP', {
      problem: `Row ${row} was given up: ${MAX_LOST_LEASES} workers that took it were lost before it ended.`,
      hint: 'See how those workers ended, such as out of memory; the other rows are not affected.',
    });
  if (packed.code === undefined) return unpackError(packed);
  // Values travel as text; who is at fault is asked for as it was.
  const { ofModel, retryable } = packed.values ?? {};
  const flags = { ofModel: ofModel === 'true', retryable: retryable === 'true' };
  return new ReverieError(packed.code, { ...packed.values, ...flags });
}

/** @throws QUEUE_REFUSED */
function spentBy(outcome: Outcome) {
  const text = outcome.state === 'succeeded' ? outcome.result.note : outcome.note;
  if (text === '') return NO_COST;
  try {
    return noteSchema.parse(JSON.parse(text)).spent;
  } catch (error) {
    const what = `the note of rollout ${outcome.id}`;
    throw reverieError(
      'QUEUE_REFUSED',
      {
        problem: `The queue holds something else where ${what} should be: ${(error as Error).message}.`,
        hint: 'Something other than this version of Reverie wrote to it: use a queue of another name.',
      },
      error,
    );
  }
}

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

/** Items of a queue as promises of their outcomes. */
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
    this.farewell ??= this.queue.cancel(calls.map(({ item }) => item.id)).catch(() => {});
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
    await this.queue.enqueue(batch).catch((error) => this.abandon(error));
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
