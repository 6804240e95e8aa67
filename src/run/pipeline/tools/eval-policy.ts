// `reverie eval --checkpoint` in a world of text: whole episodes of a trained policy in the exact rules of the domain.

import { join } from 'node:path';
import { NO_COST } from '../../../core/cost.js';
import { type Panel, panelOf } from '../../../core/evaluation-set.js';
import { ensureFolder, writeFileAtomic } from '../../../core/files.js';
import { Rng } from '../../../core/rng.js';
import { rulesResponder } from '../../../env/tools/rules-responder.js';
import { isWon, playTexts, type TextStart } from '../../../training/text-play.js';
import { requireSet } from '../../evaluation-set.js';
import { type JobContext, whileOpen } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { RealEpisodesResult, TextPolicyNote } from '../../tools-results.js';
import { makeParts } from './parts.js';
import { openTextLearner } from './policy-learner.js';
import { taskStage } from './task-stage.js';
import { lanes } from './text-lanes.js';
import { rateOf } from './train-policy.js';

/** `synth.episodes` episodes over the tasks of `synth.splits` in turn. */
export async function evalPolicyJob(
  context: JobContext<ToolsScenario>,
  checkpoint: string,
): Promise<RealEpisodesResult> {
  const { config } = context.scenario;
  const parts = await makeParts(context);
  return whileOpen(context, parts, async () => {
    const { domain, tasks } = await taskStage(context, parts);
    const learner = await openTextLearner(context.scenario, context.seed, checkpoint);
    try {
      const responder = rulesResponder(domain);
      const panel = panelOf({
        environment: domain.version,
        tasks: tasks.map(({ id }) => id),
        seeds: [context.seed],
        policies: { agent: learner.policy.version, answers: responder.version },
        settings: { episodes: config.synth.episodes, maxSteps: config.synth.maxSteps, choice: config.train.evalChoice },
      });
      requireSet(panel, context.inputs);
      const rng = Rng.fromSeed(context.seed).split('text-eval');
      const starts = Array.from({ length: config.synth.episodes }, (_, i): TextStart => {
        const seed = rng.split('start', i).uint32();
        const choices = config.train.evalChoice === 'sample' ? { rng: rng.split('choices', i) } : {};
        return { task: tasks[i % tasks.length].id, seed, ...choices };
      });
      const phase = context.progress.phase('live', starts.length, 'episodes');
      const played = await playTexts(learner.policy, starts, {
        environments: lanes({ domain, user: parts.user }, responder, config),
        signal: context.signal,
        onEpisode: () => phase.advance(1),
      });
      phase.end();
      const data = join(context.out, 'data');
      await ensureFolder(data);
      await writeFileAtomic(join(data, 'played.jsonl'), played.map(lineOf).join(''));
      return resultOf(context, played, {
        data,
        panel,
        policy: { version: learner.policy.version, choosesAmong: 'admissible commands' },
      });
    } finally {
      await learner.close();
    }
  });
}

type Played = Awaited<ReturnType<typeof playTexts>>;

function lineOf({ task, reward, steps, lost }: Played[number]): string {
  const said = steps.map(({ situation, choice }) => situation.admissible[choice]);
  const failed = lost === undefined ? {} : { failed: lost.code };
  return `${JSON.stringify({ task, reward, said, ...failed })}\n`;
}

function resultOf(
  { metrics }: JobContext<ToolsScenario>,
  all: Played,
  more: { readonly data: string; readonly policy: TextPolicyNote; readonly panel: Panel },
): RealEpisodesResult {
  const played = all.filter(({ lost }) => lost === undefined);
  const judged = played.filter(({ reward }) => reward !== null);
  const rewards = new Map<string, number[]>();
  for (const { task, reward } of judged) rewards.set(task, [...(rewards.get(task) ?? []), reward as number]);
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  return {
    job: 'eval',
    family: 'tools',
    wallSeconds: metrics.wallSeconds,
    ...more,
    logs: null,
    episodes: played.length,
    steps: played.reduce((sum, { steps }) => sum + steps.length, 0),
    success: judged.length === 0 ? null : rateOf(judged.filter(isWon).length, judged.length),
    abstained: played.length - judged.length,
    ...failuresOf(all),
    byTask: Object.fromEntries([...rewards].map(([task, values]) => [task, mean(values)])),
    cost: NO_COST,
    spent: NO_COST,
    stoppedBy: null,
  };
}

/** Episodes that were lost by their codes, and what the first of each was told. */
function failuresOf(played: Played): Pick<RealEpisodesResult, 'failed' | 'failedFor'> {
  const failed: Record<string, number> = {};
  const failedFor: Record<string, string> = {};
  for (const { lost } of played) {
    if (lost === undefined) continue;
    failed[lost.code] = (failed[lost.code] ?? 0) + 1;
    failedFor[lost.code] ??= lost.message;
  }
  return { failed, ...(Object.keys(failedFor).length > 0 && { failedFor }) };
}
