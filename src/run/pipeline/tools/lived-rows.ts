// The rows of a tools job: each an episode, lived here or wherever the job has it lived, and durable when it ends.

import { join } from 'node:path';
import type { ToolsTask } from '../../../env/index.js';
import { type EpisodeRecord, livedSteps } from '../../../replay/index.js';
import { type FailedRow, isFailed, planRow, produceRows, RowJournal, type RowsOutcome } from '../../../synth/index.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import { type LiveRow, type LiveRowSettings, liveRowHere } from './live-row.js';
import type { ToolsParts } from './parts.js';
import { makeRowTasks } from './row-tasks.js';

export interface RowsSettings extends LiveRowSettings {
  readonly tasks: readonly ToolsTask[];
  /** Turns after which nothing of the dream is trusted; absent: as many as an episode may have. */
  readonly trustedTurns?: number;
  /** Where rows are lived, if not here. */
  readonly elsewhere?: Elsewhere;
  /** Told of every row in order, as soon as all before it are there. */
  readonly observe: (value: EpisodeRecord | FailedRow) => void;
  readonly onProgress: (progress: { readonly done: number; readonly underway: number }) => void;
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

/** Lives what the journal lacks. The caller closes the journal. Throws as `produceRows`. */
export async function livedRows(
  context: JobContext<ToolsScenario>,
  parts: ToolsParts,
  settings: RowsSettings,
): Promise<LivedRows> {
  const { config, hash } = context.scenario;
  const { seed } = context;
  const { episodes: rows, groupSize, branchAt } = config.synth;
  const rowTasks = makeRowTasks(settings.tasks, config, context.metrics);
  const { shadow, elsewhere, trustedTurns } = settings;
  const longest = Math.min(config.synth.maxSteps, trustedTurns ?? Number.POSITIVE_INFINITY);
  const live = elsewhere?.live ?? liveRowHere(context, parts, settings);
  const identity = {
    format: 'reverie episodes 1',
    scenario: hash,
    seed,
    domain: parts.domain.version,
    responder: settings.responder.version,
    user: parts.user.version,
    agent: parts.agent.version,
    ...(trustedTurns === undefined ? {} : { trustedTurns }),
  };
  const journal = await RowJournal.open<EpisodeRecord | FailedRow>(join(context.out, 'journal'), identity);
  try {
    const outcome = await produceRows<EpisodeRecord>({
      rows,
      concurrency: elsewhere?.concurrency ?? (context.workers === 0 ? DEFAULT_CONCURRENCY : context.workers),
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
        rowTasks.observe(row, record?.task ?? '', record?.return ?? null);
        if (record !== undefined && config.experience.enrich !== 'never') {
          await parts.experience.add(livedSteps(record));
        }
        if (record !== undefined) shadow?.observe(record);
        elsewhere?.known(row);
        settings.observe(value);
      },
      onProgress: settings.onProgress,
    });
    return { ...outcome, journal };
  } catch (error) {
    await journal.close();
    throw error;
  }
}

/** How far back dreamt experience is visible; infinite where none is. */
export function experienceLag({ experience, model }: ToolsScenario['config']): number {
  const isSeen = experience.enrich !== 'never' && model.llm.retrieval.sources === 'both';
  return isSeen ? model.llm.retrieval.lag : Number.POSITIVE_INFINITY;
}
