// What a worker makes of the jobs it is told of: the same parts that the coordinator has, checked to be the same.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Cost, NO_COST, subtractCosts } from '../../core/cost.js';
import { ReverieError, reverieError } from '../../core/errors.js';
import type { ToolsTask } from '../../env/index.js';
import { toolsScenario } from '../../kinds/index.js';
import type { EpisodeRecord } from '../../replay/index.js';
import { openParcel, planRow, type RolloutItem, type RolloutQueue } from '../../synth/index.js';
import { amplifiedRows } from '../pipeline/tools/amplified-rows.js';
import { auditedElsewhere } from '../pipeline/tools/gates.js';
import { type LiveRow, liveRowHere } from '../pipeline/tools/live-row.js';
import { makeParts, type ToolsParts } from '../pipeline/tools/parts.js';
import { makeShadow } from '../pipeline/tools/shadow.js';
import { withAddedTasks } from '../pipeline/tools/task-stage.js';
import { type AnyScenario, reviveScenario, type ToolsScenario } from '../scenario.js';
import { versions } from '../versions.js';
import { type JobDescription, type RowMessage, rowSchema } from './messages.js';
import { folderHere, openDescription, requireNoServer } from './queue-job.js';

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

  /** @throws QUEUE_JOB_UNKNOWN, QUEUE_MESSAGE_INVALID */
  async describe(job: string): Promise<JobDescription> {
    const bytes = await this.options.queue.description(job);
    if (bytes === undefined) throw reverieError('QUEUE_JOB_UNKNOWN', { job });
    return openDescription(job, bytes);
  }

  /** Makes a job's parts. @throws QUEUE_JOB_REFUSED, QUEUE_UNSUITED, and what the parts throw: what this worker cannot do */
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

  /** The scenario with its folder here. @throws QUEUE_JOB_REFUSED if it, or a file it names, is another */
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

/** @throws QUEUE_JOB_REFUSED naming what is not as it is with the coordinator */
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
  if (task === undefined) throw reverieError('QUEUE_MESSAGE_INVALID', { what, problem: `there is no task "${id}"` });
  const { groupSize, branchAt } = scenario.config.synth;
  return live({ plan: planRow(row, { seed, groupSize, branchAt }), task, maxSteps }, signal);
}

function requireSame(name: string, what: string, theirs: string | null, ours: string | null): void {
  if (theirs !== ours) throw refused(name, what, theirs, ours);
}

function refused(name: string, what: string, theirs: string | null, ours: string | null): ReverieError {
  return reverieError('QUEUE_JOB_REFUSED', { name, what, theirs: theirs ?? 'none', ours: ours ?? 'none' });
}
