// Rows that are walks over screens, made into tasks that they solve: walks that the agent lives, or that were recorded.

import { resolve } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import { service } from '../../../core/services.js';
import { isScreenDomain } from '../../../env/screens/screen-state.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import type { LanguageModel } from '../../../llm/language-model.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { readEpisodeLogs } from '../../../replay/experience/logs/read-episode-logs.js';
import type { EpisodeSettings, RowPlan } from '../../../synth/episodes/run-episode.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { ToolsParts } from './parts.js';

/** How the episode of a row comes about. */
export type MakeRow = (
  plan: RowPlan,
  task: ToolsTask,
  settings: EpisodeSettings,
  signal: AbortSignal,
) => Promise<EpisodeRecord>;

/** Each asked by itself, all must agree. */
const JUDGES = 3;

type WrapWalk = (
  request: FoundWalk & {
    readonly domain: ToolsDomain;
    readonly responder: Responder;
    /** Writes. */
    readonly model: LanguageModel;
    readonly judge?: LanguageModel;
    readonly judges: number;
    readonly plan: RowPlan;
    readonly settings: EpisodeSettings;
    readonly signal: AbortSignal;
  },
) => Promise<EpisodeRecord>;

interface FoundWalk {
  readonly record: EpisodeRecord;
  readonly task: ToolsTask;
  readonly isRecorded: boolean;
}

/**
 * @param live  how a walk is lived where none are recorded
 * @throws DOMAIN_UNFIT
 */
export function wrappedRows(
  { scenario }: Pick<JobContext<ToolsScenario>, 'scenario'>,
  { domain, cast }: Pick<ToolsParts, 'domain' | 'cast'>,
  responder: Responder,
  live: MakeRow,
): MakeRow {
  const { walks, judges = JUDGES } = scenario.config.synth.wrap ?? {};
  if (!isScreenDomain(domain))
    throw reverieError('DOMAIN_UNFIT', {
      problem: `synth.wrap needs a domain of screens, and "${domain.id}" has none.`,
      hint: 'Take a domain of screens: miniwob, screen-graph, or an application.',
    });
  let recorded: Promise<readonly EpisodeRecord[]> | undefined;
  const walkOfRow: (...row: Parameters<MakeRow>) => Promise<FoundWalk> = async (plan, task, settings, signal) => {
    if (walks === undefined) return { record: await live(plan, task, settings, signal), task, isRecorded: false };
    recorded ??= recordedWalks(scenario, domain, walks);
    const record = (await recorded)[plan.row];
    const begun = domain.tasks.find(({ id }) => id === record.task);
    if (begun !== undefined) return { record, task: begun, isRecorded: true };
    throw reverieError('WALK_INVALID', {
      problem: `A walk of task "${record.task}" became no example: the domain has no such task.`,
      hint: 'See docs/screens.md for what is asked of walks. Another model (roles.tasks), or longer walks, may do better.',
    });
  };
  return async (plan, task, settings, signal) => {
    const found = await walkOfRow(plan, task, settings, signal);
    const judge = judges > 0 ? { judge: await cast.model('judge') } : {};
    const model = await cast.model('tasks');
    const wrapWalk = await service<WrapWalk>('wrapped-walk');
    return wrapWalk({ ...found, ...judge, domain, responder, model, judges, plan, settings, signal });
  };
}

async function recordedWalks(
  { config, folder }: ToolsScenario,
  domain: ToolsParts['domain'],
  walks: readonly string[],
): Promise<readonly EpisodeRecord[]> {
  const { tolerant } = config.experience;
  const read = walks.map((path) => readEpisodeLogs(resolve(folder, path), { domain, tolerant }));
  const found = (await Promise.all(read)).flatMap(({ episodes }) => episodes);
  const rows = config.synth.episodes;
  if (found.length < rows)
    throw reverieError('SCENARIO_UNFIT', {
      problem: `There are ${found.length} recorded walks (synth.wrap.walks), and ${rows} rows are wanted of them.`,
      hint: 'Set synth.episodes to as many as there are walks, or fewer, or name more logs.',
    });
  return found;
}
