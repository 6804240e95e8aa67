// The side of a queue that wants rows: a row of the job becomes an item of the queue, and what comes back its record.
// Order, lag and what is durable stay with the job, for which a row on a queue is a row under way.

import type { Job, QueueEvents } from 'bullmq';
import { z } from 'zod';
import { contentHash, parsedJson } from '../../core/canonical-json.js';
import { type Cost, NO_COST } from '../../core/cost.js';
import { type PackedError, ReverieError, reverieError } from '../../core/errors.js';
import { OUTCOMES } from '../../env/tools/outcome.js';
import type { Budget } from '../../llm/budget.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { episodeId } from '../../synth/episodes/run-episode.js';
import type { PlannedRow, RowRunner } from '../pipeline/tools/rows.js';
import {
  checkedMessage,
  costSchema,
  failureSchema,
  hex64,
  ITEM_OPTIONS,
  MAX_LOST,
  noteSchema,
  openParcel,
  packParcel,
  type RowMessage,
  type RowQueue,
  strayMessage,
  TRIES,
  within,
} from './redis-queue.js';
import { type JobDescription, jobIdOf } from './row-job.js';

/** Rows on the queue at once, where the scenario does not say: enough for workers of some hundred slots. */
const DEFAULT_WINDOW = 512;
const TICK_MS = 1000;
/** Ticks after which everything that is awaited is requested again: Redis may have come back empty. */
const ASK_AGAIN = 30;
/** Ticks without a worker after which that is said. */
const LONELY_TICKS = 20;
/** Longest that an end waits for Redis. */
const FAREWELL_MS = 5000;

interface CoordinatorOptions {
  readonly queue: RowQueue;
  readonly description: JobDescription;
  readonly budget: Budget;
  /** Rows on the queue at once; 0: many. */
  readonly window: number;
  readonly log: (line: string) => void;
  /** Called every second. */
  readonly onTick: () => void;
}

/** An `EpisodeRecord`, as far as anything is counted of it; all of it was checked where it was made. */
const recordSchema = z.looseObject({
  ...{ id: z.string(), row: z.int(), task: z.string(), scenarioHash: hex64, return: z.number().nullable() },
  messages: z.array(z.looseObject({ role: z.enum(['system', 'user', 'assistant', 'tool']) })),
  steps: z.array(z.looseObject({ predictions: z.array(z.looseObject({ backend: z.string(), cost: costSchema })) })),
  verdict: z.looseObject({ checks: z.array(z.looseObject({ name: z.string(), passed: z.boolean().nullable() })) }),
  outcome: z.looseObject({ kind: z.enum(OUTCOMES) }),
  ...{ truncated: z.boolean(), weight: z.number(), cost: costSchema },
});

/** What an item came to: the parcel of its record, or an error; `error` is null where every worker that took it was lost. */
type Outcome = { readonly spent: Cost } & ({ readonly bytes: Uint8Array } | { readonly error: PackedError | null });

interface Call {
  readonly payload: Uint8Array;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

export class RowCoordinator implements RowRunner {
  readonly concurrency: number;
  private readonly job: string;
  private readonly calls = new Map<string, Call>();
  /** Of the items of rows. */
  private readonly ids = new Map<number, string>();
  private readonly timer: NodeJS.Timeout;
  private ticks = 0;
  private ticking: Promise<void> | undefined;
  private farewell: Promise<unknown> | undefined;
  private isListening = false;
  private lonely = 0;
  /** `3 workers · 12 under way, 240 waiting`. */
  note = '';

  private constructor(
    private readonly options: CoordinatorOptions,
    private readonly events: QueueEvents,
    /** Tells workers what the job is. */
    private readonly describe: () => Promise<unknown>,
  ) {
    const { window, description } = options;
    this.concurrency = window === 0 ? DEFAULT_WINDOW : window;
    this.job = jobIdOf(description);
    events.on('error', () => {});
    events.on('completed', ({ jobId, returnvalue }) => this.attempt(() => this.succeeded(jobId, returnvalue)));
    events.on('failed', ({ jobId, failedReason }) => this.attempt(async () => this.failed(jobId, failedReason)));
    this.timer = setInterval(() => {
      this.ticking ??= this.tick()
        .catch((error) => this.abandon(error))
        .finally(() => {
          this.ticking = undefined;
        });
    }, TICK_MS);
  }

  static async begin(options: CoordinatorOptions): Promise<RowCoordinator> {
    const { queue, description } = options;
    const parcel = await packParcel(description);
    const describe = () => queue.put('job', jobIdOf(description), parcel);
    await describe();
    const { QueueEvents: Events } = await import('bullmq');
    // From the last event there is: those of items that are added from now on are then not missed.
    const [last] = await queue.redis.xrevrange(queue.items.toKey('events'), '+', '-', 'COUNT', 1);
    const events = new Events(queue.name, { ...queue.options, lastEventId: last?.[0] ?? '0-0' });
    return new RowCoordinator(options, events, describe);
  }

  /** @throws BUDGET_SPENT, ROLLOUT_GIVEN_UP, QUEUE_REFUSED, what the worker threw */
  readonly run: RowRunner['run'] = async (planned, signal) => {
    if (!this.isListening) {
      this.isListening = true;
      signal.addEventListener('abort', () => this.abandon(signal.reason), { once: true });
    }
    const { plan, task } = planned;
    const message: RowMessage = { row: plan.row, task: task.id };
    const id = contentHash({ job: this.job, ...message });
    const reservation = await this.options.budget.reserve(NO_COST);
    let spent = NO_COST;
    try {
      const payload = await packParcel(message);
      // From here on a stop finds the call.
      signal.throwIfAborted();
      this.ids.set(plan.row, id);
      const outcome = await new Promise<Outcome>((resolve, reject) => {
        this.calls.set(id, { payload, resolve, reject });
        this.attempt(() => this.enqueue(id));
      });
      spent = outcome.spent;
      if ('bytes' in outcome) return await this.recordOf(planned, outcome.bytes);
      throw failureOf(plan.row, outcome.error);
    } finally {
      reservation.settle(spent, 'workers');
      this.stopWhenSpent();
    }
  };

  known(row: number): void {
    const id = this.ids.get(row);
    if (id !== undefined) this.options.queue.forget(id).catch(() => {});
    this.ids.delete(row);
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    const last = async () => {
      await this.farewell;
      await this.ticking;
      await this.events.close();
    };
    // What Redis keeps it lets go of by itself, so that one that is away is not waited for.
    await within(FAREWELL_MS, last());
  }

  /** Adds an item that is unknown, or failed before; of one that succeeded the outcome is taken. */
  private async enqueue(id: string): Promise<void> {
    const { items } = this.options.queue;
    const known: Job | undefined = await items.getJob(id);
    const state = await known?.getState();
    if (state === 'completed' && (await this.succeeded(id, known!.returnvalue))) return;
    if (known !== undefined && state !== 'completed' && state !== 'failed') return;
    await known?.remove();
    // What was abandoned in between is not wanted any more.
    const call = this.calls.get(id);
    if (call === undefined) return;
    const data = { job: this.job, payload: Buffer.from(call.payload).toString('base64') };
    await items.add('rollout', data, { jobId: id, ...ITEM_OPTIONS });
  }

  /** False if its result is gone. @throws QUEUE_REFUSED */
  private async succeeded(id: string, note: unknown): Promise<boolean> {
    if (!this.calls.has(id)) return true;
    const bytes = await this.options.queue.get('result', id);
    if (bytes === undefined) return false;
    const { spent } = checkedMessage(parsedJson(String(note)), noteSchema, `the note of rollout ${id}`);
    this.settle(id, { bytes, spent });
    return true;
  }

  /** @throws QUEUE_REFUSED */
  private failed(id: string, reason: string): void {
    if (!this.calls.has(id)) return;
    if (reason.startsWith('job stalled')) {
      this.settle(id, { error: null, spent: NO_COST });
      return;
    }
    const { error, note } = checkedMessage(parsedJson(reason), failureSchema, `why rollout ${id} failed`);
    this.settle(id, { error: error as PackedError, spent: note.spent });
  }

  private settle(id: string, outcome: Outcome): void {
    this.calls.get(id)?.resolve(outcome);
    this.calls.delete(id);
  }

  /** What cannot be done by the queue ends everything that is awaited. */
  private attempt(work: () => Promise<unknown>): void {
    work().catch((error) => this.abandon(error));
  }

  /** Everything awaited ends with `reason`, now; items that have not begun are cancelled. */
  private abandon(reason: unknown): void {
    const calls = [...this.calls];
    this.calls.clear();
    for (const [, { reject }] of calls) reject(reason);
    this.farewell ??= Promise.all(calls.map(([id]) => this.cancel(id))).catch(() => {});
  }

  /** Whether the item had not begun, and is gone. */
  private async cancel(id: string): Promise<boolean> {
    const item: Job | undefined = await this.options.queue.items.getJob(id);
    if (item === undefined || (await item.getState()) !== 'waiting') return false;
    // A failure: a worker took it just now.
    return item.remove().then(
      () => true,
      () => false,
    );
  }

  /** Rows that no worker has begun end as the budget says; those under way are paid for, and are kept. */
  private stopWhenSpent(): void {
    const { budget } = this.options;
    if (budget.exhausted() === undefined || this.calls.size === 0) return;
    this.attempt(async () => {
      const spent = await budget.reserve(NO_COST).catch((error: unknown) => error);
      for (const id of [...this.calls.keys()]) {
        if (!(await this.cancel(id))) continue;
        this.calls.get(id)?.reject(spent);
        this.calls.delete(id);
      }
    });
  }

  private async recordOf({ plan, task }: PlannedRow, bytes: Uint8Array): Promise<EpisodeRecord> {
    const what = `the episode of row ${plan.row}`;
    const record = await openParcel(bytes, recordSchema, what);
    const { scenario, seed } = this.options.description;
    const isThat = record.id === episodeId(scenario, seed, plan.row) && record.row === plan.row;
    if (isThat && record.task === task.id && record.scenarioHash === scenario)
      return record as unknown as EpisodeRecord;
    throw strayMessage(what, 'it is of another row');
  }

  private async tick(): Promise<void> {
    const { queue, log, onTick } = this.options;
    const { waiting, active } = await queue.items.getJobCounts('waiting', 'active');
    const workers = await queue.items.getWorkersCount();
    this.note = `${workers} ${workers === 1 ? 'worker' : 'workers'} · ${active} under way, ${waiting} waiting`;
    this.lonely = workers === 0 && this.calls.size > 0 ? this.lonely + 1 : 0;
    if (this.lonely === LONELY_TICKS) log(`No worker has come yet; start some: reverie worker --queue ${queue.url}`);
    this.stopWhenSpent();
    onTick();
    if (++this.ticks % ASK_AGAIN !== 0 || this.calls.size === 0) return;
    await this.describe();
    for (const id of [...this.calls.keys()]) await this.enqueue(id);
  }
}

/** Why the try failed, as it would have been thrown here. */
function failureOf(row: number, packed: PackedError | null): Error {
  const givenUp = (why: string, hint: string) =>
    reverieError('ROLLOUT_GIVEN_UP', {
      problem: `Row ${row} was given up${why}`,
      hint: `${hint}; the other rows are not affected.`,
    });
  if (packed === null)
    return givenUp(
      `: ${MAX_LOST} workers that took it were lost before it ended.`,
      'See how those workers ended, such as out of memory',
    );
  if (packed.code === undefined)
    return givenUp(` after ${TRIES} tries: ${packed.message}`, 'Workers show the stack with REVERIE_DEBUG=1');
  // Values travel as text; whose fault it was is asked for as it was.
  const { ofModel, retryable } = packed.values ?? {};
  const flags = { ofModel: ofModel === 'true', retryable: retryable === 'true' };
  return new ReverieError(packed.code, { ...packed.values, ...flags });
}
