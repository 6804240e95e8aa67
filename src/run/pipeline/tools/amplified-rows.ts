// Rows that one call of a language model writes whole (Simia): cheap, and checked afterwards instead of lived.

import { resolve } from 'node:path';
import { addCosts } from '../../../core/cost.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import type { Message } from '../../../env/tools/message.js';
import { verifyEpisode } from '../../../env/tools/verify-episode.js';
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
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { ToolsParts } from './parts.js';

type Make = (plan: RowPlan, task: ToolsTask, settings: EpisodeSettings, signal: AbortSignal) => Promise<EpisodeRecord>;

/** An exemplar is drawn for each row from the records of the real environment, where there are any. */
export async function amplifiedRows(
  context: Pick<JobContext<ToolsScenario>, 'scenario'>,
  { domain, cast }: Pick<ToolsParts, 'domain' | 'cast'>,
): Promise<Make> {
  const model = await cast.model('world');
  const records = await exemplars(context.scenario, domain);
  const { stateTokens } = context.scenario.config.model.llm;
  return async (plan, task, settings, signal) => {
    const exemplar =
      records.length === 0 ? undefined : records[plan.rng.split('exemplar', plan.row).int(records.length)];
    const written = await amplifyTrajectory({
      domain,
      task,
      exemplar,
      model,
      seed: plan.agentSeed,
      stateTokens,
      signal,
    });
    const { messages, initialState, finalState } = written;
    const found = verifyEpisode(domain, task, { initialState, finalState, messages });
    const predictions = written.steps.flatMap((step) => step.predictions);
    const end = { task, domain, end: { initialState, finalState, messages }, verdict: found, predictions };
    const { verdict, cost } = await settleVerdict(end, settings, signal);
    const policyVersion = `${written.modelVersion} (whole trajectory)`;
    return episodeRecord(
      { ...written, verdict, policyVersion, cost: addCosts(written.cost, cost) },
      task,
      plan,
      settings,
    );
  };
}

// Recorded conversations that show a model what an episode of the domain looks like.

/** Of the scenario's records those that are complete and sound, in their order. */
async function exemplars({ config, folder }: ToolsScenario, domain: ToolsDomain): Promise<(readonly Message[])[]> {
  const found: (readonly Message[])[] = [];
  for (const path of config.experience.logs) {
    const { tolerant } = config.experience;
    const { episodes } = await readEpisodeLogs(resolve(folder, path), { domain, tolerant });
    const { kept } = await prefilterEpisodes(episodes, domain, config.tasks.seeds.replay);
    found.push(...kept.map(({ messages }) => messages));
  }
  return found;
}
