// From an episode that has ended to its record: who decides what it was worth, and everything there is to say of it.

import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import {
  type EpisodeEnd,
  type Message,
  type Prediction,
  rewardOf,
  type ToolsDomain,
  type ToolsTask,
  type Verdict,
  type WalkNote,
} from '../../env/index.js';
import type { EpisodeRecord, EpisodeStep, KeptPicture, Source } from '../../replay/index.js';
import type { KeepPicture } from './kept-pictures.js';
import { episodeId, type RowPlan } from './row-plan.js';

export interface EpisodeSettings {
  readonly scenario: string;
  readonly scenarioHash: string;
  /** Seed of the job. */
  readonly seed: number;
  readonly source: Source;
  readonly responderVersion: string;
  readonly userVersion: string;
  /** Turns of the agent after which the episode is truncated, whatever the environment's own clock says. */
  readonly maxSteps: number;
  /** Weight of the episode in training, from what its steps were answered with. */
  readonly weigh: (predictions: readonly Prediction[]) => number;
  /** Decides what exact checks left open; absent: it stays open. */
  readonly judge?: (ended: EndedEpisode, signal?: AbortSignal) => Promise<{ verdict: Verdict; cost: Cost }>;
  /** Where pictures go, of worlds that have a look; absent: none are kept. */
  readonly keepPicture?: KeepPicture;
  /** Why no reward may be given at all, whatever was found; absent: it may. */
  readonly withheld?: string;
}

export interface EndedEpisode {
  readonly domain: ToolsDomain;
  readonly task: ToolsTask;
  readonly end: EpisodeEnd;
  /** What exact checks found. */
  readonly verdict: Verdict;
  /** Answers to the agent's calls. */
  readonly predictions: readonly Prediction[];
}

/** What an episode was, once it has ended. */
export interface Lived {
  readonly messages: readonly Message[];
  readonly steps: readonly EpisodeStep[];
  /** Messages of the agent that nobody is to learn. */
  readonly masked?: readonly number[];
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly verdict: Verdict;
  readonly policyVersion: string;
  readonly walk?: WalkNote;
  /** What there was to see first. */
  readonly picture?: KeptPicture;
  readonly cost: Cost;
}

/** The verdict that stands, and what deciding it cost: nothing unless a judge is asked. */
export async function settleVerdict(
  ended: EndedEpisode,
  { judge, withheld }: Pick<EpisodeSettings, 'judge' | 'withheld'>,
  signal?: AbortSignal,
): Promise<{ verdict: Verdict; cost: Cost }> {
  const verdict = answerable(ended);
  if (withheld !== undefined) return { verdict: withhold(verdict, withheld), cost: NO_COST };
  if (judge === undefined || verdict.reward !== null) return { verdict, cost: NO_COST };
  return judge(ended, signal);
}

const STATE_CHECKS = ['state', 'check'];

/**
 * What was found, as far as the simulation could bear it: in plain text there is no state to check, and an episode in
 * which a call was refused may have failed for that alone. Neither is a 0.
 */
function answerable({ verdict, predictions }: EndedEpisode): Verdict {
  const isStateless = predictions.some(({ stateless }) => stateless === true);
  const checks = verdict.checks.map((check) =>
    isStateless && STATE_CHECKS.some((kind) => check.name.startsWith(`${kind}:`))
      ? { ...check, passed: null, reason: 'the simulation kept no state' }
      : check,
  );
  const found = isStateless ? { ...verdict, checks, reward: rewardOf(checks) } : verdict;
  const refused = predictions.some((prediction) => prediction.refused !== undefined);
  return refused && found.reward === 0
    ? withhold(found, 'the simulator refused a call, which may be why it failed')
    : found;
}

/** The checks stay, as what was found; what they would have been worth does not. */
function withhold({ checks }: Verdict, reason: string): Verdict {
  return { reward: null, checks: [...checks, { name: 'reward', passed: null, reason }] };
}

export function episodeRecord(lived: Lived, task: ToolsTask, plan: RowPlan, settings: EpisodeSettings): EpisodeRecord {
  const { scenario, scenarioHash, seed, source, userVersion, responderVersion, weigh } = settings;
  const { row, group, branchAt, firstRow, envSeed } = plan;
  const isFork = branchAt > 0 && row !== firstRow;
  return {
    id: episodeId(scenarioHash, seed, row),
    row,
    source,
    scenario,
    scenarioHash,
    task: task.id,
    family: task.family,
    split: task.split ?? 'train',
    seed: envSeed,
    group,
    ...(isFork ? { parent: { episode: episodeId(scenarioHash, seed, firstRow), step: branchAt } } : {}),
    policyVersion: lived.policyVersion,
    userVersion,
    responderVersion,
    messages: [...lived.messages],
    steps: lived.steps,
    verdict: lived.verdict,
    return: lived.verdict.reward,
    terminated: lived.terminated,
    truncated: lived.truncated,
    ...(lived.picture && { picture: lived.picture }),
    ...(lived.masked?.length ? { masked: lived.masked } : {}),
    ...(lived.walk && { walk: lived.walk }),
    weight: weigh(lived.steps.flatMap(({ predictions }) => predictions)),
    cost: lived.cost,
  };
}

export function totalCost(parts: readonly Cost[]): Cost {
  return parts.reduce(addCosts, NO_COST);
}
