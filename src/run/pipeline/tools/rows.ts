// The rows of a tools job: each an episode, durable when it ends. They run in this process, in threads (../../queue/threaded-rows.ts),
// or in workers of a queue (../../queue/coordinator.ts); what a row depends on comes with it.

import { join } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import type { ToolsTask } from '../../../env/tools/domain.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import type { ToolsScenarioConfig } from '../../../kinds/tools.js';
import { type EpisodeRecord, episodeSteps } from '../../../replay/experience/experience.js';
import type { Source } from '../../../replay/transition.js';
import {
  type FailedRow,
  isFailed,
  produceRows,
  RowJournal,
  type RowsOutcome,
} from '../../../synth/episodes/produce-rows.js';
import { type EpisodeSettings, planRow, type RowPlan, runEpisode } from '../../../synth/episodes/run-episode.js';
import { deficitOf, lostStep } from '../../../synth/signals/deficits.js';
import { Curriculum } from '../../../synth/tasks/curriculum.js';
import { episodeWeight } from '../../../worldmodel/tools/checks.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import { makeEpisodeEnvironment, type ToolsParts } from './parts.js';
import { type MakeRow, wrappedRows } from './row-makers.js';

/** Everything of a row that rows before it decide, or the job's seed. */
export interface PlannedRow {
  readonly plan: RowPlan;
  readonly task: ToolsTask;
  /** Turns of the agent after which the episode is truncated. */
  readonly maxSteps: number;
}

/** Throws what the models throw that are asked. */
export type RunRow = (row: PlannedRow, signal: AbortSignal) => Promise<EpisodeRecord>;

/** Who runs rows. */
export interface RowRunner {
  readonly run: RunRow;
  /** Rows under way at once. */
  readonly concurrency: number;
  /** For the progress bar; may be empty. */
  readonly note: string;
  /** Called for each row that is durable, and known to all that may depend on it. */
  known(row: number): void;
  close(): Promise<void>;
}

export interface RowSettings {
  readonly source: Source;
  readonly responder: Responder;
  readonly judge?: EpisodeSettings['judge'];
  /** Where pictures go; absent: none are kept. */
  readonly keepPicture?: EpisodeSettings['keepPicture'];
  /** Why no episode may be given a reward; absent: each may. */
  readonly withheld?: string;
  /** How a row's episode comes about; by default turn by turn. */
  readonly make?: MakeRow;
}

type Context = Pick<JobContext<ToolsScenario>, 'scenario' | 'seed'>;

/** Runs rows in this process. */
export function rowsHere(context: Context, parts: ToolsParts, settings: RowSettings): RunRow {
  const { scenario } = context;
  const { domain } = parts;
  const { source, responder } = settings;
  const byTurns: MakeRow = async (plan, task, own, signal) =>
    runEpisode(makeEpisodeEnvironment(parts, responder, scenario.config), parts.agent, task, plan, own, signal);
  const isWrapped = scenario.config.synth.wrap !== undefined && source === 'synthetic';
  const make = settings.make ?? (isWrapped ? wrappedRows(scenario, parts, responder, byTurns) : byTurns);
  const episode = episodeSettings(context, parts, settings);
  return async ({ plan, task, maxSteps }, signal) => {
    try {
      const made = await make(plan, task, { ...episode, maxSteps }, signal);
      const lost = lostStep(domain, task, made);
      const record = { ...made, ...(lost !== undefined && { lostStep: lost }) };
      const lostBy = deficitOf(domain, task, record);
      return { ...record, ...(lostBy && { lostBy }) };
    } finally {
      // Before the row is: a row that is there is never asked for again, so its replies would stay missing.
      await parts.cast.flush();
    }
  };
}

/** How episodes of a job are recorded and judged. */
export function episodeSettings(
  { scenario: { config, hash }, seed }: Context,
  { user }: Pick<ToolsParts, 'user'>,
  { source, responder, judge, withheld, keepPicture }: Omit<RowSettings, 'make'>,
): EpisodeSettings {
  return {
    ...{ scenario: config.name, scenarioHash: hash, seed, source, maxSteps: config.synth.maxSteps },
    ...{ responderVersion: responder.version, userVersion: user.version, judge, withheld },
    weigh: (predictions) => episodeWeight(predictions, config.model),
    ...(keepPicture && { keepPicture }),
  };
}

export interface RowsSettings extends RowSettings {
  readonly tasks: readonly ToolsTask[];
  /** Rows under way at once, where less than the job's own number are possible. */
  readonly concurrency?: number;
  /** Who runs them, if not this process. */
  readonly runner?: RowRunner;
  /** Called for every row in order, as soon as all before it are there. */
  readonly observe: (value: EpisodeRecord | FailedRow) => void;
  readonly onProgress: (progress: RowsProgress) => void;
}

export interface RowsProgress {
  readonly done: number;
  /** Why rows may be waiting. */
  readonly trouble: string | undefined;
}

export interface EpisodeRows extends RowsOutcome {
  readonly journal: RowJournal<EpisodeRecord | FailedRow>;
}

/** Episodes wait for models most of the time. */
const DEFAULT_CONCURRENCY = 32;
const BEAT_MS = 2000;

/** Runs what the journal lacks. The caller closes the journal. Throws as `produceRows`; EPISODES_ALL_FAILED. */
export async function episodeRows(
  context: JobContext<ToolsScenario>,
  parts: ToolsParts,
  settings: RowsSettings,
): Promise<EpisodeRows> {
  const { seed, workers, device, signal, out, scenario, metrics } = context;
  const { config } = scenario;
  const { episodes: rows, groupSize, branchAt } = config.synth;
  const { runner, responder } = settings;
  const rowTasks = makeRowTasks(settings.tasks, config, (event) => metrics.write(event));
  const run = runner?.run ?? rowsHere(context, parts, settings);
  // What decides the rows: a journal of others is not resumed.
  const journal = await RowJournal.open<EpisodeRecord | FailedRow>(join(out, 'journal'), {
    ...{ format: 'reverie episodes 1', scenario: scenario.hash, seed, domain: parts.domain.version },
    ...{ responder: responder.version, user: parts.user.version, agent: parts.agent.version },
  });
  const own = workers === 0 || device !== undefined ? DEFAULT_CONCURRENCY : workers;
  const tell = () => settings.onProgress({ done: journal.size, trouble: parts.cast.trouble });
  // No row ends while a server is away, which is when there is something to say.
  const beat = setInterval(() => parts.cast.trouble !== undefined && tell(), BEAT_MS);
  const failures: FailedRow[] = [];
  try {
    const outcome = await produceRows<EpisodeRecord>({
      ...{ rows, journal, signal, onProgress: tell },
      concurrency: Math.min(runner?.concurrency ?? own, settings.concurrency ?? Number.POSITIVE_INFINITY),
      lag: Math.min(rowTasks.lag, experienceLag(config)),
      make: (row, stop) => {
        const plan = planRow(row, { seed, groupSize, branchAt });
        return run({ plan, task: rowTasks.taskOf(plan), maxSteps: config.synth.maxSteps }, stop);
      },
      observe: async (row, value) => {
        const record = isFailed(value) ? undefined : value;
        if (isFailed(value)) failures.push(value);
        rowTasks.observe(row, record?.task ?? '', record?.return ?? null);
        if (record !== undefined && config.experience.enrich !== 'never')
          await parts.experience.add(episodeSteps(record));
        runner?.known(row);
        settings.observe(value);
      },
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

function allFailed(failures: readonly FailedRow[]): Error {
  const reasons = [...new Set(failures.map(({ failed }) => failed.code))].map((code) => {
    const alike = failures.filter(({ failed }) => failed.code === code);
    return `${alike.length} ${code}, the first of them: ${alike[0].failed.message.replace(/\.$/, '')}`;
  });
  return reverieError('EPISODES_ALL_FAILED', { rows: failures.length, reasons: reasons.join('; ') });
}

/** How far back simulated experience is visible; infinite where none is. */
function experienceLag({ experience, model }: ToolsScenarioConfig): number {
  const isSeen = experience.enrich !== 'never' && model.llm.retrieval.sources === 'both';
  return isSeen ? model.llm.retrieval.lag : Number.POSITIVE_INFINITY;
}

/** Which task a row is of. */
interface RowTasks {
  /** Rows before a row that it knows nothing of; infinite where it needs to know nothing. */
  readonly lag: number;
  taskOf(plan: RowPlan): ToolsTask;
  observe(row: number, task: string, reward: number | null): void;
}

/** The tasks in turn, or drawn by the curriculum from what became of others. */
function makeRowTasks(
  tasks: readonly ToolsTask[],
  { synth, tasks: section }: ToolsScenarioConfig,
  tell: (event: { readonly kind: string }) => void,
): RowTasks {
  if (synth.pick === 'cycle') {
    const taskOf = ({ row }: RowPlan) => tasks[Math.floor(row / synth.groupSize) % tasks.length];
    return { lag: Number.POSITIVE_INFINITY, taskOf, observe: () => {} };
  }
  const entries = tasks.map(({ id, origin }) => ({ id, synthetic: origin !== undefined }));
  const curriculum = new Curriculum(entries, { ...section.curriculum, group: synth.groupSize });
  const byId = new Map(tasks.map((task) => [task.id, task]));
  return {
    lag: section.curriculum.lag,
    taskOf: ({ row, rng }) => {
      const pick = curriculum.pick(row, rng);
      tell({ kind: 'pick', ...pick });
      return byId.get(pick.task)!;
    },
    observe: (row, task, reward) => curriculum.observe(row, { task, reward }),
  };
}
