// `reverie worker`: a process, one of many, that runs rows of whatever jobs a queue brings.

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
import { scenarioJudge } from '../pipeline/tools/gates.js';
import { makeParts, type ToolsParts } from '../pipeline/tools/parts.js';
import { amplifiedRows } from '../pipeline/tools/row-makers.js';
import { type RunRow, rowsHere } from '../pipeline/tools/rows.js';
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
  /** Rows run at once. */
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

/** Runs rows until `signal` is aborted. @throws QUEUE_REFUSED, QUEUE_REFUSED, RUN_IN_USE, and as `RowWorker.run` */
export async function work(options: WorkOptions, progress: Progress, signal: AbortSignal): Promise<WorkResult> {
  const { concurrency: slots = DEFAULT_SLOTS, grace = DEFAULT_GRACE_SECONDS, idle, dir, files } = options;
  const leaseMs = options.lease === undefined ? DEFAULT_LEASE_MS : 1000 * options.lease;
  const log = (line: string) => progress.log(line);
  const queue = await openQueue(options.queue, { leaseMs, onTrouble: log });
  const place = await placeOf(dir).catch(async (error) => {
    await queue.close();
    throw error;
  });
  const jobs = new WorkerJobs({ queue, folder: place.folder, files: files && resolve(files), log });
  const phase = progress.phase('rows', null, 'rows');
  const onChange = ({ done, underway, failed, givenBack, spent }: WorkerCounts) => {
    const parts = [`${underway} of ${slots} slots`];
    if (failed > 0) parts.push(`${failed} failed`);
    if (givenBack > 0) parts.push(`${givenBack} given back`);
    if (spent.calls > 0) parts.push(`${formatCount(spent.calls)} calls`);
    phase.set(done, parts.join(' · '));
  };
  const idleMs = idle === undefined ? Number.POSITIVE_INFINITY : 1000 * idle;
  const worker = new RowWorker({ queue, jobs, slots, leaseMs, graceMs: 1000 * grace, idleMs, onChange });
  try {
    const { done, failed, givenBack, spent } = await worker.run(signal);
    phase.end();
    return { job: 'worker', rows: done, failed, givenBack, spent };
  } finally {
    await jobs.close();
    await queue.close();
    place.leave();
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

/** One process at a time has a folder that it was given. @throws RUN_IN_USE */
async function placeOf(dir: string | undefined): Promise<{ folder: string; leave(): void }> {
  if (dir === undefined) {
    const { path, remove } = temporaryFolder('worker');
    return { folder: path, leave: remove };
  }
  const folder = resolve(dir);
  await ensureFolder(folder);
  return { folder, leave: lockFolder(folder) };
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
   * Runs rows until `signal` is aborted, or none came for too long.
   * @throws what this worker cannot do, as QUEUE_REFUSED; its rows are given back
   */
  async run(signal: AbortSignal): Promise<WorkerCounts> {
    const { queue, slots, leaseMs, graceMs } = this.options;
    const refuse = (error: unknown) => this.refusal.abort(error);
    const announce = () => queue.announce({ id: this.id, slots }).catch(refuse);
    const timers = [
      setInterval(() => void this.keepLeases().catch(refuse), leaseMs / BEATS),
      setInterval(() => void announce(), ANNOUNCE_MS),
    ];
    await announce();
    try {
      await this.takeRows(AbortSignal.any([signal, this.refusal.signal]));
      // Rows under way may end, as long as they may; the others are given back.
      const late = setTimeout(() => {
        for (const { stop } of this.underway.keys()) stop.abort();
      }, graceMs);
      await within(graceMs + FAREWELL_MS, Promise.all(this.underway.values()));
      clearTimeout(late);
    } finally {
      for (const timer of timers) clearInterval(timer);
    }
    this.refusal.signal.throwIfAborted();
    return this.state;
  }

  private get state(): WorkerCounts {
    return { ...this.counts, underway: this.underway.size };
  }

  private async takeRows(stop: AbortSignal): Promise<void> {
    const { queue, jobs, slots, idleMs } = this.options;
    const stopped = new Promise<void>((resolve) => {
      if (stop.aborted) resolve();
      stop.addEventListener('abort', () => resolve(), { once: true });
    });
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
      if (stop.aborted) {
        // What came when nobody wanted it any more.
        const back = asked.then((leases) => Promise.all(leases.map((lease) => this.giveBack(lease))));
        return within(FAREWELL_MS, back);
      }
      const leases = await asked;
      for (const lease of leases) await this.takeOrPrepare(lease);
      if (leases.length > 0 || this.underway.size > 0) busyAt = Date.now();
      else if (Date.now() - busyAt >= idleMs) return;
    }
  }

  private giveBack(lease: Lease): Promise<void> {
    return this.options.queue.nack(lease, { kind: 'given-back' });
  }

  /** A row of a job that is not known yet goes back first: parts take a while to make, and others may have them. */
  private async takeOrPrepare(lease: Lease): Promise<void> {
    const { jobs } = this.options;
    const { job } = lease.item;
    if (jobs.isReady(job)) return this.take(lease);
    try {
      const description = await jobs.describe(job);
      await this.giveBack(lease);
      await jobs.prepare(job, description);
    } catch (error) {
      if (error instanceof ReverieError && error.code === 'QUEUE_JOB_UNKNOWN') return this.fail(lease, error);
      // What a worker cannot do is no fault of the row's: this one ends.
      this.refusal.abort(error);
      await this.giveBack(lease);
    }
  }

  private take(lease: Lease): void {
    const { onChange } = this.options;
    const row: Underway = { lease, stop: new AbortController() };
    const ended = this.runRow(row)
      .catch((error) => this.refusal.abort(error))
      .finally(() => {
        this.underway.delete(row);
        onChange(this.state);
      });
    this.underway.set(row, ended);
    onChange(this.state);
  }

  private async runRow({ lease, stop }: Underway): Promise<void> {
    const { queue, jobs } = this.options;
    try {
      const record = await jobs.run(lease.item, stop.signal);
      const bytes = await packParcel(record);
      if (await queue.ack(lease, { bytes, note: this.note(lease) })) this.counts.done++;
    } catch (error) {
      if (stop.signal.reason === LOST) return;
      if (!stop.signal.aborted) return this.fail(lease, error);
      this.counts.givenBack++;
      await this.giveBack(lease);
    }
  }

  private async fail(lease: Lease, error: unknown): Promise<void> {
    this.counts.failed++;
    await this.options.queue.nack(lease, { kind: 'failed', error: packError(error), note: this.note(lease) });
  }

  private note({ item }: Lease): string {
    const spent = this.options.jobs.spent(item.job);
    this.counts.spent = addCosts(this.counts.spent, spent);
    return JSON.stringify({ worker: this.id, spent } satisfies Note);
  }

  private async keepLeases(): Promise<void> {
    const rows = [...this.underway.keys()];
    const lost = new Set(await this.options.queue.heartbeat(rows.map(({ lease }) => lease)));
    // Somebody else has it: what it would cost here is saved.
    for (const { lease, stop } of rows) if (lost.has(lease)) stop.abort(LOST);
  }
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

/** A job as its rows can be run here. */
export interface WorkerJob {
  readonly parts: ToolsParts;
  /** Throws what a row throws. */
  readonly run: (message: RowMessage, what: string, signal: AbortSignal) => Promise<EpisodeRecord>;
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
    for (const [oldest, job] of this.jobs) {
      if (this.jobs.size <= MAX_JOBS) return;
      if (job.underway > 0) continue;
      this.jobs.delete(oldest);
      await job.parts.close();
    }
  }

  async run(item: RolloutItem, signal: AbortSignal): Promise<EpisodeRecord> {
    const job = this.jobs.get(item.job)!;
    const what = `rollout ${item.id}`;
    job.underway++;
    try {
      return await job.run(await openParcel(item.payload, rowSchema, what), what, signal);
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
      requireSame(name, what, hash, String(error.values.hash));
      throw error;
    }
  }
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
  const shadow = makeShadow(context, parts);
  const responder = shadow?.responder ?? parts.responder;
  const judge = await scenarioJudge(context, parts);
  const { user, agent } = parts;
  const ours: JobDescription['versions'] = {
    ...{ domain: domain.version, responder: responder.version, user: user.version, agent: agent.version },
    judge: judge?.version ?? null,
  };
  for (const what of Object.keys(theirs) as (keyof typeof theirs)[])
    requireSame(config.name, `${what}'s version`, theirs[what], ours[what]);
  const runRow: RunRow = rowsHere(context, parts, {
    ...{ source: 'synthetic', responder, judge: judge?.decide, withheld: withheld ?? undefined, shadow },
    make: config.synth.mode === 'amplify' ? await amplifiedRows(scenario, parts) : undefined,
  });
  const byId = new Map(domain.tasks.map((task) => [task.id, task]));
  const { groupSize, branchAt } = config.synth;
  const run: WorkerJob['run'] = async ({ row, task: id, maxSteps }, what, signal) => {
    const task = byId.get(id);
    if (task === undefined)
      throw reverieError('QUEUE_REFUSED', {
        problem: `The queue holds something else where ${what} should be: there is no task "${id}".`,
        hint: 'Something other than this version of Reverie wrote to it: use a queue of another name.',
      });
    return runRow({ plan: planRow(row, { seed, groupSize, branchAt }), task, maxSteps }, signal);
  };
  return { parts, run, underway: 0, told: NO_COST };
}

function requireSame(name: string, what: string, theirs: string | null, ours: string | null): void {
  if (theirs === ours) return;
  throw reverieError('QUEUE_REFUSED', {
    problem: `This worker cannot live rows of "${name}": the ${what} of its job is ${theirs ?? 'none'}, here it is ${ours ?? 'none'}.`,
    hint: 'Give coordinator and workers the same version of Reverie and the same files (--files says where they lie here).',
  });
}
