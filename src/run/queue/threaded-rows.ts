// Rows that only compute, in worker threads: exact rules, scripted users and agents without a language model. Each thread has
// parts of its own and runs whole rows; what waits for models stays on the event loop.

import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { type Cost, NO_COST } from '../../core/cost.js';
import { type PackedError, packError, reverieError, unpackError } from '../../core/errors.js';
import { temporaryFolder } from '../../core/files.js';
import { WorkerPool } from '../../core/pool.js';
import { moved, poolTask } from '../../core/pool-task.js';
import { isRaised } from '../../core/threads.js';
import type { ToolsTask } from '../../env/tools/domain.js';
import { areRulesTrusted, trustRules } from '../../env/tools/sandbox/sandbox.js';
import { toolsScenario } from '../../kinds/registry.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { packRow, unpackRow } from '../../synth/episodes/produce-rows.js';
import { planRow } from '../../synth/episodes/run-episode.js';
import type { JobContext } from '../job.js';
import { scenarioJudge } from '../pipeline/tools/gates.js';
import { makeParts, type ToolsParts } from '../pipeline/tools/parts.js';
import { amplifiedRows } from '../pipeline/tools/row-makers.js';
import { type RowRunner, rowsHere } from '../pipeline/tools/rows.js';
import { withAddedTasks } from '../pipeline/tools/task-stage.js';
import { type AnyScenario, reviveScenario, type ToolsScenario } from '../scenario.js';
import type { JobDescription, JobFacts, RowMessage } from './messages.js';
import { strayMessage } from './redis-queue.js';

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

interface ChunkInput {
  /** A `ThreadedJob` as JSON, in memory that all threads share. */
  readonly job: Uint8Array;
  readonly folder: string;
  readonly rows: readonly RowMessage[];
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

  constructor(
    { scenario, seed, workers }: JobContext<ToolsScenario>,
    { tasks, withheld = null, versions }: Omit<JobFacts, 'withheld'> & { readonly withheld?: string | null },
  ) {
    const { path: folder } = this.folder;
    const job: ThreadedJob = { scenario, seed, withheld, tasks, versions, trustsRules: areRulesTrusted(), folder };
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
}

/** Rows are stopped between them. */
const never = new AbortController();

/** The job whose rows this thread runs. */
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
      // The rest is not waited for any more.
      if (isRaised(stop)) break;
      try {
        const packed = packRow(row.row, await job.run(row, `row ${row.row}`, never.signal));
        pieces.push(packed);
        outputs.push({ bytes: packed.length });
      } catch (error) {
        outputs.push({ failed: packError(error) });
      }
    }
    // In memory that nothing else lies in, as it leaves the thread.
    const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return moved({ rows: outputs, bytes });
  },
);

async function jobHere(bytes: Uint8Array): Promise<WorkerJob> {
  const job = JSON.parse(Buffer.from(bytes).toString('utf8')) as ThreadedJob;
  if (job.trustsRules) trustRules();
  const scenario = toolsScenario(await reviveScenario(job.scenario, `${job.scenario.config.name} (of a thread)`));
  const parts = await makeParts({ scenario, out: join(job.folder, String(threadId)), log: () => {} });
  return jobOf(scenario, parts, job);
}

// A job as any process, or thread, runs its rows.

/** A job as its rows can be run here. */
export interface WorkerJob {
  readonly parts: ToolsParts;
  /** Throws what a row throws. */
  readonly run: (message: RowMessage, what: string, signal: AbortSignal) => Promise<EpisodeRecord>;
  /** Rows. */
  underway: number;
  /** What of its costs has been reported. */
  reported: Cost;
}

/** @throws QUEUE_REFUSED naming what is not as it is with the coordinator */
export async function jobOf(
  scenario: ToolsScenario,
  made: ToolsParts,
  {
    seed,
    withheld,
    tasks,
    versions: theirs,
  }: Pick<JobDescription, 'seed' | 'withheld' | 'versions'> & {
    readonly tasks: readonly unknown[];
  },
): Promise<WorkerJob> {
  const { config } = scenario;
  const domain = withAddedTasks(made.domain, tasks as readonly ToolsTask[], config.quality.splits);
  const parts = { ...made, domain };
  const context = { scenario, seed };
  const judge = await scenarioJudge(context, parts);
  const { user, agent, responder } = parts;
  const ours: JobDescription['versions'] = {
    ...{ domain: domain.version, responder: responder.version, user: user.version, agent: agent.version },
    judge: judge?.version ?? null,
  };
  for (const what of Object.keys(theirs) as (keyof typeof theirs)[])
    requireSame(config.name, `${what}'s version`, theirs[what], ours[what]);
  const runRow = rowsHere(context, parts, {
    ...{ source: 'synthetic', responder, judge: judge?.decide, withheld: withheld ?? undefined },
    make: config.synth.mode === 'amplify' ? await amplifiedRows(scenario, parts) : undefined,
  });
  const byId = new Map(domain.tasks.map((task) => [task.id, task]));
  const { groupSize, branchAt } = config.synth;
  const run: WorkerJob['run'] = async ({ row, task: id, maxSteps }, what, signal) => {
    const task = byId.get(id);
    if (task === undefined) throw strayMessage(what, `there is no task "${id}"`);
    return runRow({ plan: planRow(row, { seed, groupSize, branchAt }), task, maxSteps }, signal);
  };
  return { parts, run, underway: 0, reported: NO_COST };
}

export function requireSame(name: string, what: string, theirs: string | null, ours: string | null): void {
  if (theirs === ours) return;
  throw reverieError('QUEUE_REFUSED', {
    problem: `This worker cannot run rows of "${name}": the ${what} of its job is ${theirs ?? 'none'}, here it is ${ours ?? 'none'}.`,
    hint: 'Give coordinator and workers the same version of Reverie and the same files (--files says where they lie here).',
  });
}
