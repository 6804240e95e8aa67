// `reverie collect` and `reverie eval` of a tools scenario: episodes of its agent, or of a policy of text, in the real environment, the
// domain's exact rules; kept as they were, and as logs in OpenAI's form, which `experience.logs` of a scenario reads.

import { join } from 'node:path';
import type { JsonObject } from '../../../core/canonical-json.js';
import { ensureFolder, writeFileAtomic } from '../../../core/files.js';
import type { Fact } from '../../../core/report.js';
import { mean } from '../../../core/statistics.js';
import type { Message } from '../../../env/tools/message.js';
import { elsewhere, realResponder } from '../../../env/tools/rules-responder.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { isFailed } from '../../../synth/episodes/produce-rows.js';
import { pictureKeeper } from '../../../synth/episodes/run-episode.js';
import { openAiMessage } from '../../../synth/export/episodes/format.js';
import { TextPolicyAgent } from '../../../training/text-play.js';
import type { JobContext } from '../../job.js';
import { publish } from '../../report-page.js';
import type { ToolsScenario } from '../../scenario.js';
import { EPISODES_FILE, taskStage } from './datasets.js';
import { makeParts, remarkOn, type ToolsParts, textViewOf } from './parts.js';
import { type EpisodeRows, episodeFacts, episodeRows, episodesSet, RowStatistics } from './rows.js';
import { openTextLearner } from './train-policy.js';

type Context = JobContext<ToolsScenario>;

export type RealEpisodesResult = Awaited<ReturnType<typeof episodesOf>>;

export const collectEpisodesJob = (context: Context) => realEpisodesJob(context, 'collect');
export const evalEpisodesJob = (context: Context) => realEpisodesJob(context, 'eval');

async function realEpisodesJob(asked: Context, job: 'collect' | 'eval'): Promise<RealEpisodesResult> {
  const { scenario, seed, inputs } = asked;
  const { config } = scenario;
  // A recipe is for datasets: what is recorded or counted here is the agent itself.
  const synth = { ...config.synth, recipe: { kind: 'plain' as const } };
  const context = { ...asked, scenario: { ...scenario, config: { ...config, synth } } };
  const parts = await makeParts({ ...context, real: true });
  try {
    if (inputs.checkpoint === undefined) return await episodesOf(context, parts, job);
    const learner = await openTextLearner(scenario, seed, inputs.checkpoint);
    try {
      const agent = new TextPolicyAgent(learner.policy, textViewOf(parts.domain));
      return await episodesOf(context, { ...parts, agent }, job, learner.policy.version);
    } finally {
      await learner.close();
    }
  } finally {
    await parts.close();
  }
}

/** @param policy  version of a policy of text, which is shown what there is to choose from */
async function episodesOf(context: Context, given: ToolsParts, job: 'collect' | 'eval', policy?: string) {
  const { out, scenario, progress, metrics } = context;
  const { synth, name } = scenario.config;
  const { domain, tasks } = await taskStage(context, given);
  const parts = { ...given, domain };
  const responder = realResponder(domain);
  const evaluationSet = episodesSet(context, parts, responder, tasks);
  const statistics = new RowStatistics();
  const [data, logs] = [join(out, 'data'), join(out, 'logs')];
  const phase = progress.phase('run', synth.episodes, 'episodes');
  const rows = await episodeRows(context, parts, {
    ...{ source: 'real', responder, tasks, keepPicture: pictureKeeper(data) },
    concurrency: elsewhere(domain)?.sessions,
    observe: (row) => statistics.add(row),
    onProgress: (done, trouble) => phase.set(done, [statistics.note, trouble].filter(Boolean).join(' · ')),
  });
  try {
    phase.end(statistics.note);
    const whole = (record: EpisodeRecord) => record;
    const log = ({ id, task, messages, verdict }: EpisodeRecord) => {
      return { id, task, messages: messages.map(loggedMessage), reward: verdict.reward };
    };
    for (const [folder, form] of [[data, whole] as const, [logs, log] as const]) {
      await ensureFolder(folder);
      await writeFileAtomic(join(folder, EPISODES_FILE), linesOf(rows, form));
    }
  } finally {
    await rows.journal.close();
  }
  const { spent } = parts.budget;
  const stoppedBy = rows.stoppedBy ?? null;
  const facts: Fact[] = [
    ...(policy === undefined ? [] : [['policy', `${policy}. ${remarkOn('It')}`] as const]),
    ...episodeFacts(statistics, spent, stoppedBy),
    ['data', data],
    ['logs', `${logs}, to be named in experience.logs`],
  ];
  const shown = { title: `Real episodes: ${name}`, blocks: [{ kind: 'facts', rows: facts }] } as const;
  return {
    ...{ job, family: 'tools', wallSeconds: metrics.wallSeconds, evaluationSet, data, logs, ...statistics.counts },
    ...{ spent, stoppedBy },
    byTask: Object.fromEntries([...statistics.returnsByTask].map(([task, returns]) => [task, mean(returns)])),
    ...(policy !== undefined && { policy: { version: policy, choosesAmong: 'admissible commands' } }),
    report: await publish(context, shown, evaluationSet),
  };
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
