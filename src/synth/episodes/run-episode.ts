// Runs one episode: an agent in a tools environment, real or simulated, until it ends.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../../core/canonical-json.js';
import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import { ReverieError } from '../../core/errors.js';
import { ensureFolder, writeFileAtomic } from '../../core/files.js';
import { Rng } from '../../core/rng.js';
import { takeTurn } from '../../core/threads.js';
import type { EpisodeEnd, Picture, ToolsDomain, ToolsTask, Verdict } from '../../env/tools/domain.js';
import { type AssistantMessage, type Message, seenByAgent } from '../../env/tools/message.js';
import {
  type AttemptOutcome,
  type EpisodeFacts,
  isOfPolicy,
  type Outcome,
  type Settled,
  settle,
  withoutReward,
} from '../../env/tools/outcome.js';
import type { Prediction } from '../../env/tools/prediction.js';
import { admissibleIn } from '../../env/tools/text-environment.js';
import type { ToolsEpisodeEnvironment } from '../../env/tools/tools-environment.js';
import type { ToolsPolicy, ToolsStepInfo, WalkNote } from '../../env/tools/tools-family.js';
import { verifyEpisode } from '../../env/tools/verify-episode.js';
import type { EpisodeRecord, EpisodeStep, KeptPicture } from '../../replay/experience/experience.js';
import type { Source } from '../../replay/transition.js';

/** Throws what the agent's or the environment's model throws; nothing of the episode is kept then. */
export async function runEpisode(
  environment: ToolsEpisodeEnvironment,
  policy: ToolsPolicy,
  task: ToolsTask,
  plan: RowPlan,
  settings: EpisodeSettings,
  signal?: AbortSignal,
): Promise<EpisodeRecord> {
  const { domain } = environment;
  const begun = await environment.reset({ seed: plan.envSeed, task: task.id, row: plan.row }, signal);
  const costs = [(begun.info.userCost ?? NO_COST) as Cost];
  const first = await pictured(environment, settings.keepPicture);
  const steps: EpisodeStep[] = [];
  // Messages that are not to be learnt: turns that were cut off.
  const masked: number[] = [];
  let [settled, walk]: [Settled | undefined, WalkNote | undefined] = [undefined, undefined];
  let [terminated, truncated] = [false, false];
  while (!terminated && !truncated) {
    await takeTurn();
    signal?.throwIfAborted();
    const { messages } = environment;
    const [step, message] = [steps.length, messages.length];
    // Another attempt differs from the point where its group parts.
    if (plan.attempt > 1 && step === plan.branchAt)
      environment.restore(environment.snapshot(), { seed: plan.agentSeed });
    // Before the branch all of a group decide alike; the environment's seed is the one they share.
    const seed = step < plan.branchAt ? plan.envSeed : plan.agentSeed;
    const admissible = () => admissibleIn(domain, environment.state);
    const seen = { messages: seenByAgent(messages), tools: domain.tools, admissible };
    const turn = await policy.act({ ...seen, task, seed, step, faults: environment.end.faults }, signal);
    const result = await environment.step(turn.action, signal);
    const info = result.info as unknown as ToolsStepInfo;
    const { predictions, userPredictions, stateHash } = info;
    // As the environment took it: with ids of calls that no other call has.
    const { role: _, ...action } = environment.messages[message] as AssistantMessage;
    costs.push(turn.cost, info.userCost, ...[...predictions, ...(userPredictions ?? [])].map(({ cost }) => cost));
    steps.push({
      ...{ message, action },
      ...(turn.tokens !== undefined && { tokens: turn.tokens }),
      ...(turn.isCut && { cut: true as const }),
      ...(userPredictions && { userPredictions }),
      ...{ predictions, reward: result.reward, stateHash, ...(await pictured(environment, settings.keepPicture)) },
    });
    if (turn.isCut) masked.push(message);
    walk = turn.walk ?? walk;
    if (info.verdict !== undefined) settled = { verdict: info.verdict, outcome: info.outcome! };
    terminated = result.terminated;
    truncated = result.truncated || (steps.length >= settings.maxSteps && !terminated);
  }
  const { messages, end } = environment;
  const ranOut = terminated ? {} : { ranOut: `${steps.length} steps did not suffice` };
  const facts = { ...ranOut, ...environment.facts };
  settled ??= settle(verifyEpisode(domain, task, end), facts);
  const { cost: ofJudge, ...found } = await settleVerdict({ domain, task, end, ...settled, facts }, settings, signal);
  const cost = [...costs, ofJudge].reduce(addCosts, NO_COST);
  const ended = { messages, steps, masked, ...(walk && { walk }), terminated, truncated, ...found };
  return episodeRecord({ ...ended, policyVersion: policy.version, ...first, cost }, task, plan, settings);
}

/** Folder of the files, beside the records. */
const PICTURES_FOLDER = 'screenshots';

/** Keeps a picture, and says where. @throws STORAGE_FULL, STORAGE_FAILED */
type KeepPicture = (picture: Picture) => Promise<KeptPicture>;

/** @param folder where the records are written. A picture is whole or not there, and the same one is written once. */
export function pictureKeeper(folder: string): KeepPicture {
  return async ({ png, ...seen }) => {
    const image = `${PICTURES_FOLDER}/${sha256(png)}.png`;
    if (!existsSync(join(folder, image))) {
      await ensureFolder(join(folder, PICTURES_FOLDER));
      await writeFileAtomic(join(folder, image), png);
    }
    return { image, ...seen };
  };
}

/** What there is to see of an environment now, kept; nothing where it has no look, or pictures are not kept. */
async function pictured(
  environment: ToolsEpisodeEnvironment,
  keep: KeepPicture | undefined,
): Promise<{ picture?: KeptPicture }> {
  const picture = keep === undefined ? undefined : environment.picture;
  return picture === undefined ? {} : { picture: await keep!(picture) };
}

export interface RowPlan {
  readonly row: number;
  /** Episodes of one group begin alike: same task, same environment seed. -1: a group of one. */
  readonly group: number;
  /** First row of the group. */
  readonly firstRow: number;
  /** Seed of the environment: one for the whole group. */
  readonly envSeed: number;
  /** Seed of the agent after it has left its group's common way. */
  readonly agentSeed: number;
  /** Agent steps that all of a group share; what follows is each row's own. */
  readonly branchAt: number;
  /** Stream of everything else that the row decides: its task, its noise. */
  readonly rng: Rng;
  /** From 1; higher if an earlier attempt failed and the agent was not the cause. */
  readonly attempt: number;
}

interface PlanSettings {
  readonly seed: number;
  readonly groupSize: number;
  readonly branchAt: number;
}

const SEED_RANGE = 2 ** 31 - 1;

export function planRow(row: number, { seed, groupSize, branchAt }: PlanSettings): RowPlan {
  const stream = Rng.fromSeed(seed).split('episodes');
  const group = Math.floor(row / groupSize);
  return {
    row,
    group: groupSize > 1 ? group : -1,
    firstRow: group * groupSize,
    envSeed: stream.split('group', group).int(SEED_RANGE),
    agentSeed: stream.split('row', row).int(SEED_RANGE),
    branchAt,
    // A group has one task, so what picks it is the group's.
    rng: stream.split('plan', group),
    attempt: 1,
  };
}

/** Attempts at a row that fails without the agent's fault; the last one counts. */
const ATTEMPTS = 3;

/**
 * Seeds of another attempt at a row; undefined after the last. The shared start of a group stays the same, unless the last
 * attempt failed within it: then it failed for the whole group, which changes alike.
 * @param failedAt  number of the agent's turns in that attempt
 */
function nextAttempt(plan: RowPlan, failedAt: number): RowPlan | undefined {
  const attempt = plan.attempt + 1;
  if (attempt > ATTEMPTS) return undefined;
  const isShared = failedAt <= plan.branchAt;
  const envSeed = isShared ? plan.rng.split('attempt', attempt).int(SEED_RANGE) : plan.envSeed;
  const agentSeed = Rng.fromSeed(plan.agentSeed).split('attempt', attempt).int(SEED_RANGE);
  return { ...plan, attempt, envSeed, agentSeed };
}

/**
 * Runs a row, and retries it if it fails without the agent's fault, so that its group is neither short nor given a 0. A row of no group is
 * retried for its user alone: what a simulator refused it would refuse again, at the same cost.
 */
export async function attempted(
  make: (plan: RowPlan) => Promise<EpisodeRecord>,
  first: RowPlan,
  { scenarioHash, seed, withheld }: Pick<EpisodeSettings, 'scenarioHash' | 'seed' | 'withheld'>,
): Promise<EpisodeRecord> {
  const retried: AttemptOutcome[] = [];
  let cost = NO_COST;
  for (let plan = first; ; ) {
    let next: RowPlan | undefined;
    try {
      const made = await make(plan);
      // Without rewards, no reward is missing.
      const isMissing = withheld === undefined && !isOfPolicy(made.outcome);
      const isWanted = isMissing && (plan.group >= 0 || made.outcome.kind === 'failed_by_user');
      next = isWanted ? nextAttempt(plan, made.steps.length) : undefined;
      cost = addCosts(cost, made.cost);
      if (next === undefined) return { ...made, cost, ...(retried.length > 0 && { retried }) };
      retried.push(made.outcome);
    } catch (error) {
      // The user failed before the agent had a turn.
      if (!(error instanceof ReverieError) || error.code !== 'USER_TURN_INVALID') throw error;
      next = nextAttempt(plan, 0);
      if (next === undefined) throw error;
      const attempt = attemptId(episodeId(scenarioHash, seed, plan.row), plan.attempt);
      retried.push({ kind: 'failed_by_user', cause: String(error.values.problem), attempt });
    }
    plan = next;
  }
}

/** 16 hex digits: the same row of the same job always has the same id. */
export function episodeId(scenarioHash: string, seed: number, row: number): string {
  return sha256(`${scenarioHash}\n${seed}\n${row}`).slice(0, 16);
}

function attemptId(episode: string, attempt: number): string {
  return `${episode}-${attempt}`;
}

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
  readonly judge?: (
    ended: Pick<EndedEpisode, 'domain' | 'task' | 'end' | 'seed'>,
    signal?: AbortSignal,
  ) => Promise<{ verdict: Verdict; cost: Cost }>;
  /** Where pictures go, of worlds that have a look; absent: none are kept. */
  readonly keepPicture?: KeepPicture;
  /** Why no reward may be given at all, whatever was found; absent: it may. */
  readonly withheld?: string;
}

interface EndedEpisode {
  readonly domain: ToolsDomain;
  readonly task: ToolsTask;
  readonly end: EpisodeEnd;
  /** The verdict of exact checks that counts. */
  readonly verdict: Verdict;
  readonly outcome: Outcome;
  readonly facts: EpisodeFacts;
  /** Seed of the judge; the job's by default. */
  readonly seed?: number;
}

/** What an episode was, once it has ended. */
export interface EndedRun {
  readonly messages: readonly Message[];
  readonly steps: readonly EpisodeStep[];
  /** Messages of the agent that are not to be learnt. */
  readonly masked?: readonly number[];
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly verdict: Verdict;
  readonly outcome: Outcome;
  readonly policyVersion: string;
  readonly walk?: WalkNote;
  /** What there was to see first. */
  readonly picture?: KeptPicture;
  readonly cost: Cost;
}

/** The verdict that counts, its outcome, and its cost: none unless a judge is asked. */
export async function settleVerdict(
  ended: EndedEpisode,
  { judge, withheld }: Pick<EpisodeSettings, 'judge' | 'withheld'>,
  signal?: AbortSignal,
): Promise<Settled & { cost: Cost }> {
  const { verdict, outcome, facts } = ended;
  if (!isOfPolicy(outcome)) return { verdict, outcome, cost: NO_COST };
  if (withheld !== undefined) {
    const open = { kind: 'judged', cause: withheld } as const;
    return { verdict: withoutReward(verdict, withheld), outcome: open, cost: NO_COST };
  }
  if (judge === undefined || verdict.reward !== null) return { verdict, outcome, cost: NO_COST };
  const decided = await judge(ended, signal);
  // A judge can decide what the world does not report.
  return { ...settle(decided.verdict, { ...facts, undecidable: undefined }), cost: decided.cost };
}

export function episodeRecord(
  ended: EndedRun,
  task: ToolsTask,
  plan: RowPlan,
  settings: EpisodeSettings,
): EpisodeRecord {
  const { scenario, scenarioHash, seed, source, userVersion, responderVersion, weigh } = settings;
  const { row, group, branchAt, firstRow, envSeed, attempt } = plan;
  const isFork = branchAt > 0 && row !== firstRow;
  const id = episodeId(scenarioHash, seed, row);
  return {
    id,
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
    policyVersion: ended.policyVersion,
    userVersion,
    responderVersion,
    messages: [...ended.messages],
    steps: ended.steps,
    verdict: ended.verdict,
    outcome: { ...ended.outcome, attempt: attemptId(id, attempt) },
    return: ended.verdict.reward,
    terminated: ended.terminated,
    truncated: ended.truncated,
    ...(ended.picture && { picture: ended.picture }),
    ...(ended.masked?.length ? { masked: ended.masked } : {}),
    ...(ended.walk && { walk: ended.walk }),
    weight: weigh(ended.steps.flatMap(({ predictions }) => predictions)),
    cost: ended.cost,
  };
}
