// How a row of a tools job is lived, in whichever process that is: what a row depends on comes with it.

import type { ToolsTask } from '../../../env/tools/domain.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import type { Source } from '../../../replay/transition.js';
import { type EpisodeSettings, type RowPlan, runEpisode } from '../../../synth/episodes/run-episode.js';
import { deficitOf } from '../../../synth/signals/deficits.js';
import { lostStep, SignalFinder } from '../../../synth/signals/signals.js';
import { episodeWeight } from '../../../worldmodel/tools/checks.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import { makeEpisodeEnvironment, type ToolsParts } from './parts.js';
import type { Shadow } from './shadow.js';
import { type MakeRow, wrappedRows } from './wrapped-rows.js';

/** Everything of a row that rows before it decide, or the job's seed. */
export interface PlannedRow {
  readonly plan: RowPlan;
  readonly task: ToolsTask;
  /** Turns of the agent after which the episode is truncated. */
  readonly maxSteps: number;
}

/** Throws what the models throw that are asked. */
export type LiveRow = (row: PlannedRow, signal: AbortSignal) => Promise<EpisodeRecord>;

export interface LiveRowSettings {
  readonly source: Source;
  readonly responder: Responder;
  readonly judge?: EpisodeSettings['judge'];
  /** Where pictures go; absent: none are kept. */
  readonly keepPicture?: EpisodeSettings['keepPicture'];
  /** Why no episode may be given a reward; absent: each may. */
  readonly withheld?: string;
  readonly shadow?: Shadow;
  /** How a row's episode comes about; by default it is lived turn by turn. */
  readonly make?: MakeRow;
}

type Context = Pick<JobContext<ToolsScenario>, 'scenario' | 'seed'>;

/** Lives rows in this process. */
export function liveRowHere(context: Context, parts: ToolsParts, settings: LiveRowSettings): LiveRow {
  const byTurns = livedTurnByTurn(context, parts, settings.responder);
  const isWrapped = context.scenario.config.synth.wrap !== undefined && settings.source === 'synthetic';
  const wrapped = isWrapped ? wrappedRows(context, parts, settings.responder, byTurns) : undefined;
  const { shadow, make = wrapped ?? byTurns } = settings;
  const episode = episodeSettings(context, parts, settings);
  const { domain } = parts;
  const signals = new SignalFinder(domain);
  return async ({ plan, task, maxSteps }, signal) => {
    try {
      // What an earlier try of the row found is none of this one's.
      shadow?.take(plan.row);
      const lived = await make(plan, task, { ...episode, maxSteps }, signal);
      const lost = lostStep(domain, task, lived);
      const told = { signals: signals.find(lived, task), ...(lost === undefined ? {} : { lostStep: lost }) };
      const lostBy = deficitOf(domain, task, { ...lived, ...told });
      const record = { ...lived, ...told, ...(lostBy && { lostBy }) };
      const found = shadow?.take(plan.row) ?? {};
      return Object.keys(found).length === 0 ? record : { ...record, shadow: found };
    } finally {
      // Before the row is: a row that is there is never asked for again, so its replies would stay missing.
      await parts.cast.flush();
    }
  };
}

function livedTurnByTurn({ scenario }: Context, parts: ToolsParts, responder: Responder) {
  return async (plan: RowPlan, task: ToolsTask, settings: EpisodeSettings, signal: AbortSignal) => {
    const environment = makeEpisodeEnvironment(parts, responder, scenario.config);
    return runEpisode(environment, parts.agent, task, plan, settings, signal);
  };
}

/** How episodes of a job are recorded and judged. */
export function episodeSettings(
  { scenario: { config, hash }, seed }: Context,
  { user }: Pick<ToolsParts, 'user'>,
  { source, responder, judge, withheld, keepPicture }: Omit<LiveRowSettings, 'shadow' | 'make'>,
): EpisodeSettings {
  return {
    scenario: config.name,
    scenarioHash: hash,
    seed,
    source,
    responderVersion: responder.version,
    userVersion: user.version,
    maxSteps: config.synth.maxSteps,
    weigh: (predictions) => episodeWeight(predictions, config.model),
    judge,
    withheld,
    ...(keepPicture && { keepPicture }),
  };
}
