// `reverie collect` and `reverie eval` of a tools scenario: episodes of its agent, or of a policy of text, in the real environment, the
// domain's exact rules; kept as records that a simulation can be seeded with, or counted.

import { join } from 'node:path';
import type { JsonObject } from '../../../core/canonical-json.js';
import { type Cost, NO_COST } from '../../../core/cost.js';
import type { Panel } from '../../../core/evaluation-set.js';
import { ensureFolder, writeFileAtomic } from '../../../core/files.js';
import { Rng } from '../../../core/rng.js';
import { mean, rateOf } from '../../../core/statistics.js';
import type { Message } from '../../../env/tools/message.js';
import { elsewhere, realResponder, rulesResponder } from '../../../env/tools/rules-responder.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { isFailed } from '../../../synth/episodes/produce-rows.js';
import { pictureKeeper } from '../../../synth/episodes/run-episode.js';
import { openAiMessage } from '../../../synth/export/episodes/format.js';
import { isWon, playTexts, TextPolicyAgent, type TextStart } from '../../../training/text-play.js';
import { toolsSet } from '../../evaluation-set.js';
import type { JobContext } from '../../job.js';
import { publish } from '../../report-page.js';
import type { ToolsScenario } from '../../scenario.js';
import { EPISODES_FILE } from './datasets.js';
import { makeParts, type ToolsParts } from './parts.js';
import { episodeFacts, RowStatistics } from './row-statistics.js';
import { type EpisodeRows, episodeRows } from './rows.js';
import { taskStage } from './task-stage.js';
import { lanes, openTextLearner, remarkOn, textViewOf } from './text-policy.js';

type Context = JobContext<ToolsScenario>;

export type RealEpisodesResult = Awaited<ReturnType<typeof answered>>;

export async function collectEpisodesJob(asked: Context): Promise<RealEpisodesResult> {
  return withParts(asked, true, async (context, given) => {
    const { checkpoint } = context.inputs;
    if (checkpoint === undefined) return episodesOf(context, given, 'collect');
    const learner = await openTextLearner(context.scenario, context.seed, checkpoint);
    try {
      const agent = new TextPolicyAgent(learner.policy, textViewOf(given.domain));
      return await episodesOf(context, { ...given, agent }, 'collect', learner.policy.version);
    } finally {
      await learner.close();
    }
  });
}

export async function evalEpisodesJob(asked: Context): Promise<RealEpisodesResult> {
  const { checkpoint } = asked.inputs;
  if (checkpoint === undefined) return withParts(asked, true, (context, given) => episodesOf(context, given, 'eval'));
  return withParts(asked, false, (context, given) => policyEpisodes(context, given, checkpoint));
}

async function withParts<R>(
  asked: Context,
  real: boolean,
  use: (context: Context, parts: ToolsParts) => Promise<R>,
): Promise<R> {
  const { scenario } = asked;
  const { config } = scenario;
  // A recipe is for datasets: what is recorded or counted here is the agent itself.
  const synth = { ...config.synth, recipe: { kind: 'plain' as const } };
  const context = { ...asked, scenario: { ...scenario, config: { ...config, synth } } };
  const parts = await makeParts({ ...context, real });
  try {
    return await use(context, parts);
  } finally {
    await parts.close();
  }
}

/** Episodes of the agent, kept as they were, and as logs in OpenAI's form: what `experience.logs` of a scenario reads. */
async function episodesOf(context: Context, given: ToolsParts, job: 'collect' | 'eval', policy?: string) {
  const { out, scenario, progress } = context;
  const { synth, user: talks } = scenario.config;
  const { domain, tasks } = await taskStage(context, given);
  const parts = { ...given, domain };
  const responder = realResponder(domain);
  const { episodes, groupSize, branchAt, maxSteps, pick, mode } = synth;
  const panel = toolsSet(
    context,
    domain,
    tasks,
    { agent: parts.agent.version, user: parts.user.version, answers: responder.version },
    { episodes, groupSize, branchAt, maxSteps, pick, mode, maxTurns: talks.maxTurns },
  );
  const statistics = new RowStatistics();
  const data = join(out, 'data');
  const phase = progress.phase('run', episodes, 'episodes');
  const rows = await episodeRows(context, parts, {
    ...{ source: 'real', responder, tasks, keepPicture: pictureKeeper(data) },
    concurrency: elsewhere(domain)?.sessions,
    observe: (row) => statistics.add(row),
    onProgress: ({ done, trouble }) => phase.set(done, [statistics.note, trouble].filter(Boolean).join(' · ')),
  });
  try {
    phase.end(statistics.note);
    const logs = join(out, 'logs');
    for (const folder of [data, logs]) await ensureFolder(folder);
    await writeFileAtomic(
      join(data, EPISODES_FILE),
      linesOf(rows, (record) => record),
    );
    const log = ({ id, task, messages, verdict }: EpisodeRecord) => {
      return { id, task, messages: messages.map(loggedMessage), reward: verdict.reward };
    };
    await writeFileAtomic(join(logs, 'episodes.jsonl'), linesOf(rows, log));
    const played = { ...statistics.counts, spent: parts.budget.spent, stoppedBy: rows.stoppedBy ?? null };
    return await answered(context, job, { panel, data, logs, ...played }, statistics.returnsByTask, policy);
  } finally {
    await rows.journal.close();
  }
}

/** Errors are marked, as not every text of an error says that it is one. */
function loggedMessage(message: Message): JsonObject {
  const isError = message.role === 'tool' && message.isError === true;
  return isError ? { ...openAiMessage(message), is_error: true } : openAiMessage(message);
}

async function* linesOf({ journal }: EpisodeRows, form: (record: EpisodeRecord) => object): AsyncGenerator<Uint8Array> {
  for (const row of journal.rows) {
    const value = await journal.read(row);
    if (!isFailed(value)) yield Buffer.from(`${JSON.stringify(form(value))}\n`);
  }
}

/** `synth.episodes` whole episodes of a trained policy of text over the tasks of `synth.splits` in turn. */
async function policyEpisodes(context: Context, parts: ToolsParts, checkpoint: string) {
  const { scenario, seed, out, signal, progress } = context;
  const { synth, train } = scenario.config;
  const { domain, tasks } = await taskStage(context, parts);
  const learner = await openTextLearner(scenario, seed, checkpoint);
  try {
    const responder = rulesResponder(domain);
    const policies = { agent: learner.policy.version, answers: responder.version };
    const { episodes, maxSteps } = synth;
    const panel = toolsSet(context, domain, tasks, policies, { episodes, maxSteps, choice: train.evalChoice });
    const rng = Rng.fromSeed(seed).split('text-eval');
    const starts = Array.from({ length: episodes }, (_, i): TextStart => {
      const choices = train.evalChoice === 'sample' ? { rng: rng.split('choices', i) } : {};
      return { task: tasks[i % tasks.length].id, seed: rng.split('start', i).uint32(), ...choices };
    });
    const phase = progress.phase('run', starts.length, 'episodes');
    const all = await playTexts(learner.policy, starts, {
      environments: lanes({ domain, user: parts.user }, responder, scenario.config),
      signal,
      onEpisode: () => phase.advance(1),
    });
    phase.end();
    const data = join(out, 'data');
    await ensureFolder(data);
    const lines = all.map(({ task, reward, steps, lost }) => {
      const said = steps.map(({ situation, choice }) => situation.admissible[choice]);
      return `${JSON.stringify({ task, reward, said, ...(lost && { failed: lost.code }) })}\n`;
    });
    await writeFileAtomic(join(data, 'played.jsonl'), lines.join(''));
    const played = all.filter(({ lost }) => lost === undefined);
    const judged = played.filter(({ reward }) => reward !== null);
    const rewards = new Map<string, number[]>();
    for (const { task, reward } of judged) rewards.set(task, [...(rewards.get(task) ?? []), reward as number]);
    const failed: Record<string, number> = {};
    const failedFor: Record<string, string> = {};
    for (const { code, message } of all.flatMap((one) => one.lost ?? [])) {
      failed[code] = (failed[code] ?? 0) + 1;
      failedFor[code] ??= message;
    }
    const counts = {
      ...{ episodes: played.length, steps: played.reduce((sum, { steps }) => sum + steps.length, 0) },
      success: judged.length === 0 ? null : rateOf(judged.filter(isWon).length, judged.length),
      ...{ abstained: played.length - judged.length, failed, ...(Object.keys(failed).length > 0 && { failedFor }) },
      ...{ cost: NO_COST, spent: NO_COST, stoppedBy: null },
    };
    return await answered(context, 'eval', { panel, data, logs: null, ...counts }, rewards, learner.policy.version);
  } finally {
    await learner.close();
  }
}

type Played = RowStatistics['counts'] & {
  readonly panel: Panel;
  readonly data: string;
  /** Folder of the episodes as logs that `experience.logs` reads; null where none are written. */
  readonly logs: string | null;
  readonly spent: Cost;
  readonly stoppedBy: string | null;
};

/** @param policy  version of a policy of text, which is shown what there is to choose from */
async function answered(
  context: Context,
  job: 'collect' | 'eval',
  { panel, data, logs, ...counts }: Played,
  returnsByTask: ReadonlyMap<string, readonly number[]>,
  policy: string | undefined,
) {
  const rows = [
    ...(policy === undefined ? [] : [['policy', `${policy}. ${remarkOn('It')}`] as const]),
    ...episodeFacts(counts, counts.spent, counts.stoppedBy),
    ['data', data] as const,
    ...(logs === null ? [] : [['logs', `${logs}, to be named in experience.logs`] as const]),
  ];
  const title = `Real episodes: ${context.scenario.config.name}`;
  return {
    ...{ job, family: 'tools', wallSeconds: context.metrics.wallSeconds, panel, data, logs, ...counts },
    byTask: Object.fromEntries([...returnsByTask].map(([task, returns]) => [task, mean(returns)])),
    ...(policy !== undefined && { policy: { version: policy, choosesAmong: 'admissible commands' } }),
    report: await publish(context, { title, blocks: [{ kind: 'facts', rows }] }, panel),
  };
}
