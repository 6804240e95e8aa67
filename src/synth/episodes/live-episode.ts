// Lives one episode: an agent in a tools environment, real or dreamt, until it ends.

import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import { takeTurn } from '../../core/turn.js';
import {
  admissibleIn,
  type StepResult,
  type ToolsAction,
  type ToolsEpisodeEnvironment,
  type ToolsObservation,
  type ToolsPolicy,
  type ToolsStepInfo,
  type ToolsTask,
  type Verdict,
  verifyEpisode,
  type WalkNote,
} from '../../env/index.js';
import type { EpisodeRecord, EpisodeStep } from '../../replay/index.js';
import { type EpisodeSettings, episodeRecord, settleVerdict, totalCost } from './episode-record.js';
import { pictured } from './kept-pictures.js';
import type { RowPlan } from './row-plan.js';

/** What an episode has come to, step by step. */
interface Life {
  readonly steps: EpisodeStep[];
  /** Messages that nobody is to learn: mistakes made on purpose, turns that were cut off. */
  readonly masked: number[];
  cost: Cost;
  verdict: Verdict | undefined;
  walk: WalkNote | undefined;
  terminated: boolean;
  truncated: boolean;
}

/** Throws what the agent's or the environment's model throws; nothing of the episode is kept then. */
export async function liveEpisode(
  environment: ToolsEpisodeEnvironment,
  policy: ToolsPolicy,
  task: ToolsTask,
  plan: RowPlan,
  settings: EpisodeSettings,
  signal?: AbortSignal,
): Promise<EpisodeRecord> {
  const begun = await environment.reset({ seed: plan.envSeed, task: task.id, row: plan.row }, signal);
  const opening = (begun.info.userCost ?? NO_COST) as Cost;
  const first = await pictured(environment, settings.keepPicture);
  const life: Life = {
    steps: [],
    masked: [],
    cost: opening,
    verdict: undefined,
    walk: undefined,
    terminated: false,
    truncated: false,
  };
  while (!life.terminated && !life.truncated) {
    await takeTurn();
    signal?.throwIfAborted();
    await liveStep(environment, policy, task, plan, { life, settings }, signal);
    if (life.steps.length >= settings.maxSteps && !life.terminated) life.truncated = true;
  }
  const { domain, messages, end } = environment;
  const predictions = life.steps.flatMap((step) => step.predictions);
  const found = life.verdict ?? verifyEpisode(domain, task, end);
  const { verdict, cost } = await settleVerdict({ domain, task, end, verdict: found, predictions }, settings, signal);
  const { steps, masked, walk, terminated, truncated } = life;
  const lived = {
    messages,
    steps,
    masked,
    ...(walk && { walk }),
    terminated,
    truncated,
    verdict,
    policyVersion: policy.version,
    ...first,
  };
  return episodeRecord({ ...lived, cost: addCosts(life.cost, cost) }, task, plan, settings);
}

async function liveStep(
  environment: ToolsEpisodeEnvironment,
  policy: ToolsPolicy,
  task: ToolsTask,
  plan: RowPlan,
  { life, settings }: { readonly life: Life; readonly settings: EpisodeSettings },
  signal: AbortSignal | undefined,
): Promise<void> {
  const step = life.steps.length;
  const message = environment.messages.length;
  const { messages, domain } = environment;
  // Before the branch all of a group decide alike; the environment's seed is the one they share.
  const seed = step < plan.branchAt ? plan.envSeed : plan.agentSeed;
  const admissible = () => admissibleIn(domain, environment.state);
  const query = { messages, tools: domain.tools, task, seed, step, admissible };
  const { action, cost, tokens, isMistake, isCut, walk } = await policy.act(query, signal);
  const result = await environment.step(action, signal);
  const { predictions, userCost, stateHash, verdict } = infoOf(result);
  life.cost = totalCost([life.cost, cost, userCost, ...predictions.map((prediction) => prediction.cost)]);
  const asTokens = tokens === undefined ? {} : { tokens };
  const asCut = isCut ? { cut: true as const } : {};
  life.steps.push({
    ...{ message, action: kept(action), ...asTokens, ...asCut, predictions },
    ...{ reward: result.reward, stateHash, ...(await pictured(environment, settings.keepPicture)) },
  });
  if (isMistake || isCut) life.masked.push(message);
  life.walk = walk ?? life.walk;
  life.verdict = verdict ?? life.verdict;
  life.terminated = result.terminated;
  life.truncated = result.truncated;
}

function infoOf(result: StepResult<ToolsObservation>): ToolsStepInfo {
  return result.info as unknown as ToolsStepInfo;
}

/** Without keys that are undefined: a record is JSON. */
function kept({ content, reasoning, toolCalls }: ToolsAction): ToolsAction {
  return {
    content,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
  };
}
