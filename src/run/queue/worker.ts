// `reverie worker`: a process, one of many, that lives rows of whatever jobs a queue brings.

import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { addCosts, type Cost, NO_COST, subtractCosts } from '../../core/cost.js';
import { packError, ReverieError, reverieError } from '../../core/errors.js';
import { ensureFolder, lockFolder, temporaryFolder } from '../../core/files.js';
import type { ToolsTask } from '../../env/tools/domain.js';
import { toolsScenario } from '../../kinds/registry.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { planRow } from '../../synth/episodes/run-episode.js';
import { openQueue } from '../../synth/queue/open-queue.js';
import {
  DEFAULT_LEASE_MS,
  type Lease,
  openParcel,
  packParcel,
  type RolloutItem,
  type RolloutQueue,
} from '../../synth/queue/rollout-queue.js';
import { formatCount } from '../format.js';
import { listenForInterrupt } from '../interrupt.js';
import { amplifiedRows } from '../pipeline/tools/amplified-rows.js';
import { auditedElsewhere } from '../pipeline/tools/gates.js';
import { type LiveRow, liveRowHere } from '../pipeline/tools/live-row.js';
import { makeParts, type ToolsParts } from '../pipeline/tools/parts.js';
import { makeShadow } from '../pipeline/tools/shadow.js';
import { withAddedTasks } from '../pipeline/tools/task-stage.js';
import { makeProgress, type Progress } from '../progress.js';
import { type AnyScenario, reviveScenario, type ToolsScenario } from '../scenario.js';
import { versions } from '../versions.js';
import {
  folderHere,
  type JobDescription,
  type Note,
  openDescription,
  type RowMessage,
  requireNoServer,
  rowSchema,
  within,
} from './messages.js';

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

/** Lives rows until `signal` is aborted. @throws QUEUE_REFUSED, QUEUE_REFUSED, RUN_IN_USE, and as `RowWorker.run` */
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
   * @throws what this worker cannot do, as QUEUE_REFUSED; its rows are given back
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

/** Jobs whose parts are kept at once. */
const MAX_JOBS = 4;

export interface WorkerJobsOptions {
  readonly queue: RolloutQueue;
  /** Where parts keep their files. */
  readonly folder: string;
  /** Folder that stands for the scenario's on this machine; absent: the same path as the coordinator's. */
  readonly files: string | undefined;
  readonly log: (line: string) => void;
}

/** A job as this worker can live its rows. */
export interface WorkerJob {
  readonly parts: ToolsParts;
  readonly live: LiveRow;
  readonly scenario: ToolsScenario;
  readonly seed: number;
  readonly tasks: ReadonlyMap<string, ToolsTask>;
  /** Rows. */
  underway: number;
  told: Cost;
}

export class WorkerJobs {
  private readonly jobs = new Map<string, WorkerJob>();

  constructor(private readonly options: WorkerJobsOptions) {}

  get size(): number {
    return this.jobs.size;
  }

  isReady(job: string): boolean {
    return this.jobs.has(job);
  }

  /** @throws QUEUE_JOB_UNKNOWN, QUEUE_REFUSED */
  async describe(job: string): Promise<JobDescription> {
    const bytes = await this.options.queue.description(job);
    if (bytes === undefined) throw reverieError('QUEUE_JOB_UNKNOWN', { job });
    return openDescription(job, bytes);
  }

  /** Makes a job's parts. @throws QUEUE_REFUSED, QUEUE_UNSUITED, and what the parts throw: what this worker cannot do */
  async prepare(id: string, description: JobDescription): Promise<void> {
    const scenario = await this.scenarioOf(description);
    requireNoServer(scenario);
    const out = join(this.options.folder, id.slice(0, 16));
    mkdirSync(out, { recursive: true });
    const parts = await makeParts({ scenario, out, log: this.options.log });
    try {
      this.jobs.set(id, await jobOf(scenario, parts, description));
    } catch (error) {
      await parts.close();
      throw error;
    }
    await this.closeOldest();
  }

  /** Throws what a row throws that is lived. */
  async live(item: RolloutItem, signal: AbortSignal): Promise<EpisodeRecord> {
    const job = this.jobs.get(item.job)!;
    const what = `rollout ${item.id}`;
    job.underway++;
    try {
      const message = await openParcel(item.payload, rowSchema, what);
      return await livedRow(job, message, what, signal);
    } finally {
      job.underway--;
    }
  }

  /** What the job's rows spent here since this was last asked. */
  spent(id: string): Cost {
    const job = this.jobs.get(id);
    if (job === undefined) return NO_COST;
    const spent = subtractCosts(job.parts.budget.spent, job.told);
    job.told = job.parts.budget.spent;
    return spent;
  }

  async close(): Promise<void> {
    for (const job of this.jobs.values()) await job.parts.close();
    this.jobs.clear();
  }

  private async closeOldest(): Promise<void> {
    for (const [id, job] of this.jobs) {
      if (this.jobs.size <= MAX_JOBS) return;
      if (job.underway > 0) continue;
      this.jobs.delete(id);
      await job.parts.close();
    }
  }

  /** The scenario with its folder here. @throws QUEUE_REFUSED if it, or a file it names, is another */
  private async scenarioOf(description: JobDescription): Promise<ToolsScenario> {
    const { config, scenario: hash, reverie } = description;
    const name = String(config.name);
    requireSame(name, 'version of Reverie', reverie, versions().reverie);
    const folder = this.options.files ?? folderHere(description);
    const saved = { config, hash, folder } as unknown as AnyScenario;
    try {
      return toolsScenario(await reviveScenario(saved, `${name} (of the queue)`, { plugins: false }));
    } catch (error) {
      if (!(error instanceof ReverieError) || error.code !== 'SCENARIO_CHANGED') throw error;
      const what = `scenario's hash, with that of the files it names below ${folder},`;
      throw refused(name, what, hash, String(error.values.hash));
    }
  }
}

/** @throws QUEUE_REFUSED naming what is not as it is with the coordinator */
export async function jobOf(
  scenario: ToolsScenario,
  made: ToolsParts,
  description: { readonly tasks: readonly unknown[] } & Pick<JobDescription, 'seed' | 'withheld' | 'versions'>,
): Promise<WorkerJob> {
  const { seed, withheld, tasks } = description;
  const { config } = scenario;
  const domain = withAddedTasks(made.domain, tasks as readonly ToolsTask[], config.quality.splits);
  const parts = { ...made, domain };
  const context = { scenario, seed };
  const shadow = makeShadow(context, parts);
  const responder = shadow?.responder ?? parts.responder;
  const judge = await auditedElsewhere(context, parts);
  const who = [domain.version, responder.version, parts.user.version, parts.agent.version, judge?.version ?? null];
  Object.entries(description.versions).forEach(([what, theirs], i) => {
    requireSame(config.name, `${what}'s version`, theirs, who[i]);
  });
  const live = liveRowHere(context, parts, {
    source: 'synthetic',
    responder,
    judge: judge?.decide,
    withheld: withheld ?? undefined,
    shadow,
    make: config.synth.mode === 'amplify' ? await amplifiedRows(context, parts) : undefined,
  });
  const byId = new Map(domain.tasks.map((task) => [task.id, task]));
  return { parts, live, scenario, seed, tasks: byId, underway: 0, told: NO_COST };
}

export async function livedRow(
  { tasks, scenario, seed, live }: WorkerJob,
  { row, task: id, maxSteps }: RowMessage,
  what: string,
  signal: AbortSignal,
): Promise<EpisodeRecord> {
  const task = tasks.get(id);
  if (task === undefined)
    throw reverieError('QUEUE_REFUSED', {
      problem: `The queue holds something else where ${what} should be: ${`there is no task "${id}"`}.`,
      hint: 'Something other than this version of Reverie wrote to it: use a queue of another name.',
    });
  const { groupSize, branchAt } = scenario.config.synth;
  return live({ plan: planRow(row, { seed, groupSize, branchAt }), task, maxSteps }, signal);
}

function requireSame(name: string, what: string, theirs: string | null, ours: string | null): void {
  if (theirs !== ours) throw refused(name, what, theirs, ours);
}

function refused(name: string, what: string, theirs: string | null, ours: string | null): ReverieError {
  return reverieError('QUEUE_REFUSED', {
    problem: `This worker cannot live rows of "${name}": the ${what} of its job is ${theirs ?? 'none'}, here it is ${ours ?? 'none'}.`,
    hint: 'Give coordinator and workers the same version of Reverie and the same files (--files says where they lie here).',
  });
}
