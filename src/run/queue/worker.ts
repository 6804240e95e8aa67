// `reverie worker`: a process, one of many, that runs rows of whatever jobs a queue brings.

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Job } from 'bullmq';
import { addCosts, type Cost, NO_COST, subtractCosts } from '../../core/cost.js';
import { packError, ReverieError, reverieError } from '../../core/errors.js';
import { temporaryFolder } from '../../core/files.js';
import { toolsScenario } from '../../kinds/registry.js';
import { formatCount } from '../format.js';
import { listenForInterrupt } from '../interrupt.js';
import { closedOnFailure } from '../job.js';
import { makeParts } from '../pipeline/tools/rows.js';
import { makeProgress, type Progress } from '../progress.js';
import { type AnyScenario, reviveScenario, type ToolsScenario } from '../scenario.js';
import { versions } from '../versions.js';
import {
  checkedMessage,
  itemSchema,
  KEPT,
  MAX_LOST,
  openParcel,
  packParcel,
  RowQueue,
  rowSchema,
  within,
} from './redis-queue.js';
import {
  folderHere,
  type JobDescription,
  type JobFacts,
  jobOf,
  openDescription,
  requireNoServer,
  requireSame,
  type WorkerJob,
} from './row-job.js';

export interface WorkOptions {
  readonly queue: string;
  /** Rows run at once. */
  readonly concurrency?: number;
  /** Seconds after which a row whose lock was not renewed goes to another worker. */
  readonly lease?: number;
  /** Seconds that rows under way are given once the worker is asked to stop. */
  readonly grace?: number;
  /** Seconds without a row after which the worker ends by itself; absent: never. */
  readonly idle?: number;
  /** Folder that stands for the scenario's on this machine. */
  readonly files?: string;
}

export type WorkResult = Awaited<ReturnType<typeof work>>;

const DEFAULT_SLOTS = 32;
const DEFAULT_LEASE_SECONDS = 30;
const DEFAULT_GRACE_SECONDS = 20;
const MIN_CHECK_MS = 500;
/** How often it is looked whether no row came for too long. */
const IDLE_CHECK_MS = 250;
/** Longest that an end waits for Redis. */
const FAREWELL_MS = 2000;

/**
 * Runs rows until `signal` is aborted, or none came for too long.
 * @throws what this worker cannot do, as QUEUE_REFUSED: its rows are given back
 */
export async function work(options: WorkOptions, progress: Progress, signal: AbortSignal) {
  const { concurrency: slots = DEFAULT_SLOTS, lease = DEFAULT_LEASE_SECONDS, grace = DEFAULT_GRACE_SECONDS } = options;
  const { idle = Number.POSITIVE_INFINITY, files } = options;
  const log = (line: string) => progress.log(line);
  const queue = await RowQueue.open(options.queue, log);
  const { path: folder, remove } = temporaryFolder('worker');
  const jobs = new WorkerJobs(queue, folder, files && resolve(files), log);
  const phase = progress.phase('rows', null, 'rows');
  const counts = { rows: 0, failed: 0, givenBack: 0, spent: NO_COST };
  let underway = 0;
  let busyAt = Date.now();
  const tell = () => {
    const { failed, givenBack, spent } = counts;
    const parts = [`${underway} of ${slots} slots`];
    if (failed > 0) parts.push(`${failed} failed`);
    if (givenBack > 0) parts.push(`${givenBack} given back`);
    if (spent.calls > 0) parts.push(`${formatCount(spent.calls)} calls`);
    phase.set(counts.rows, parts.join(' · '));
  };
  const noteOf = (job: WorkerJob | undefined) => {
    const spent = job === undefined ? NO_COST : newlySpent(job);
    counts.spent = addCosts(counts.spent, spent);
    return { spent };
  };
  /** Aborts with what this worker cannot do, which is no fault of the row's: the worker ends. */
  const refusal = new AbortController();
  /** Aborts when rows under way have had their time. */
  const late = new AbortController();
  const { UnrecoverableError, WaitingError, Worker } = await import('bullmq');
  const givenBack = async (item: Job, token: string | undefined) => {
    counts.givenBack++;
    await item.moveToWait(token);
    return new WaitingError();
  };
  const runItem = async (item: Job, token: string | undefined): Promise<string> => {
    underway++;
    tell();
    let job: WorkerJob | undefined;
    try {
      const what = `rollout ${item.id}`;
      const { job: id, payload } = checkedMessage(item.data, itemSchema, what);
      const message = await openParcel(Buffer.from(payload, 'base64'), rowSchema, what);
      job = await jobs.ready(id).catch((error) => {
        if (!(error instanceof ReverieError && error.code === 'QUEUE_JOB_UNKNOWN')) refusal.abort(error);
        throw error;
      });
      job.underway++;
      const record = await job.run(message, what, late.signal);
      if (await queue.put('result', item.id!, await packParcel(record))) counts.rows++;
      return JSON.stringify(noteOf(job));
    } catch (error) {
      if (refusal.signal.aborted || late.signal.aborted) throw await givenBack(item, token);
      counts.failed++;
      const reason = JSON.stringify({ error: packError(error), note: noteOf(job) });
      // What is expected would fail again.
      const failure = error instanceof ReverieError ? new UnrecoverableError(reason) : new Error(reason);
      failure.stack = '';
      throw failure;
    } finally {
      underway--;
      // Not before its costs are told.
      if (job !== undefined) job.underway--;
      busyAt = Date.now();
      tell();
    }
  };
  const worker = new Worker(queue.name, runItem, {
    ...queue.options,
    ...{ concurrency: slots, lockDuration: 1000 * lease, maxStalledCount: MAX_LOST - 1, drainDelay: 1 },
    stalledInterval: Math.max(MIN_CHECK_MS, (1000 * lease) / 2),
    ...KEPT,
  });
  // A connection's trouble is said by the queue; a lock that was lost is another worker's row.
  worker.on('error', () => {});
  try {
    await new Promise<void>((end) => {
      const stops = AbortSignal.any([signal, refusal.signal]);
      const timer = setInterval(() => {
        if (!stops.aborted && (underway > 0 || Date.now() - busyAt < 1000 * idle)) return;
        clearInterval(timer);
        end();
      }, IDLE_CHECK_MS);
    });
    // Rows under way may end, as long as they may; the others are given back.
    const timer = setTimeout(() => late.abort(), 1000 * grace);
    await within(1000 * grace + FAREWELL_MS, worker.close());
    clearTimeout(timer);
    refusal.signal.throwIfAborted();
    phase.end();
    return { job: 'worker', ...counts };
  } finally {
    await within(FAREWELL_MS, worker.close(true));
    await queue.close();
    await jobs.close();
    remove();
  }
}

/** As `work`, until Ctrl-C: once lets rows under way end, twice ends the process. */
export async function workUntilInterrupted(
  options: WorkOptions & { readonly quiet?: boolean },
  stream: NodeJS.WriteStream,
): Promise<WorkResult> {
  const progress = makeProgress({ stream, quiet: options.quiet });
  const interrupt = listenForInterrupt({
    onFirst: () => progress.log('Ending the rows under way, or giving them back. Press Ctrl-C again to stop at once.'),
    onSecond: () => progress.close(),
  });
  try {
    return await work(options, progress, interrupt.signal);
  } finally {
    interrupt.dispose();
    progress.close();
  }
}

/** What the job's rows spent here since this was last asked. */
function newlySpent(job: WorkerJob): Cost {
  const spent = subtractCosts(job.parts.budget.spent, job.reported);
  job.reported = job.parts.budget.spent;
  return spent;
}

/** Jobs whose parts are kept at once. */
const MAX_JOBS = 4;

/** The jobs that this worker has met, each with its parts. */
class WorkerJobs {
  private readonly jobs = new Map<string, Promise<WorkerJob>>();
  private readonly made = new Map<string, WorkerJob>();

  constructor(
    private readonly queue: RowQueue,
    /** Where parts keep their files. */
    private readonly folder: string,
    /** Folder that stands for the scenario's on this machine; absent: the same path as the coordinator's. */
    private readonly files: string | undefined,
    private readonly log: (line: string) => void,
  ) {}

  /** @throws QUEUE_JOB_UNKNOWN; QUEUE_REFUSED, and what the parts throw: what this worker cannot do */
  ready(id: string): Promise<WorkerJob> {
    const ready = this.jobs.get(id) ?? this.make(id);
    this.jobs.set(id, ready);
    ready.catch(() => this.jobs.delete(id));
    return ready;
  }

  async close(): Promise<void> {
    for (const job of this.made.values()) await job.parts.close();
  }

  private async make(id: string): Promise<WorkerJob> {
    const bytes = await this.queue.get('job', id);
    if (bytes === undefined) throw reverieError('QUEUE_JOB_UNKNOWN', { job: id });
    const description = await openDescription(id, bytes);
    const scenario = await this.scenarioOf(description);
    requireNoServer(scenario);
    const out = join(this.folder, id.slice(0, 16));
    mkdirSync(out, { recursive: true });
    const parts = await makeParts({ scenario, out, log: this.log });
    const facts = description as JobDescription & JobFacts;
    const job = await closedOnFailure(parts, () => jobOf(scenario, parts, facts));
    this.made.set(id, job);
    for (const [oldest, { underway, parts: old }] of this.made) {
      if (this.made.size <= MAX_JOBS) break;
      if (underway > 0 || oldest === id) continue;
      this.made.delete(oldest);
      this.jobs.delete(oldest);
      await old.close();
    }
    return job;
  }

  /** The scenario with its folder here. @throws QUEUE_REFUSED if it, or a file it names, is another */
  private async scenarioOf(description: JobDescription): Promise<ToolsScenario> {
    const { config, scenario: hash, reverie } = description;
    const name = String(config.name);
    requireSame(name, 'version of Reverie', reverie, versions().reverie);
    const folder = this.files ?? folderHere(description);
    const saved = { config, hash, folder } as unknown as AnyScenario;
    try {
      return toolsScenario(await reviveScenario(saved, `${name} (of the queue)`, { plugins: false }));
    } catch (error) {
      if (!(error instanceof ReverieError) || error.code !== 'SCENARIO_CHANGED') throw error;
      const what = `scenario's hash, with that of the files it names below ${folder},`;
      requireSame(name, what, hash, String(error.values.hash));
      throw error;
    }
  }
}
