// `reverie collect` and `reverie eval` of a tools scenario: episodes of its agent, or of a policy of text, in the real environment, the
// domain's exact rules; kept as records that a simulation can be seeded with, or counted.

import { join } from 'node:path';
import type { JsonObject } from '../../../core/canonical-json.js';
import { NO_COST } from '../../../core/cost.js';
import { ensureFolder, writeFileAtomic } from '../../../core/files.js';
import { Rng } from '../../../core/rng.js';
import { mean } from '../../../core/statistics.js';
import type { Message } from '../../../env/tools/message.js';
import { elsewhere, realResponder, rulesResponder } from '../../../env/tools/rules-responder.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { isFailed } from '../../../synth/episodes/produce-rows.js';
import { pictureKeeper } from '../../../synth/episodes/run-episode.js';
import { openAiMessage } from '../../../synth/export/episodes/format.js';
import { isWon, playTexts, TextPolicyAgent, type TextStart } from '../../../training/text-play.js';
import { toolsSet } from '../../evaluation-set.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { RealEpisodesResult, TextPolicyNote } from '../../tools-results.js';
import { EPISODES_FILE } from './datasets.js';
import { makeParts, type ToolsParts } from './parts.js';
import { RowStatistics } from './row-statistics.js';
import { type EpisodeRows, episodeRows } from './rows.js';
import { taskStage } from './task-stage.js';
import { lanes, openTextLearner, rateOf, textViewOf } from './text-policy.js';

type Context = JobContext<ToolsScenario>;

/** Of what a policy of text chooses among. */
function noteOn({ version }: { readonly version: string }): TextPolicyNote {
  return { version, choosesAmong: 'admissible commands' };
}

export async function collectEpisodesJob(asked: Context): Promise<RealEpisodesResult> {
  return withParts(asked, true, async (context, given) => {
    const { checkpoint } = context.inputs;
    if (checkpoint === undefined) return episodesOf(context, given, 'collect');
    const learner = await openTextLearner(context.scenario, context.seed, checkpoint);
    try {
      const agent = new TextPolicyAgent(learner.policy, textViewOf(given.domain));
      const result = await episodesOf(context, { ...given, agent }, 'collect');
      return { ...result, policy: noteOn(learner.policy) };
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

async function withParts(
  asked: Context,
  real: boolean,
  use: (context: Context, parts: ToolsParts) => Promise<RealEpisodesResult>,
): Promise<RealEpisodesResult> {
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
async function episodesOf(context: Context, given: ToolsParts, job: 'collect' | 'eval'): Promise<RealEpisodesResult> {
  const { out, scenario, metrics, progress } = context;
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
  const phase = progress.phase('live', episodes, 'episodes');
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
    const { steps, success, abstained, failed, failedFor, cost, returnsByTask } = statistics;
    return {
      ...{ job, family: 'tools', wallSeconds: metrics.wallSeconds, panel, data, logs },
      ...{ episodes: statistics.episodes, steps, success, abstained, failed },
      ...(Object.keys(failedFor).length > 0 && { failedFor }),
      byTask: Object.fromEntries([...returnsByTask].map(([task, returns]) => [task, mean(returns)])),
      ...{ cost, spent: parts.budget.spent, stoppedBy: rows.stoppedBy ?? null },
    };
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
async function policyEpisodes(context: Context, parts: ToolsParts, checkpoint: string): Promise<RealEpisodesResult> {
  const { scenario, seed, out, signal, progress, metrics } = context;
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
    const phase = progress.phase('live', starts.length, 'episodes');
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
    const lost = all.flatMap((one) => one.lost ?? []);
    const codes = [...new Set(lost.map(({ code }) => code))];
    const of = (code: string) => lost.filter((one) => one.code === code);
    return {
      ...{
        job: 'eval',
        family: 'tools',
        wallSeconds: metrics.wallSeconds,
        data,
        panel,
        policy: noteOn(learner.policy),
      },
      ...{ logs: null, episodes: played.length, steps: played.reduce((sum, { steps }) => sum + steps.length, 0) },
      success: judged.length === 0 ? null : rateOf(judged.filter(isWon).length, judged.length),
      abstained: played.length - judged.length,
      failed: Object.fromEntries(codes.map((code) => [code, of(code).length])),
      // What the first of each was told.
      ...(codes.length > 0 && { failedFor: Object.fromEntries(codes.map((code) => [code, of(code)[0].message])) }),
      byTask: Object.fromEntries([...rewards].map(([task, values]) => [task, mean(values)])),
      ...{ cost: NO_COST, spent: NO_COST, stoppedBy: null },
    };
  } finally {
    await learner.close();
  }
}
