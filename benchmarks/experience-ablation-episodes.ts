// Whole episodes: an agent that errs lives in an arm's dream; what the dream says of each, and what is true of it, found by
// carrying its calls out in the real environment.

import { concurrently } from '../src/core/threads.js';
import { stateHash } from '../src/env/state/state-hash.js';
import type { ToolsDomain, ToolsTask } from '../src/env/tools/domain.js';
import { ScriptedUser } from '../src/env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../src/env/tools/tools-environment.js';
import type { Responder } from '../src/env/tools/tools-family.js';
import { verifyEpisode } from '../src/env/tools/verify-episode.js';
import { carryOutForReal } from '../src/fidelity/tools/open-loop.js';
import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import { ReferenceAgent } from '../src/synth/episodes/agents/reference-agent.js';
import { planRow, runEpisode } from '../src/synth/episodes/run-episode.js';
import { qualitySchema } from '../src/synth/quality/quality-config.js';
import { QualityPipeline } from '../src/synth/quality/quality-pipeline.js';
import { Judge } from '../src/worldmodel/reward/judge.js';
import type { Arm } from './experience-ablation-arms.js';
import { MAX_STEPS, plainSettings } from './experience-ablation-settings.js';
import type { Share } from './experience-ablation-share.js';

const AGENT_ERROR = 0.3;
/** What a judge is asked of an episode that has no state to be verified. */
const CRITERION = 'What the user wanted was done, in accordance with the policy, and nothing else was changed.';

export interface Lived {
  readonly task: ToolsTask;
  /** As it was dreamt; its verdict is the verifier's on the dreamt state. */
  readonly record: EpisodeRecord;
  readonly trueReward: number | null;
  /** Whether the dreamt state at the end is the true one. */
  readonly isStateRight: boolean;
}

export interface EpisodeScores {
  /** Kept by the quality pipeline, with a reward that is the true one, of all. */
  readonly yield: Share;
  readonly kept: Share;
  /** Of all episodes with reward 1 in the dream: truly solved. */
  readonly precision: Share;
  /** Of all truly solved: reward 1 in the dream. */
  readonly recall: Share;
  /** Of all truly not solved: reward 1 in the dream. */
  readonly falseDone: Share;
  /** Typed arms: the whole episode ended in the true state. */
  readonly endState?: Share;
}

export interface LiveOptions {
  readonly seed: number;
  readonly concurrency: number;
}

export function liveEpisodes(
  domain: ToolsDomain,
  responder: Responder,
  tasks: readonly ToolsTask[],
  { seed, concurrency }: LiveOptions,
): Promise<Lived[]> {
  const agent = new ReferenceAgent(AGENT_ERROR);
  const user = new ScriptedUser();
  return concurrently(tasks, concurrency, async (task, row) => {
    const environment = new ToolsEpisodeEnvironment({ id: domain.id, domain, responder, user, maxSteps: MAX_STEPS });
    const plan = planRow(row, { seed, groupSize: 1, branchAt: 0 });
    const record = await runEpisode(environment, agent, task, plan, plainSettings(domain, 'synthetic', seed));
    const truth = await carryOutForReal(domain, task, record.messages);
    const trueReward = verifyEpisode(domain, task, truth).reward;
    return { task, record, trueReward, isStateRight: stateHash(environment.state) === stateHash(truth.finalState) };
  });
}

/** The rewards that `judge` gives by the conversations alone, in order. */
export function judgedRewards(
  domain: ToolsDomain,
  lived: readonly Lived[],
  judge: Judge,
  { seed, concurrency }: LiveOptions,
): Promise<(number | null)[]> {
  return concurrently(lived, concurrency, async ({ task, record: { messages } }) => {
    const question = { policy: domain.policy, goal: task.user.goal, messages, criteria: [CRITERION], seed };
    const { checks } = await judge.judge(question);
    return checks[0].passed === null ? null : Number(checks[0].passed);
  });
}

/** One vote that counts however unsure it is: its errors are then exactly the model's. */
export function plainJudge(model: ConstructorParameters<typeof Judge>[0]): Judge {
  return new Judge(model, { votes: 1, temperature: 0, minConfidence: 0, margin: 0 });
}

/** @param domain as the arm knows it: filters use its rules, where it has any */
export function scoreEpisodes(
  { mode }: Arm,
  domain: ToolsDomain,
  lived: readonly Lived[],
  rewards: readonly (number | null)[],
): EpisodeScores {
  const pipeline = new QualityPipeline({ config: qualitySchema.parse({}), domain });
  const all = lived.map(({ record, trueReward, isStateRight }, i) => {
    const reward = rewards[i];
    const kept = pipeline.judge({ ...record, verdict: { reward, checks: [] }, return: reward });
    const isUseful = kept !== undefined && kept.return !== null && kept.return === trueReward;
    return { reward, trueReward, isStateRight, isKept: kept !== undefined, isUseful };
  });
  const share = (among: typeof all, isHit: (one: (typeof all)[number]) => boolean): Share => ({
    hits: among.filter(isHit).length,
    of: among.length,
  });
  const isDone = ({ reward }: { reward: number | null }) => reward === 1;
  const isSolved = ({ trueReward }: { trueReward: number | null }) => trueReward === 1;
  return {
    yield: share(all, ({ isUseful }) => isUseful),
    kept: share(all, ({ isKept }) => isKept),
    precision: share(all.filter(isDone), isSolved),
    recall: share(all.filter(isSolved), isDone),
    falseDone: share(
      all.filter((one) => !isSolved(one)),
      isDone,
    ),
    ...(mode === 'typed' ? { endState: share(all, ({ isStateRight }) => isStateRight) } : {}),
  };
}
