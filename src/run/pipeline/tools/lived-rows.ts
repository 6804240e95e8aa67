// The rows of a tools job: each an episode, lived here or wherever the job has it lived, and durable when it ends.

import { join } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import type { ToolsTask } from '../../../env/tools/domain.js';
import type { ToolsScenarioConfig } from '../../../kinds/tools.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { episodeSteps } from '../../../replay/experience/steps.js';
import {
  type FailedRow,
  isFailed,
  produceRows,
  RowJournal,
  type RowsOutcome,
} from '../../../synth/episodes/produce-rows.js';
import { planRow, type RowPlan } from '../../../synth/episodes/run-episode.js';
import { Curriculum } from '../../../synth/tasks/curriculum.js';
import type { JobContext } from '../../job.js';
import type { MetricsWriter } from '../../metrics.js';
import type { ToolsScenario } from '../../scenario.js';
import { type LiveRow, type LiveRowSettings, liveRowHere } from './live-row.js';
import type { ToolsParts } from './parts.js';

export interface RowsSettings extends LiveRowSettings {
  readonly tasks: readonly ToolsTask[];
  /** Turns after which nothing of the dream is trusted; absent: as many as an episode may have. */
  readonly trustedTurns?: number;
  /** Rows under way at once, where less than the job's own number are possible. */
  readonly concurrency?: number;
  /** Where rows are lived, if not here. */
  readonly elsewhere?: Elsewhere;
  /** Told of every row in order, as soon as all before it are there. */
  readonly observe: (value: EpisodeRecord | FailedRow) => void;
  readonly onProgress: (progress: RowsProgress) => void;
}

export interface RowsProgress {
  readonly done: number;
  /** Why rows may be waiting. */
  readonly trouble: string | undefined;
}

/** Other processes that live rows. */
export interface Elsewhere {
  readonly live: LiveRow;
  /** Rows under way at once. */
  readonly concurrency: number;
  /** Told of each row that is durable, and known to all that may depend on it. */
  known(row: number): void;
}

export interface LivedRows extends RowsOutcome {
  readonly journal: RowJournal<EpisodeRecord | FailedRow>;
}

/** Episodes wait for models most of the time. */
export const DEFAULT_CONCURRENCY = 32;
const BEAT_MS = 2000;

/** Lives what the journal lacks. The caller closes the journal. Throws as `produceRows`; EPISODES_ALL_FAILED. */
export async function livedRows(
  context: JobContext<ToolsScenario>,
  parts: ToolsParts,
  settings: RowsSettings,
): Promise<LivedRows> {
  const { config } = context.scenario;
  const { seed } = context;
  const { episodes: rows, groupSize, branchAt } = config.synth;
  const rowTasks = makeRowTasks(settings.tasks, config, context.metrics);
  const { shadow, elsewhere, trustedTurns } = settings;
  const longest = Math.min(config.synth.maxSteps, trustedTurns ?? Number.POSITIVE_INFINITY);
  const live = elsewhere?.live ?? liveRowHere(context, parts, settings);
  const journal = await RowJournal.open<EpisodeRecord | FailedRow>(
    join(context.out, 'journal'),
    identityOf(context, parts, settings),
  );
  const tell = () => settings.onProgress({ done: journal.size, trouble: parts.cast.trouble });
  // No row ends while a server is away, which is when there is something to say.
  const failures: FailedRow[] = [];
  const beat = setInterval(() => parts.cast.trouble !== undefined && tell(), BEAT_MS);
  try {
    const outcome = await produceRows<EpisodeRecord>({
      rows,
      concurrency: Math.min(
        elsewhere?.concurrency ??
          (context.workers === 0 || context.device !== undefined ? DEFAULT_CONCURRENCY : context.workers),
        settings.concurrency ?? Number.POSITIVE_INFINITY,
      ),
      lag: Math.min(rowTasks.lag, experienceLag(config), shadow?.lag ?? Number.POSITIVE_INFINITY),
      journal,
      signal: context.signal,
      make: (row, signal) => {
        const plan = planRow(row, { seed, groupSize, branchAt });
        const maxSteps = Math.min(longest, shadow?.horizon(row) ?? Number.POSITIVE_INFINITY);
        return live({ plan, task: rowTasks.taskOf(plan), maxSteps }, signal);
      },
      observe: async (row, value) => {
        const record = isFailed(value) ? undefined : value;
        if (isFailed(value)) failures.push(value);
        rowTasks.observe(row, record?.task ?? '', record?.return ?? null);
        if (record !== undefined && config.experience.enrich !== 'never') {
          await parts.experience.add(episodeSteps(record));
        }
        if (record !== undefined) shadow?.observe(record);
        elsewhere?.known(row);
        settings.observe(value);
      },
      onProgress: tell,
    });
    if (failures.length > 0 && failures.length === outcome.done) throw allFailed(failures);
    return { ...outcome, journal };
  } catch (error) {
    await journal.close();
    throw error;
  } finally {
    clearInterval(beat);
  }
}

/** What decides the rows: a journal of others is not gone on with. */
function identityOf(
  { scenario: { hash }, seed }: JobContext<ToolsScenario>,
  { domain, user, agent }: ToolsParts,
  { responder, trustedTurns }: RowsSettings,
) {
  return {
    format: 'reverie episodes 1',
    scenario: hash,
    seed,
    domain: domain.version,
    responder: responder.version,
    user: user.version,
    agent: agent.version,
    ...(trustedTurns === undefined ? {} : { trustedTurns }),
  };
}

function allFailed(failures: readonly FailedRow[]): Error {
  const reasons = [...new Set(failures.map(({ failed }) => failed.code))].map((code) => {
    const alike = failures.filter(({ failed }) => failed.code === code);
    return `${alike.length} ${code}, the first of them: ${alike[0].failed.message.replace(/\.$/, '')}`;
  });
  return reverieError('EPISODES_ALL_FAILED', { rows: failures.length, reasons: reasons.join('; ') });
}

/** How far back dreamt experience is visible; infinite where none is. */
export function experienceLag({ experience, model }: ToolsScenario['config']): number {
  const isSeen = experience.enrich !== 'never' && model.llm.retrieval.sources === 'both';
  return isSeen ? model.llm.retrieval.lag : Number.POSITIVE_INFINITY;
}

// Which task a row lives: the tasks of the wanted splits in turn, or drawn by the curriculum from what became of others.

interface RowTasks {
  /** Rows before a row that it knows nothing of; infinite where it needs to know nothing. */
  readonly lag: number;
  taskOf(plan: RowPlan): ToolsTask;
  observe(row: number, task: string, reward: number | null): void;
}

function makeRowTasks(
  tasks: readonly ToolsTask[],
  { synth, tasks: section }: ToolsScenarioConfig,
  metrics: Pick<MetricsWriter, 'write'>,
): RowTasks {
  if (synth.pick === 'cycle') return new TasksInTurn(tasks, synth.groupSize);
  const entries = tasks.map(({ id, origin }) => ({ id, synthetic: origin !== undefined }));
  const curriculum = new Curriculum(entries, { ...section.curriculum, group: synth.groupSize });
  return new DrawnTasks(tasks, curriculum, section.curriculum.lag, metrics);
}

class TasksInTurn implements RowTasks {
  readonly lag = Number.POSITIVE_INFINITY;

  constructor(
    private readonly tasks: readonly ToolsTask[],
    private readonly groupSize: number,
  ) {}

  taskOf({ row }: RowPlan): ToolsTask {
    return this.tasks[Math.floor(row / this.groupSize) % this.tasks.length];
  }

  observe(): void {}
}

class DrawnTasks implements RowTasks {
  private readonly byId: ReadonlyMap<string, ToolsTask>;

  constructor(
    tasks: readonly ToolsTask[],
    private readonly curriculum: Curriculum,
    readonly lag: number,
    private readonly metrics: Pick<MetricsWriter, 'write'>,
  ) {
    this.byId = new Map(tasks.map((task) => [task.id, task]));
  }

  taskOf({ row, rng }: RowPlan): ToolsTask {
    const pick = this.curriculum.pick(row, rng);
    this.metrics.write({ kind: 'pick', ...pick });
    return this.byId.get(pick.task)!;
  }

  observe(row: number, task: string, reward: number | null): void {
    this.curriculum.observe(row, { task, reward });
  }
}
