// `reverie collect` and `reverie eval` of a tools scenario: episodes of its agent in the real environment, the domain's exact
// rules; kept as records that a simulation can be seeded with, or counted.

import { join } from 'node:path';
import type { JsonObject } from '../../../core/canonical-json.js';
import { ensureFolder, writeFileAtomic } from '../../../core/files.js';
import type { Message } from '../../../env/tools/message.js';
import { elsewhere, realResponder } from '../../../env/tools/rules-responder.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { type FailedRow, isFailed, type RowJournal } from '../../../synth/episodes/produce-rows.js';
import { pictureKeeper } from '../../../synth/episodes/run-episode.js';
import { openAiMessage } from '../../../synth/export/episodes/format.js';
import { TextPolicyAgent } from '../../../training/text-play.js';
import { requireSet } from '../../evaluation-set.js';
import { type JobContext, whileOpen } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { RealEpisodesResult } from '../../tools-results.js';
import { episodesPanel } from './episodes-panel.js';
import { evalPolicyJob } from './eval-policy.js';
import { EPISODES_FILE } from './judged-rows.js';
import { type LivedRows, livedRows } from './lived-rows.js';
import { makeParts, type ToolsParts } from './parts.js';
import { openTextLearner } from './policy-learner.js';
import { RowStatistics } from './row-statistics.js';
import { taskStage } from './task-stage.js';
import { textViewOf } from './text-lanes.js';

type Context = JobContext<ToolsScenario>;

export function collectEpisodesJob(context: Context): Promise<RealEpisodesResult> {
  return realEpisodes(context, 'collect');
}

export function evalEpisodesJob(context: Context): Promise<RealEpisodesResult> {
  const { checkpoint } = context.inputs;
  if (checkpoint !== undefined)
    return evalPolicyJob({ ...context, scenario: withoutRecipe(context.scenario) }, checkpoint);
  return realEpisodes(context, 'eval');
}

async function realEpisodes(asked: Context, job: 'collect' | 'eval'): Promise<RealEpisodesResult> {
  const context = { ...asked, scenario: withoutRecipe(asked.scenario) };
  const given = await makeParts({ ...context, real: true });
  return whileOpen(context, given, async () => {
    const { checkpoint } = context.inputs;
    if (checkpoint === undefined) return await livedAndKept(context, given, job);
    const learner = await openTextLearner(context.scenario, context.seed, checkpoint);
    try {
      const view = textViewOf(given.domain);
      const agent = new TextPolicyAgent(learner.policy, view);
      const result = await livedAndKept(context, { ...given, agent }, job);
      return { ...result, policy: { version: learner.policy.version, choosesAmong: 'admissible commands' } };
    } finally {
      await learner.close();
    }
  });
}

async function livedAndKept(context: Context, given: ToolsParts, job: 'collect' | 'eval'): Promise<RealEpisodesResult> {
  const stage = await taskStage(context, given);
  const parts = { ...given, domain: stage.domain };
  const panel = episodesPanel(context, parts, stage.tasks, realResponder(parts.domain).version);
  requireSet(panel, context.inputs);
  const statistics = new RowStatistics();
  const lived = await live(context, parts, stage.tasks, statistics);
  try {
    const data = await keep(context, lived.journal);
    return { ...resultOf(context, parts, job, statistics, lived, data), panel };
  } finally {
    await lived.journal.close();
  }
}

/** A recipe is for datasets: what is recorded or counted here is the agent itself. */
function withoutRecipe(scenario: ToolsScenario): ToolsScenario {
  const { config } = scenario;
  return { ...scenario, config: { ...config, synth: { ...config.synth, recipe: { kind: 'plain' } } } };
}

async function live(
  context: Context,
  parts: ToolsParts,
  tasks: ToolsParts['domain']['tasks'],
  statistics: RowStatistics,
): Promise<LivedRows> {
  const phase = context.progress.phase('live', context.scenario.config.synth.episodes, 'episodes');
  const rows = await livedRows(context, parts, {
    source: 'real',
    responder: realResponder(parts.domain),
    tasks,
    keepPicture: pictureKeeper(join(context.out, 'data')),
    concurrency: elsewhere(parts.domain)?.sessions,
    observe: (row) => statistics.add(row),
    onProgress: ({ done, trouble }) => phase.set(done, [statistics.note, trouble].filter(Boolean).join(' · ')),
  });
  phase.end(statistics.note);
  return rows;
}

/** All episodes as they were, and as logs in OpenAI's form: what `experience.logs` of a scenario reads. */
async function keep({ out }: Context, journal: RowJournal<EpisodeRecord | FailedRow>): Promise<string> {
  const data = join(out, 'data');
  await ensureFolder(data);
  await writeFileAtomic(
    join(data, EPISODES_FILE),
    linesOf(journal, (record) => record),
  );
  await ensureFolder(join(out, 'logs'));
  await writeFileAtomic(join(out, 'logs', 'episodes.jsonl'), linesOf(journal, asLog));
  return data;
}

function asLog({ id, task, messages, verdict }: EpisodeRecord): object {
  return { id, task, messages: messages.map(loggedMessage), reward: verdict.reward };
}

/** Errors are marked, as not every text of an error says that it is one. */
function loggedMessage(message: Message): JsonObject {
  const isError = message.role === 'tool' && message.isError === true;
  return isError ? { ...openAiMessage(message), is_error: true } : openAiMessage(message);
}

async function* linesOf(
  journal: RowJournal<EpisodeRecord | FailedRow>,
  form: (record: EpisodeRecord) => object,
): AsyncGenerator<Uint8Array> {
  for (const row of journal.rows) {
    const value = await journal.read(row);
    if (!isFailed(value)) yield Buffer.from(`${JSON.stringify(form(value))}\n`);
  }
}

function resultOf(
  context: Context,
  { budget }: ToolsParts,
  job: 'collect' | 'eval',
  statistics: RowStatistics,
  { stoppedBy }: LivedRows,
  data: string,
): RealEpisodesResult {
  const { episodes, steps, success, abstained, failed, failedFor, cost, returnsByTask } = statistics;
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  return {
    job,
    family: 'tools',
    wallSeconds: context.metrics.wallSeconds,
    data,
    logs: join(context.out, 'logs'),
    episodes,
    steps,
    success,
    abstained,
    failed,
    ...(Object.keys(failedFor).length > 0 && { failedFor }),
    byTask: Object.fromEntries([...returnsByTask].map(([task, returns]) => [task, mean(returns)])),
    cost,
    spent: budget.spent,
    stoppedBy: stoppedBy ?? null,
  };
}
