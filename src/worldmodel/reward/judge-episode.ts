// What an episode was worth: exact checks first; a judge only where they left the rubric open and nothing has failed.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { type Cost, NO_COST } from '../../core/cost.js';
import type { EpisodeEnd, ToolsDomain, ToolsTask, Verdict } from '../../env/tools/domain.js';
import { stateChanges, verifyEpisode } from '../../env/tools/verify-episode.js';
import type { Judge } from './judge.js';

/** A verdict and what it cost to find. */
export interface JudgedVerdict extends Verdict {
  readonly cost: Cost;
}

export interface JudgeEpisodeOptions {
  /** Absent: the rubric stays open. */
  readonly judge?: Judge;
  /** Seed of the episode. */
  readonly seed?: number;
  readonly signal?: AbortSignal;
}

const RUBRIC = 'rubric: ';

/** Throws what the judge's model throws. */
export async function judgeEpisode(
  domain: ToolsDomain,
  task: ToolsTask,
  end: EpisodeEnd,
  { judge, seed = 0, signal }: JudgeEpisodeOptions = {},
): Promise<JudgedVerdict> {
  const exact = verifyEpisode(domain, task, end);
  const criteria = task.verifier.rubric ?? [];
  if (judge === undefined || criteria.length === 0 || exact.reward !== null) return { ...exact, cost: NO_COST };
  const checks = exact.checks.filter(({ name }) => !name.startsWith(RUBRIC));
  const judgement = await judge.judge(
    {
      policy: domain.policy,
      goal: task.user.goal,
      messages: end.messages,
      criteria,
      stateChanges: shownChanges(end.initialState, end.finalState),
      checks,
      seed,
    },
    signal,
  );
  const all = [...checks, ...judgement.checks.map((check) => ({ ...check, name: `${RUBRIC}${check.name}` }))];
  const reward = all.some(({ passed }) => passed === false) ? 0 : all.some(({ passed }) => passed === null) ? null : 1;
  return { reward, checks: all, judge: judge.version, cost: judgement.cost };
}

/** What an episode changed in the data, as a judge is shown it. */
export function shownChanges(before: JsonObject, after: JsonObject): Json[] {
  return stateChanges(before, after).map(({ op, path, value = null }) => ({
    change: op,
    at: `/${path.join('/')}`,
    ...(op === 'remove' ? {} : { value }),
  }));
}
