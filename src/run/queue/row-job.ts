// A job as it is described to threads and other processes, and as they run its rows: with parts of their own, the same everywhere. Rows that only
// compute (exact rules, scripted users, agents without a language model) run in threads; what waits for models stays on the event loop.

import { hostname } from 'node:os';
import { isAbsolute, join, relative, sep } from 'node:path';
import { threadId } from 'node:worker_threads';
import { z } from 'zod';
import { contentHash } from '../../core/canonical-json.js';
import { type Cost, NO_COST } from '../../core/cost.js';
import { type PackedError, packError, reverieError, unpackError } from '../../core/errors.js';
import { temporaryFolder } from '../../core/files.js';
import { packageRoot } from '../../core/packs.js';
import { WorkerPool } from '../../core/pool.js';
import { moved, poolTask } from '../../core/pool-task.js';
import { isRaised } from '../../core/threads.js';
import type { ToolsTask } from '../../env/tools/domain.js';
import { serverKeyOf } from '../../env/tools/domains.js';
import { toolsTaskSchema } from '../../env/tools/load-domain.js';
import { areRulesTrusted, trustRules } from '../../env/tools/sandbox/sandbox.js';
import { toolsScenario } from '../../kinds/registry.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { packRow, unpackRow } from '../../synth/episodes/produce-rows.js';
import { planRow } from '../../synth/episodes/run-episode.js';
import type { JobContext } from '../job.js';
import { type ScenarioJudge, scenarioJudge, withAddedTasks } from '../pipeline/tools/gates.js';
import { makeParts, type RowRunner, rowsHere, type ToolsParts } from '../pipeline/tools/rows.js';
import { type AnyScenario, reviveScenario, type ToolsScenario } from '../scenario.js';
import { versions } from '../versions.js';
import { hex64, openParcel, queueUnsuited, type RowMessage, strayMessage } from './redis-queue.js';

/** What a worker needs to know of a job before it can run any of its rows. Holds no secret: keys are each worker's own. */
const jobDescriptionSchema = z.strictObject({
  format: z.literal('reverie rollouts 2'),
  /** Tells runs of one scenario apart, by machine and folder. */
  run: hex64,
  /** Version of Reverie. */
  reverie: z.string(),
  seed: z.int().min(0),
  /** The scenario's hash, with that of the files it names. */
  scenario: hex64,
  /** Folder that the scenario's paths start from: in the package of Reverie, or anywhere. */
  folder: z.strictObject({ base: z.enum(['package', 'root']), path: z.string() }),
  /** The effective scenario, without its budget. */
  config: z.record(z.string(), z.json()),
  /** Tasks that were made for this job, beside the domain's own. */
  tasks: z.array(toolsTaskSchema),
  /** Why no episode may be given a reward; null: each may. */
  withheld: z.string().nullable(),
  /** Who takes part: the same everywhere, or the row is refused. */
  versions: z.strictObject({
    ...{ domain: z.string(), responder: z.string(), user: z.string(), agent: z.string() },
    judge: z.string().nullable(),
  }),
});
export type JobDescription = z.output<typeof jobDescriptionSchema>;

/** What a coordinator alone knows of its job. `tasks`: those that were made for it. */
export type JobFacts = Pick<JobDescription, 'withheld' | 'versions'> & { readonly tasks: readonly ToolsTask[] };

/** A scenario of somebody else's must not say whom a worker asks, or which program it starts. @throws QUEUE_REFUSED */
export function requireNoServer({ config }: ToolsScenario): void {
  const key = serverKeyOf(config.domain);
  if (key === undefined) return;
  const problem = 'workers of a queue ask no servers, and start no programs, that a scenario names';
  throw queueUnsuited(`domain.${key}`, problem);
}

/** @throws QUEUE_REFUSED */
export function describedJob(
  { scenario, seed, out, device }: Pick<JobContext<ToolsScenario>, 'scenario' | 'seed' | 'out' | 'device'>,
  { tasks, withheld, versions: who }: JobFacts,
): JobDescription {
  requireNoServer(scenario);
  if (device !== undefined) {
    const problem =
      'workers of a queue compute on their processors, and two devices round in two ways: use --device cpu';
    throw queueUnsuited(`--device ${device.kind}`, problem);
  }
  const { config, hash, folder } = scenario;
  const path = relative(packageRoot(), folder);
  const isInside = !isAbsolute(path) && path.split(sep)[0] !== '..';
  return {
    ...{ format: 'reverie rollouts 2', run: contentHash([hostname(), out]), reverie: versions().reverie },
    ...{ seed, scenario: hash, withheld, versions: who },
    folder: isInside ? { base: 'package', path: path.split(sep).join('/') } : { base: 'root', path: folder },
    // What may be spent, and how much at once, is the coordinator's business.
    config: jsonOf({ ...config, workers: 0, synth: { ...config.synth, budget: {} } }),
    tasks: jsonOf([...tasks]),
  };
}

/** The scenario's folder on this machine. */
export function folderHere({ folder: { base, path } }: JobDescription): string {
  return base === 'package' ? join(packageRoot(), path) : path;
}

/** SHA-256, 64 hex digits. */
export function jobIdOf(description: JobDescription): string {
  return contentHash(description);
}

/** @throws QUEUE_REFUSED, also of a description that is not the one its id says */
export async function openDescription(job: string, bytes: Uint8Array): Promise<JobDescription> {
  const what = `the description of job ${job}`;
  const description = await openParcel(bytes, jobDescriptionSchema, what);
  if (jobIdOf(description) === job) return description;
  throw strayMessage(what, 'it does not match its id');
}

/** As it will be where it arrives. */
function jsonOf<T>(value: unknown): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

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

export function versionsOf(
  { domain, responder, user, agent }: ToolsParts,
  judge: ScenarioJudge | undefined,
): JobDescription['versions'] {
  const acting = { responder: responder.version, user: user.version, agent: agent.version };
  return { domain: domain.version, ...acting, judge: judge?.version ?? null };
}

/** @throws QUEUE_REFUSED naming what is not as it is with the coordinator */
export async function jobOf(
  scenario: ToolsScenario,
  made: ToolsParts,
  { seed, withheld, tasks, versions: theirs }: JobFacts & { readonly seed: number },
): Promise<WorkerJob> {
  const { config } = scenario;
  const domain = withAddedTasks(made.domain, tasks, config.quality.splits);
  const parts = { ...made, domain };
  const context = { scenario, seed };
  const judge = await scenarioJudge(context, parts);
  const { responder } = parts;
  const ours = versionsOf(parts, judge);
  for (const what of Object.keys(theirs) as (keyof typeof theirs)[])
    requireSame(config.name, `${what}'s version`, theirs[what], ours[what]);
  const settings = { responder, judge: judge?.decide, withheld: withheld ?? undefined };
  const runRow = await rowsHere(context, parts, { source: 'synthetic', ...settings });
  const byId = new Map(domain.tasks.map((task) => [task.id, task]));
  const { groupSize, branchAt } = config.synth;
  const run: WorkerJob['run'] = async ({ row, task: id }, what, signal) => {
    const task = byId.get(id);
    if (task === undefined) throw strayMessage(what, `there is no task "${id}"`);
    return runRow({ plan: planRow(row, { seed, groupSize, branchAt }), task }, signal);
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
  private readonly pool: WorkerPool;
  private readonly folder = temporaryFolder('rows');
  private readonly job: Uint8Array;
  private readonly waiting: Asked[] = [];
  /** Chunks that were sent and are not back. */
  private underway = 0;
  /** Rows of a task. */
  private readonly chunk: number;

  constructor({ scenario, seed, workers }: JobContext<ToolsScenario>, facts: JobFacts) {
    const job: ThreadedJob = { scenario, seed, ...facts, trustsRules: areRulesTrusted(), folder: this.folder.path };
    const bytes = new TextEncoder().encode(JSON.stringify(job));
    this.job = new Uint8Array(new SharedArrayBuffer(bytes.length));
    this.job.set(bytes);
    this.pool = new WorkerPool({ workers });
    const share = Math.ceil(scenario.config.synth.episodes / (workers * LEAST_CHUNKS));
    this.chunk = Math.min(LARGEST_CHUNK, share);
    this.concurrency = workers * CHUNKS_A_THREAD * this.chunk;
  }

  readonly run: RowRunner['run'] = ({ plan: { row }, task }, signal) =>
    new Promise((resolve, reject) => {
      // Rows are begun one after the other: those of one turn go together.
      if (this.waiting.length === 0) setImmediate(() => this.send());
      this.waiting.push({ input: { row, task: task.id }, signal, resolve, reject });
    });

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
