// Other ways for a row's episode to come about than turn by turn: written whole by one call of a language model (Simia), or a walk over
// screens made into a task that it solves.

import { resolve } from 'node:path';
import { addCosts } from '../../../core/cost.js';
import { reverieError } from '../../../core/errors.js';
import { service } from '../../../core/services.js';
import { isScreenDomain } from '../../../env/screens/screen-state.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import type { Message } from '../../../env/tools/message.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import { verifyEpisode } from '../../../env/tools/verify-episode.js';
import type { LanguageModel } from '../../../llm/language-model.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { readEpisodeLogs } from '../../../replay/experience/logs/read-episode-logs.js';
import {
  type EpisodeSettings,
  episodeRecord,
  type RowPlan,
  settleVerdict,
} from '../../../synth/episodes/run-episode.js';
import { prefilterEpisodes } from '../../../synth/tasks/seed-filter.js';
import { amplifyTrajectory } from '../../../worldmodel/llm/amplify.js';
import type { ToolsScenario } from '../../scenario.js';
import type { ToolsParts } from './parts.js';

/** How the episode of a row comes about. */
export type MakeRow = (
  plan: RowPlan,
  task: ToolsTask,
  settings: EpisodeSettings,
  signal: AbortSignal,
) => Promise<EpisodeRecord>;

type Parts = Pick<ToolsParts, 'domain' | 'cast'>;

/** Whole trajectories, checked afterwards. An exemplar is drawn for each row from the real records, where there are any. */
export async function amplifiedRows(scenario: ToolsScenario, { domain, cast }: Parts): Promise<MakeRow> {
  const model = await cast.model('world');
  const records = await exemplars(scenario, domain);
  const { stateTokens } = scenario.config.model.llm;
  return async (plan, task, settings, signal) => {
    const exemplar =
      records.length === 0 ? undefined : records[plan.rng.split('exemplar', plan.row).int(records.length)];
    const asked = { domain, task, exemplar, model, seed: plan.agentSeed, stateTokens, signal };
    const written = await amplifyTrajectory(asked);
    const { messages, initialState, finalState, modelVersion } = written;
    const end = { initialState, finalState, messages };
    const predictions = written.steps.flatMap((step) => step.predictions);
    const found = verifyEpisode(domain, task, end);
    const { verdict, cost } = await settleVerdict({ task, domain, end, verdict: found, predictions }, settings, signal);
    const policyVersion = `${modelVersion} (whole trajectory)`;
    const made = { ...written, verdict, policyVersion, cost: addCosts(written.cost, cost) };
    return episodeRecord(made, task, plan, settings);
  };
}

/** Of the scenario's records those that are complete and sound, in their order. */
async function exemplars({ config, folder }: ToolsScenario, domain: ToolsDomain): Promise<(readonly Message[])[]> {
  const { logs, tolerant } = config.experience;
  const found: (readonly Message[])[] = [];
  for (const path of logs) {
    const { episodes } = await readEpisodeLogs(resolve(folder, path), { domain, tolerant });
    const { kept } = await prefilterEpisodes(episodes, domain);
    found.push(...kept.map(({ messages }) => messages));
  }
  return found;
}

/** Each asked by itself, all must agree. */
const JUDGES = 3;

interface FoundWalk {
  readonly record: EpisodeRecord;
  readonly task: ToolsTask;
  readonly isRecorded: boolean;
}

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

/**
 * @param run  how a walk is made where none are recorded
 * @throws DOMAIN_UNFIT
 */
export function wrappedRows(
  { config, folder }: ToolsScenario,
  { domain, cast }: Parts,
  responder: Responder,
  run: MakeRow,
): MakeRow {
  const { walks, judges = JUDGES } = config.synth.wrap ?? {};
  if (!isScreenDomain(domain))
    throw reverieError('DOMAIN_UNFIT', {
      problem: `synth.wrap needs a domain of screens, and "${domain.id}" has none.`,
      hint: 'Take a domain of screens: miniwob, screen-graph, or an application.',
    });
  const read = async (paths: readonly string[]) => {
    const { tolerant } = config.experience;
    const logs = paths.map((path) => readEpisodeLogs(resolve(folder, path), { domain, tolerant }));
    const found = (await Promise.all(logs)).flatMap(({ episodes }) => episodes);
    const { episodes: rows } = config.synth;
    if (found.length < rows)
      throw reverieError('SCENARIO_UNFIT', {
        problem: `There are ${found.length} recorded walks (synth.wrap.walks), and ${rows} rows are wanted of them.`,
        hint: 'Set synth.episodes to as many as there are walks, or fewer, or name more logs.',
      });
    return found as readonly EpisodeRecord[];
  };
  let recorded: Promise<readonly EpisodeRecord[]> | undefined;
  const walkOf = async (...[plan, task, settings, signal]: Parameters<MakeRow>): Promise<FoundWalk> => {
    if (walks === undefined) return { record: await run(plan, task, settings, signal), task, isRecorded: false };
    recorded ??= read(walks);
    const record = (await recorded)[plan.row];
    const begun = domain.tasks.find(({ id }) => id === record.task);
    if (begun !== undefined) return { record, task: begun, isRecorded: true };
    throw reverieError('TRAJECTORY_INVALID', {
      problem: `A walk of task "${record.task}" became no example: the domain has no such task.`,
      hint: 'See docs/screens.md for what is asked of walks. Another model (roles.tasks), or longer walks, may do better.',
    });
  };
  return async (plan, task, settings, signal) => {
    const found = await walkOf(plan, task, settings, signal);
    const judge = judges > 0 ? { judge: await cast.model('judge') } : {};
    const wrapWalk = await service<WrapWalk>('wrapped-walk');
    const model = await cast.model('tasks');
    return wrapWalk({ ...found, ...judge, domain, responder, model, judges, plan, settings, signal });
  };
}
