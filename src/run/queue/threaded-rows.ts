// Rows that only compute, in worker threads: exact rules, scripted users and agents without a language model. Each thread has
// parts of its own and lives whole rows; what waits for models stays on the event loop, in live-row.ts.

import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { type PackedError, packError, unpackError } from '../../core/errors.js';
import { temporaryFolder } from '../../core/files.js';
import { WorkerPool } from '../../core/pool.js';
import { moved, poolTask } from '../../core/pool-task.js';
import { isRaised } from '../../core/threads.js';
import type { ToolsTask } from '../../env/tools/domain.js';
import { areRulesTrusted, trustRules } from '../../env/tools/sandbox/sandbox.js';
import type { Responder } from '../../env/tools/tools-family.js';
import { toolsScenario } from '../../kinds/registry.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { packRow, unpackRow } from '../../synth/episodes/produce-rows.js';
import type { JobContext } from '../job.js';
import type { Elsewhere } from '../pipeline/tools/lived-rows.js';
import { makeParts, type ToolsParts } from '../pipeline/tools/parts.js';
import { type AnyScenario, reviveScenario, type ToolsScenario } from '../scenario.js';
import type { JobDescription } from './messages.js';
import { jobOf, livedRow, type WorkerJob } from './worker.js';

/** Rows of one task at most: what a task costs beside its rows is small then. */
const LARGEST_CHUNK = 8;
/** Chunks at the threads and waiting for one, for each thread: it never waits for the next. */
const CHUNKS_A_THREAD = 3;
/** Chunks a thread has of a job, at least: none has much more to do than another. */
const LEAST_CHUNKS = 4;

interface ThreadedJob extends Pick<JobDescription, 'seed' | 'withheld' | 'versions'> {
  readonly scenario: AnyScenario;
  readonly tasks: readonly ToolsTask[];
  /** Whether rules run without a sandbox, as they do here. */
  readonly trustsRules: boolean;
  /** Where parts of threads keep their files. */
  readonly folder: string;
}

interface RowInput {
  readonly row: number;
  readonly task: string;
  readonly maxSteps: number;
}

interface ChunkInput {
  /** A `ThreadedJob` as JSON, in memory that all threads share. */
  readonly job: Uint8Array;
  readonly folder: string;
  readonly rows: readonly RowInput[];
}

/** A row's share of the bytes; or why there is no row. */
type RowOutput = { readonly bytes: number; readonly failed?: undefined } | { readonly failed: PackedError };

interface ChunkOutput {
  readonly rows: readonly RowOutput[];
  /** What `packRow` made of each row, one after another. */
  readonly bytes: Uint8Array;
}

/** A row that waits to be sent. */
interface Asked {
  readonly input: RowInput;
  readonly signal: AbortSignal;
  readonly resolve: (record: EpisodeRecord) => void;
  readonly reject: (error: unknown) => void;
}

export interface ThreadedRowsSettings {
  /** Tasks that were made for the job. */
  readonly tasks: readonly ToolsTask[];
  readonly withheld: string | undefined;
  readonly responder: Responder;
}

/** Whether rows of this job wait for nobody. */
export function onlyComputes({ scenario: { config } }: Pick<JobContext<ToolsScenario>, 'scenario'>): boolean {
  return config.llm === null && config.synth.mode !== 'amplify' && config.reward.judge === null;
}

export class ThreadedRows implements Elsewhere {
  readonly concurrency: number;
  /** Nothing to tell beyond what rows came to. */
  readonly note = '';
  private readonly pool: WorkerPool;
  private readonly folder = temporaryFolder('rows');
  private readonly job: Uint8Array;
  private readonly waiting: Asked[] = [];
  /** Chunks that were sent and are not back. */
  private underway = 0;
  /** Rows of a task. */
  private readonly chunk: number;

  constructor(
    { scenario, seed, workers }: JobContext<ToolsScenario>,
    { domain, user, agent }: ToolsParts,
    { tasks, withheld, responder }: ThreadedRowsSettings,
  ) {
    const who = { domain: domain.version, responder: responder.version, user: user.version, agent: agent.version };
    const job: ThreadedJob = {
      scenario,
      seed,
      withheld: withheld ?? null,
      tasks,
      versions: { ...who, judge: null },
      trustsRules: areRulesTrusted(),
      folder: this.folder.path,
    };
    this.job = shared(JSON.stringify(job));
    this.pool = new WorkerPool({ workers });
    const share = Math.ceil(scenario.config.synth.episodes / (workers * LEAST_CHUNKS));
    this.chunk = Math.min(LARGEST_CHUNK, share);
    this.concurrency = workers * CHUNKS_A_THREAD * this.chunk;
  }

  readonly live: Elsewhere['live'] = ({ plan: { row }, task, maxSteps }, signal) =>
    new Promise((resolve, reject) => {
      // Rows are begun one after the other: those of one turn go together.
      if (this.waiting.length === 0) setImmediate(() => this.send());
      this.waiting.push({ input: { row, task: task.id, maxSteps }, signal, resolve, reject });
    });

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
      let at = 0;
      for (const [i, row] of made.rows.entries()) {
        if (row.failed !== undefined) {
          asked[i].reject(unpackError(row.failed));
          continue;
        }
        asked[i].resolve(unpackRow<EpisodeRecord>(made.bytes.subarray(at, at + row.bytes)));
        at += row.bytes;
      }
      for (const { reject, signal } of asked.slice(made.rows.length)) reject(signal.reason);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    } finally {
      this.underway--;
      this.send();
    }
  }

  known(): void {}

  async close(): Promise<void> {
    await this.pool.close();
    this.folder.remove();
  }
}

function shared(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const memory = new Uint8Array(new SharedArrayBuffer(bytes.length));
  memory.set(bytes);
  return memory;
}

/** Rows are stopped between them. */
const never = new AbortController();

/** The job whose rows this thread lives. */
let present: { readonly folder: string; readonly job: Promise<WorkerJob> } | undefined;

export const rowsTask = poolTask(
  import.meta.url,
  'rowsTask',
  async ({ job: description, folder, rows }: ChunkInput, { stop }): Promise<ChunkOutput> => {
    if (present?.folder !== folder) present = { folder, job: jobHere(description) };
    const job = await present.job;
    const outputs: RowOutput[] = [];
    const pieces: Uint8Array[] = [];
    for (const row of rows) {
      // Nobody waits for the rest any more.
      if (isRaised(stop)) break;
      try {
        const record = await livedRow(job, { ...row, attempt: 0 }, `row ${row.row}`, never.signal);
        const packed = packRow(row.row, record);
        pieces.push(packed);
        outputs.push({ bytes: packed.length });
      } catch (error) {
        outputs.push({ failed: packError(error) });
      }
    }
    return moved({ rows: outputs, bytes: joined(pieces) });
  },
);

/** In memory that nothing else lies in, as it leaves the thread. */
function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

async function jobHere(bytes: Uint8Array): Promise<WorkerJob> {
  const job = JSON.parse(Buffer.from(bytes).toString('utf8')) as ThreadedJob;
  if (job.trustsRules) trustRules();
  const scenario = toolsScenario(await reviveScenario(job.scenario, `${job.scenario.config.name} (of a thread)`));
  const parts = await makeParts({ scenario, out: join(job.folder, String(threadId)), log: () => {} });
  return jobOf(scenario, parts, job);
}
