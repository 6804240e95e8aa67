// The side of a queue that has rows lived: a row of the job becomes an item of the queue, and what comes back its record.
// Order, lag and what is durable stay with the job, for which a row on a queue is a row under way.

import { NO_COST } from '../../core/cost.js';
import { type PackedError, ReverieError, reverieError, unpackError } from '../../core/errors.js';
import type { Budget } from '../../llm/index.js';
import type { EpisodeRecord } from '../../replay/index.js';
import {
  episodeId,
  MAX_LOST_LEASES,
  type Outcome,
  openParcel,
  packParcel,
  type QueueStats,
  type RolloutQueue,
  rolloutId,
} from '../../synth/index.js';
import type { PlannedRow } from '../pipeline/tools/live-row.js';
import type { Elsewhere } from '../pipeline/tools/lived-rows.js';
import { type JobDescription, type Note, noteSchema, type RowMessage, recordSchema } from './messages.js';
import { jobIdOf } from './queue-job.js';
import { RolloutCalls } from './rollout-calls.js';

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

export class RowCoordinator implements Elsewhere {
  readonly concurrency: number;
  private readonly job: string;
  private readonly calls: RolloutCalls;
  /** Ids of a row's tries. */
  private readonly tries = new Map<number, string[]>();
  private stats: QueueStats | undefined;
  private lonely = 0;
  private isStopping = false;

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

  /** Throws BUDGET_SPENT, ROLLOUT_LOST, ROLLOUT_FAILED, what the worker threw, what the queue throws. */
  readonly live = async (row: PlannedRow, signal: AbortSignal): Promise<EpisodeRecord> => {
    if (!this.isStopping) {
      this.isStopping = true;
      signal.addEventListener('abort', () => this.calls.abandon(signal.reason), { once: true });
    }
    for (let times = 1; ; times++) {
      signal.throwIfAborted();
      const outcome = await this.outcomeOf(row);
      if (outcome.state === 'succeeded') return this.recordOf(row, outcome.result.bytes);
      const error = failureOf(row, outcome.error);
      if (error instanceof ReverieError) throw error;
      const problem = error.message;
      if (times === TRIES) throw reverieError('ROLLOUT_FAILED', { row: row.plan.row, times, problem }, error);
    }
  };

  known(row: number): void {
    for (const id of this.tries.get(row) ?? []) this.calls.forget(id);
    this.tries.delete(row);
  }

  /** Everything that is waited for ends with `error`. */
  fail(error: unknown): void {
    this.calls.abandon(error);
  }

  close(): Promise<void> {
    return this.calls.close();
  }

  private async outcomeOf({ plan: { row }, task, maxSteps }: PlannedRow): Promise<Outcome> {
    const reservation = await this.options.budget.reserve(NO_COST);
    let spent = NO_COST;
    try {
      const tries = this.tries.get(row) ?? [];
      const attempt = tries.length;
      const { seed } = this.options.description;
      const id = rolloutId({ job: this.job, task: task.id, seed, row, attempt });
      this.tries.set(row, [...tries, id]);
      const message: RowMessage = { row, task: task.id, maxSteps, attempt };
      const outcome = await this.calls.call({ id, job: this.job, payload: await packParcel(message) });
      spent = noteOf(outcome)?.spent ?? NO_COST;
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
      const error = await budget.reserve(NO_COST).catch((spent) => spent);
      await this.calls.cancelQueued(error);
    } catch (error) {
      this.fail(error);
    }
  }

  private async recordOf({ plan, task }: PlannedRow, bytes: Uint8Array): Promise<EpisodeRecord> {
    const what = `the episode of row ${plan.row}`;
    const record = await openParcel(bytes, recordSchema, what);
    const { scenario, seed } = this.options.description;
    const isThat = record.id === episodeId(scenario, seed, plan.row) && record.row === plan.row;
    if (!isThat || record.task !== task.id || record.scenarioHash !== scenario) {
      throw reverieError('QUEUE_MESSAGE_INVALID', { what, problem: 'it is of another row' });
    }
    return record as unknown as EpisodeRecord;
  }

  private tick(stats: QueueStats): void {
    this.stats = stats;
    this.lonely = stats.workers === 0 && this.calls.size > 0 ? this.lonely + 1 : 0;
    if (this.lonely === LONELY_TICKS) {
      this.options.log(`No worker has come yet; start some: reverie worker --queue ${this.options.url}`);
    }
    void this.stopWhenSpent();
    this.options.onTick();
  }
}

/** Why the try failed, as it would have been thrown here. */
function failureOf({ plan: { row } }: PlannedRow, packed: PackedError | undefined): Error {
  if (packed === undefined) return reverieError('ROLLOUT_LOST', { row, times: MAX_LOST_LEASES });
  if (packed.code === undefined) return unpackError(packed);
  // Values travel as text; who is at fault is asked for as it was.
  const { ofModel, retryable } = packed.values ?? {};
  const flags = { ofModel: ofModel === 'true', retryable: retryable === 'true' };
  return new ReverieError(packed.code, { ...packed.values, ...flags });
}

/** @throws QUEUE_MESSAGE_INVALID */
function noteOf(outcome: Outcome): Note | undefined {
  const text = outcome.state === 'succeeded' ? outcome.result.note : outcome.note;
  if (text === '') return undefined;
  try {
    return noteSchema.parse(JSON.parse(text));
  } catch (error) {
    const what = `the note of rollout ${outcome.id}`;
    throw reverieError('QUEUE_MESSAGE_INVALID', { what, problem: (error as Error).message }, error);
  }
}
