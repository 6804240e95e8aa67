// The automatic hacker: in a few tasks it looks for ways to be rewarded, and is told nothing but what judge and simulator
// make of its episodes. A reward that the exact checks do not bear out, and that comes again with other seeds, is a trick.

import { concurrently } from '../../core/concurrently.js';
import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import { Rng } from '../../core/rng.js';
import type {
  ToolsAction,
  ToolsEpisodeEnvironment,
  ToolsPolicy,
  ToolsPolicyQuery,
  ToolsTask,
} from '../../env/index.js';
import type { EpisodeRecord } from '../../replay/index.js';
import type { EpisodeSettings } from '../episodes/episode-record.js';
import { liveEpisode } from '../episodes/live-episode.js';
import type { HackerConfig } from './hacker-schema.js';
import { type Move, movesIn } from './moves.js';
import { truthOf, whyUntellable } from './task-truth.js';
import { type Attempt, MoveCredit, TrickSearch } from './trick-search.js';

/** Episodes at once; what is tried next depends on all of them. */
const GENERATION = 8;
/** Turns after the moves in which the user may still answer. */
const SPARE_TURNS = 4;
const REWARDED = 0.5;

export interface FindTricksRequest {
  /** An environment of its own for each episode, with whoever answers in the dream. */
  readonly environment: () => ToolsEpisodeEnvironment;
  readonly tasks: readonly ToolsTask[];
  readonly config: Pick<HackerConfig, 'tasks' | 'plays' | 'repeats'>;
  /** How episodes are judged: as those of the job are. */
  readonly settings: Omit<EpisodeSettings, 'maxSteps' | 'withheld'>;
  readonly seed: number;
  readonly signal?: AbortSignal;
}

/** How a reward was had for nothing. */
export interface Trick {
  readonly task: string;
  /** What was done, turn by turn. */
  readonly moves: readonly string[];
  readonly reward: number;
  /** Who was taken in. */
  readonly by: 'judge' | 'simulator';
  /** What exact checks say to it. */
  readonly truth: string;
  /** The episode in full. */
  readonly episode: EpisodeRecord;
}

export interface TricksReport {
  readonly tasks: readonly string[];
  /** Tasks in which nothing could be tried, with the reason. */
  readonly skipped: readonly { readonly task: string; readonly reason: string }[];
  /** Episodes that were played. */
  readonly plays: number;
  /** At most one a task. */
  readonly tricks: readonly Trick[];
  readonly cost: Cost;
}

interface Play {
  readonly attempt: Attempt;
  readonly record: EpisodeRecord;
  readonly score: number;
  readonly trick?: Trick;
}

/** Throws what the judge's and the simulator's models throw. The same seed finds the same. */
export async function findTricks(request: FindTricksRequest): Promise<TricksReport> {
  const { tasks, config } = request;
  const { domain } = request.environment();
  const reasons = tasks.map((task) => ({ task, reason: whyUntellable(domain, task) }));
  const tellable = reasons.flatMap(({ task, reason }) => (reason === undefined ? [task] : []));
  const chosen = spread(tellable, config.tasks);
  const credit = new MoveCredit();
  const found: TaskFindings[] = [];
  for (const [i, task] of chosen.entries()) {
    const share = Math.floor((config.plays * (i + 1)) / chosen.length) - Math.floor((config.plays * i) / chosen.length);
    found.push(await tricksIn(request, task, { plays: share, credit }));
  }
  return {
    tasks: chosen.map(({ id }) => id),
    skipped: reasons.flatMap(({ task, reason }) => (reason === undefined ? [] : [{ task: task.id, reason }])),
    plays: found.reduce((sum, { plays }) => sum + plays, 0),
    tricks: found.flatMap(({ trick }) => trick ?? []),
    cost: found.reduce((sum, { cost }) => addCosts(sum, cost), NO_COST),
  };
}

/** As many of them, evenly. */
function spread<T>(items: readonly T[], count: number): T[] {
  const taken = Math.min(count, items.length);
  return Array.from({ length: taken }, (_, i) => items[Math.floor((i * items.length) / taken)]);
}

interface TaskFindings {
  readonly plays: number;
  readonly trick?: Trick;
  readonly cost: Cost;
}

async function tricksIn(
  request: FindTricksRequest,
  task: ToolsTask,
  { plays: budget, credit }: { readonly plays: number; readonly credit: MoveCredit },
): Promise<TaskFindings> {
  const rng = Rng.fromSeed(request.seed).split('hacker', task.id);
  const search = new TrickSearch(movesIn(request.environment().domain, task, rng.split('moves')), credit, rng);
  let [plays, cost] = [0, NO_COST];
  while (plays < budget) {
    const attempts = search.ask(Math.min(GENERATION, budget - plays));
    if (attempts.length === 0) break;
    const seeds = attempts.map(() => rng.uint32() >>> 1);
    const played = await concurrently(
      attempts.map((attempt, i) => ({ attempt, seed: seeds[i] })),
      GENERATION,
      (each) => play(request, task, each),
    );
    plays += played.length;
    for (const { attempt, score, record } of played) {
      search.tell(attempt, score);
      cost = addCosts(cost, record.cost);
    }
    for (const { attempt, trick } of played.filter((each) => each.trick !== undefined)) {
      const again = await worksAgain(request, task, { attempt, rng });
      plays += again.plays;
      cost = addCosts(cost, again.cost);
      if (again.works) return { plays, trick, cost };
    }
  }
  return { plays, cost };
}

async function worksAgain(
  request: FindTricksRequest,
  task: ToolsTask,
  { attempt, rng }: { readonly attempt: Attempt; readonly rng: Rng },
): Promise<{ readonly works: boolean; readonly plays: number; readonly cost: Cost }> {
  const seeds = Array.from({ length: request.config.repeats }, () => rng.uint32() >>> 1);
  const played = await concurrently(seeds, GENERATION, (seed) => play(request, task, { attempt, seed }));
  const cost = played.reduce((sum, { record }) => addCosts(sum, record.cost), NO_COST);
  return { works: played.every(({ trick }) => trick !== undefined), plays: played.length, cost };
}

async function play(
  { environment, settings, signal }: FindTricksRequest,
  task: ToolsTask,
  { attempt, seed }: { readonly attempt: Attempt; readonly seed: number },
): Promise<Play> {
  const world = environment();
  const plan = {
    row: -1,
    group: -1,
    firstRow: -1,
    envSeed: seed,
    agentSeed: seed,
    branchAt: 0,
    rng: Rng.fromSeed(seed),
  };
  const maxSteps = attempt.moves.length + SPARE_TURNS;
  const policy = new MovesPolicy(attempt.moves);
  const record = await liveEpisode(world, policy, task, plan, { ...settings, maxSteps }, signal);
  const { earned, reason } = truthOf(world.domain, task, record.messages);
  const reward = record.return ?? 0;
  const isTrick = reward > REWARDED && earned === false;
  const moves = attempt.moves.map(({ name }) => name);
  const by = record.verdict.judge === undefined ? 'simulator' : 'judge';
  const trick: Trick = { task: task.id, moves, reward, by, truth: reason, episode: record };
  return { attempt, record, score: scoreOf(record, earned), ...(isTrick ? { trick } : {}) };
}

/** What was paid, and a little for each check on the way there; nothing for what was truly earned. */
function scoreOf({ verdict }: EpisodeRecord, earned: boolean | null): number {
  if (earned === true) return 0;
  const passed = verdict.checks.filter((check) => check.passed === true).length;
  return (verdict.reward ?? 0) + (0.5 * passed) / Math.max(1, verdict.checks.length);
}

/** Makes its moves one after the other, then says good-bye. */
class MovesPolicy implements ToolsPolicy {
  readonly version = 'hacker-1';
  private readonly turns: readonly ToolsAction[];

  constructor(moves: readonly Move[]) {
    this.turns = turnsOf(moves);
  }

  act({ step }: ToolsPolicyQuery): { action: ToolsAction; cost: Cost } {
    const action = this.turns[step] ?? { content: 'Good-bye.' };
    const toolCalls = action.toolCalls?.map((call, i) => ({ ...call, id: `call_${step}_${i}` }));
    return { action: { ...action, ...(toolCalls === undefined ? {} : { toolCalls }) }, cost: NO_COST };
  }
}

/** What is said one after the other is said at once: a user may leave after the first. */
function turnsOf(moves: readonly Move[]): ToolsAction[] {
  const turns: ToolsAction[] = [];
  for (const { action } of moves) {
    const before = turns.at(-1);
    const isSaid = action.toolCalls === undefined && before !== undefined && before.toolCalls === undefined;
    if (isSaid) turns[turns.length - 1] = { content: `${before.content}\n${action.content}` };
    else turns.push(action);
  }
  return turns;
}
