// `reverie worker`: a process, one of many, that lives rows of whatever jobs a queue brings.

import { resolve } from 'node:path';
import type { Cost } from '../../core/cost.js';
import { temporaryFolder } from '../../core/temporary-folder.js';
import { ensureFolder } from '../../store/atomic-file.js';
import { lockFolder } from '../../store/folder-lock.js';
import { DEFAULT_LEASE_MS, openQueue } from '../../synth/index.js';
import { formatCount } from '../format.js';
import { listenForInterrupt } from '../interrupt.js';
import { makeProgress, type Progress } from '../progress.js';
import { RowWorker, type WorkerCounts } from './row-worker.js';
import { WorkerJobs } from './worker-jobs.js';

export interface WorkOptions {
  readonly queue: string;
  /** Rows lived at once. */
  readonly concurrency?: number;
  /** Seconds after which a lease that was not renewed runs out. */
  readonly lease?: number;
  /** Seconds that rows under way are given once the worker is asked to stop. */
  readonly grace?: number;
  /** Seconds without a row after which the worker ends by itself; absent: never. */
  readonly idle?: number;
  /** Folder for replies of models; absent: a temporary one. */
  readonly dir?: string;
  /** Folder that stands for the scenario's on this machine. */
  readonly files?: string;
}

export interface WorkResult {
  readonly job: 'worker';
  readonly rows: number;
  readonly failed: number;
  readonly givenBack: number;
  readonly spent: Cost;
}

const DEFAULT_SLOTS = 32;
const DEFAULT_GRACE_SECONDS = 20;

/** Lives rows until `signal` is aborted. @throws QUEUE_URL_INVALID, QUEUE_UNREACHABLE, RUN_IN_USE, and as `RowWorker.run` */
export async function work(options: WorkOptions, progress: Progress, signal: AbortSignal): Promise<WorkResult> {
  const { concurrency = DEFAULT_SLOTS, grace = DEFAULT_GRACE_SECONDS, idle, dir, files } = options;
  const leaseMs = options.lease === undefined ? DEFAULT_LEASE_MS : 1000 * options.lease;
  const log = (line: string) => progress.log(line);
  const queue = await openQueue(options.queue, { leaseMs, onTrouble: log });
  const place = await placeOf(dir).catch(async (error) => {
    await queue.close();
    throw error;
  });
  const jobs = new WorkerJobs({ queue, folder: place.folder, files: files && resolve(files), log });
  const phase = progress.phase('live', null, 'rows');
  const worker = new RowWorker({
    queue,
    jobs,
    slots: concurrency,
    leaseMs,
    graceMs: 1000 * grace,
    idleMs: idle === undefined ? Number.POSITIVE_INFINITY : 1000 * idle,
    onChange: (counts) => phase.set(counts.done, noteOf(counts, concurrency)),
  });
  try {
    const { done, failed, givenBack, spent } = await worker.run(signal);
    phase.end();
    return { job: 'worker', rows: done, failed, givenBack, spent };
  } finally {
    await jobs.close();
    await queue.close();
    await place.leave();
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

function noteOf({ underway, failed, givenBack, spent }: WorkerCounts, slots: number): string {
  const parts = [`${underway} of ${slots} slots`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (givenBack > 0) parts.push(`${givenBack} given back`);
  if (spent.calls > 0) parts.push(`${formatCount(spent.calls)} calls`);
  return parts.join(' · ');
}

interface Place {
  readonly folder: string;
  leave(): Promise<void>;
}

/** One process at a time has a folder that it was given. @throws RUN_IN_USE */
async function placeOf(dir: string | undefined): Promise<Place> {
  if (dir === undefined) {
    const { path, remove } = temporaryFolder('worker');
    return { folder: path, leave: async () => remove() };
  }
  const folder = resolve(dir);
  await ensureFolder(folder);
  const unlock = lockFolder(folder);
  return { folder, leave: async () => unlock() };
}
