// What a task is worth being tried next, as functions of what was seen of it. The published curricula are four of them;
// they and one's own are composed by sums, products and bounds.

/** What was seen of a task by the row that is about to pick. */
export interface TaskStats {
  readonly task: string;
  /** Made from other tasks. */
  readonly synthetic: boolean;
  /** Belongs to the hard (or noisy) tasks, which a schedule brings in. */
  readonly hard: boolean;
  /** Episodes of it that ended, judged or not. */
  readonly attempts: number;
  /** Rewards of the latest judged episodes (at most the curriculum's `window`), oldest first. */
  readonly rewards: readonly number[];
  /** Mean of the latest teacher-forcing losses; absent where none was reported. */
  readonly loss?: number;
  /** Share of tasks with a known loss that have a lower one, in [0, 1]; absent with `loss`. */
  readonly lossRank?: number;
  /** How much of the job is done, in [0, 1]. */
  readonly progress: number;
  /** Share of the tasks to pick from that are hard, in [0, 1]. */
  readonly hardShare: number;
}

/** The weight a task is drawn with; finite, and what is below 0 counts as 0. Pure: same stats, same score. */
export type CurriculumScore = (stats: TaskStats) => number;

/** Judged episodes below which a rate of success says nothing. */
const FEWEST = 2;

/**
 * DreamGym's reward entropy (2511.03773, section 4.3): V = mean((r - mean r)^2) over the latest rewards, largest where
 * half of them are 1. A task with fewer than two judged episodes gets `prior`, the largest V of rewards in [0, 1].
 */
export function outcomeVariance({ prior = 0.25 }: { prior?: number } = {}): CurriculumScore {
  return ({ rewards }) => {
    if (rewards.length < FEWEST) return prior;
    const centre = mean(rewards);
    return mean(rewards.map((reward) => (reward - centre) ** 2));
  };
}

/**
 * GenEnv's alpha-curriculum reward (2512.19682): exp(-beta (p - alpha)^2), p the mean reward. A task with fewer than two
 * judged episodes gets 1, as it may be right at alpha.
 */
export function alphaReward({ alpha = 0.5, beta = 8 }: { alpha?: number; beta?: number } = {}): CurriculumScore {
  return ({ rewards }) => (rewards.length < FEWEST ? 1 : Math.exp(-beta * (mean(rewards) - alpha) ** 2));
}

/**
 * Target selection of UI-Simulator-Grow (2510.14969): 1 for tasks whose teacher-forcing loss ranks within the band, 0 for
 * those that are too easy or too hard. A task without a loss counts as within.
 */
export function lossBand({ low = 0.25, high = 0.75 }: { low?: number; high?: number } = {}): CurriculumScore {
  return ({ lossRank }) => (lossRank === undefined || (lossRank >= low && lossRank <= high) ? 1 : 0);
}

/**
 * ZeroSearch's schedule (2505.04588): hard tasks are drawn with probability p(i) = start + (end - start) (b^(i/m) - 1) / (b - 1),
 * i/m being the progress of the job. Alone it draws them with exactly that probability, however many there are.
 */
export function noiseSchedule({
  start = 0,
  end = 0.5,
  base = 4,
}: {
  start?: number;
  end?: number;
  base?: number;
} = {}): CurriculumScore {
  return ({ hard, hardShare, progress }) => {
    const grown = base === 1 ? progress : (base ** progress - 1) / (base - 1);
    const p = start + (end - start) * grown;
    if (hardShare === 0 || hardShare === 1) return 1;
    return hard ? p / hardShare : (1 - p) / (1 - hardShare);
  };
}

/** Tasks tried less are worth more: 1 / sqrt(1 + attempts), the count bonus of Bellemare et al. (1606.01868). */
export function novelty(): CurriculumScore {
  return ({ attempts }) => 1 / Math.sqrt(1 + attempts);
}

/** Sum of weight times score. */
export function weighted(terms: readonly (readonly [score: CurriculumScore, weight: number])[]): CurriculumScore {
  return (stats) => terms.reduce((sum, [score, weight]) => sum + weight * score(stats), 0);
}

/** Product of the scores: one that is 0 forbids a task. */
export function product(...scores: readonly CurriculumScore[]): CurriculumScore {
  return (stats) => scores.reduce((value, score) => value * score(stats), 1);
}

/** A score kept within [low, high]. */
export function clamp(score: CurriculumScore, low: number, high: number): CurriculumScore {
  return (stats) => Math.min(high, Math.max(low, score(stats)));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
