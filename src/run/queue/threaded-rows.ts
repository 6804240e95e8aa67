// Rows that only compute, in worker threads: exact rules, scripted users and agents without a language model. Each thread has
// parts of its own and lives whole rows; what waits for models stays on the event loop, in live-row.ts.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { areRulesTrusted, type Responder, type ToolsTask, trustRules } from '../../env/index.js';
import { toolsScenario } from '../../kinds/index.js';
import { poolTask, WorkerPool } from '../../pool/index.js';
import type { EpisodeRecord } from '../../replay/index.js';
import { type ExactJudgement, judgeExactly } from '../../synth/index.js';
import type { JobContext } from '../job.js';
import type { Elsewhere } from '../pipeline/tools/lived-rows.js';
import { makeParts, type ToolsParts } from '../pipeline/tools/parts.js';
import { type AnyScenario, reviveScenario, type ToolsScenario } from '../scenario.js';
import type { JobDescription } from './messages.js';
import { jobOf, livedRow, type WorkerJob } from './worker-jobs.js';

/** Rows at the threads and waiting for one, for each thread: it never waits for the next. */
const ROWS_A_THREAD = 3;

interface ThreadedJob extends Pick<JobDescription, 'seed' | 'withheld' | 'versions'> {
  readonly scenario: AnyScenario;
  readonly tasks: readonly ToolsTask[];
  /** Whether rules run without a sandbox, as they do here. */
  readonly trustsRules: boolean;
  /** Where parts of threads keep their files. */
  readonly folder: string;
}

interface RowInput {
  /** A `ThreadedJob` as JSON, in memory that all threads share. */
  readonly job: Uint8Array;
  readonly folder: string;
  readonly row: number;
  readonly task: string;
  readonly maxSteps: number;
}

interface RowOutput {
  readonly record: EpisodeRecord;
  /** What exact rules say of it, as the filter of policies asks. */
  readonly exact: ExactJudgement;
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
  private readonly folder = mkdtempSync(join(tmpdir(), 'reverie-rows-'));
  private readonly job: Uint8Array;

  constructor(
    { scenario, seed, workers }: JobContext<ToolsScenario>,
    { domain, user, agent }: ToolsParts,
    { tasks, withheld, responder }: ThreadedRowsSettings,
    private readonly onExact: (row: number, exact: ExactJudgement) => void,
  ) {
    const who = { domain: domain.version, responder: responder.version, user: user.version, agent: agent.version };
    const job: ThreadedJob = {
      scenario,
      seed,
      withheld: withheld ?? null,
      tasks,
      versions: { ...who, judge: null },
      trustsRules: areRulesTrusted(),
      folder: this.folder,
    };
    this.job = shared(JSON.stringify(job));
    this.pool = new WorkerPool({ workers });
    this.concurrency = workers * ROWS_A_THREAD;
  }

  readonly live: Elsewhere['live'] = async ({ plan: { row }, task, maxSteps }, signal) => {
    const make = () => ({ job: this.job, folder: this.folder, row, task: task.id, maxSteps });
    const { record, exact } = await this.pool.run(rowTask, make, { signal, label: `row ${row}` });
    this.onExact(row, exact);
    return record;
  };

  known(): void {}

  async close(): Promise<void> {
    await this.pool.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function shared(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const memory = new Uint8Array(new SharedArrayBuffer(bytes.length));
  memory.set(bytes);
  return memory;
}

/** The job whose rows this thread lives. */
let present: { readonly folder: string; readonly job: Promise<WorkerJob> } | undefined;

export const rowTask = poolTask(
  import.meta.url,
  'rowTask',
  async ({ job: bytes, folder, row, task, maxSteps }: RowInput): Promise<RowOutput> => {
    if (present?.folder !== folder) present = { folder, job: jobHere(bytes) };
    const job = await present.job;
    const record = await livedRow(job, { row, task, maxSteps, attempt: 0 }, `row ${row}`, new AbortController().signal);
    const { domain } = job.parts;
    const context = { domain, taskOf: (id: string) => job.tasks.get(id) };
    return { record, exact: judgeExactly(record, context, job.scenario.config.quality.policy) };
  },
);

async function jobHere(bytes: Uint8Array): Promise<WorkerJob> {
  const job = JSON.parse(Buffer.from(bytes).toString('utf8')) as ThreadedJob;
  if (job.trustsRules) trustRules();
  const scenario = toolsScenario(await reviveScenario(job.scenario, `${job.scenario.config.name} (of a thread)`));
  const parts = await makeParts({ scenario, out: join(job.folder, String(threadId)), log: () => {} });
  return jobOf(scenario, parts, job);
}
