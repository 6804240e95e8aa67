// Rows that only compute, in worker threads: exact rules, scripted users and agents without a language model. Each thread has
// parts of its own and runs whole rows; what waits for models stays on the event loop.

import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { type PackedError, packError, unpackError } from '../../core/errors.js';
import { temporaryFolder } from '../../core/files.js';
import { WorkerPool } from '../../core/pool.js';
import { moved, poolTask } from '../../core/pool-task.js';
import { isRaised } from '../../core/threads.js';
import { areRulesTrusted, trustRules } from '../../env/tools/sandbox/sandbox.js';
import { toolsScenario } from '../../kinds/registry.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { packRow, unpackRow } from '../../synth/episodes/produce-rows.js';
import type { JobContext } from '../job.js';
import { makeParts } from '../pipeline/tools/parts.js';
import type { RowRunner } from '../pipeline/tools/rows.js';
import { type AnyScenario, reviveScenario, type ToolsScenario } from '../scenario.js';
import type { RowMessage } from './redis-queue.js';
import { type JobFacts, jobOf, type WorkerJob } from './row-job.js';

/** Rows of one task at most: what a task costs beside its rows is small then. */
const LARGEST_CHUNK = 8;
/** Chunks at the threads and waiting for one, for each thread: it never waits for the next. */
const CHUNKS_A_THREAD = 3;
/** Chunks a thread has of a job, at least: none has much more to do than another. */
const LEAST_CHUNKS = 4;

interface ThreadedJob extends JobFacts {
  readonly scenario: AnyScenario;
  readonly seed: number;
  /** Whether rules run without a sandbox, as they do here. */
  readonly trustsRules: boolean;
  /** Where parts of threads keep their files. */
  readonly folder: string;
}

interface ChunkInput {
  /** A `ThreadedJob` as JSON, in memory that all threads share. */
  readonly job: Uint8Array;
  readonly folder: string;
  readonly rows: readonly RowMessage[];
}

/** What `packRow` made of a row; or why there is no row. */
type RowOutput = { readonly bytes: Uint8Array } | { readonly failed: PackedError };

/** A row that waits to be sent. */
interface Asked {
  readonly input: RowMessage;
  readonly signal: AbortSignal;
  readonly resolve: (record: EpisodeRecord) => void;
  readonly reject: (error: unknown) => void;
}

export class ThreadedRows implements RowRunner {
  readonly concurrency: number;
  readonly note = '';
  private readonly pool: WorkerPool;
  private readonly folder = temporaryFolder('rows');
  private readonly job: Uint8Array;
  private readonly waiting: Asked[] = [];
  /** Chunks that were sent and are not back. */
  private underway = 0;
  /** Rows of a task. */
  private readonly chunk: number;

  constructor({ scenario, seed, workers }: JobContext<ToolsScenario>, facts: JobFacts) {
    const { path: folder } = this.folder;
    const job: ThreadedJob = { scenario, seed, ...facts, trustsRules: areRulesTrusted(), folder };
    const bytes = new TextEncoder().encode(JSON.stringify(job));
    this.job = new Uint8Array(new SharedArrayBuffer(bytes.length));
    this.job.set(bytes);
    this.pool = new WorkerPool({ workers });
    const share = Math.ceil(scenario.config.synth.episodes / (workers * LEAST_CHUNKS));
    this.chunk = Math.min(LARGEST_CHUNK, share);
    this.concurrency = workers * CHUNKS_A_THREAD * this.chunk;
  }

  readonly run: RowRunner['run'] = ({ plan: { row }, task, maxSteps }, signal) =>
    new Promise((resolve, reject) => {
      // Rows are begun one after the other: those of one turn go together.
      if (this.waiting.length === 0) setImmediate(() => this.send());
      this.waiting.push({ input: { row, task: task.id, maxSteps }, signal, resolve, reject });
    });

  known(): void {}

  async close(): Promise<void> {
    await this.pool.close();
    this.folder.remove();
  }

  /** Chunks that are not full wait for more rows while the threads have enough to do. */
  private send(): void {
    const isFull = () => this.waiting.length >= this.chunk;
    const isWanted = () => this.waiting.length > 0 && this.underway < this.pool.workers * (CHUNKS_A_THREAD - 1);
    while (isFull() || isWanted()) void this.ask(this.waiting.splice(0, this.chunk));
  }

  /** All rows of a job have one signal. */
  private async ask(asked: readonly Asked[]): Promise<void> {
    this.underway++;
    const rows = asked.map(({ input }) => input);
    const label = `rows ${rows[0].row} to ${rows[rows.length - 1].row}`;
    try {
      const make = (): ChunkInput => ({ job: this.job, folder: this.folder.path, rows });
      const made = await this.pool.run(rowsTask, make, { signal: asked[0].signal, label });
      for (const [i, row] of made.entries()) {
        if ('failed' in row) asked[i].reject(unpackError(row.failed));
        else asked[i].resolve(unpackRow<EpisodeRecord>(row.bytes));
      }
      for (const { reject, signal } of asked.slice(made.length)) reject(signal.reason);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    } finally {
      this.underway--;
      this.send();
    }
  }
}

/** Rows are stopped between them. */
const never = new AbortController();

/** The job whose rows this thread runs. */
let present: { readonly folder: string; readonly job: Promise<WorkerJob> } | undefined;

export const rowsTask = poolTask(
  import.meta.url,
  'rowsTask',
  async ({ job: description, folder, rows }: ChunkInput, { stop }): Promise<RowOutput[]> => {
    if (present?.folder !== folder) present = { folder, job: jobHere(description) };
    const job = await present.job;
    const outputs: RowOutput[] = [];
    for (const row of rows) {
      // The rest is not waited for any more.
      if (isRaised(stop)) break;
      try {
        outputs.push({ bytes: packRow(row.row, await job.run(row, `row ${row.row}`, never.signal)) });
      } catch (error) {
        outputs.push({ failed: packError(error) });
      }
    }
    return moved(outputs);
  },
);

async function jobHere(bytes: Uint8Array): Promise<WorkerJob> {
  const job = JSON.parse(Buffer.from(bytes).toString('utf8')) as ThreadedJob;
  if (job.trustsRules) trustRules();
  const scenario = toolsScenario(await reviveScenario(job.scenario, `${job.scenario.config.name} (of a thread)`));
  const parts = await makeParts({ scenario, out: join(job.folder, String(threadId)), log: () => {} });
  return jobOf(scenario, parts, job);
}
