// Chooses the task of each row: a task is worth the variance of its latest outcomes, a cap bounds the share of synthetic tasks, a floor keeps
// every task in sight. A row sees the outcomes of rows < row - lag in row order, so that picks never depend on timing.

import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';

export interface CurriculumTask {
  readonly id: string;
  /** Made from another task: the cap counts it. */
  readonly synthetic: boolean;
}

export interface CurriculumOptions {
  /** Largest probability that a pick is synthetic (DreamGym's lambda), in [0, 1]. */
  readonly syntheticCap: number;
  /** Probability of a uniform draw, whatever the scores say, in [0, 1]. */
  readonly exploration: number;
  /** A row waits for outcomes of rows below row - lag, and sees no others. */
  readonly lag: number;
  /** Rows that share one pick: row 0 to group - 1, and so on. Default 1. */
  readonly group?: number;
}

export interface Pick {
  readonly row: number;
  readonly task: string;
  readonly synthetic: boolean;
}

/** What became of one episode. */
export interface RowOutcome {
  readonly task: string;
  /** Return of the episode; null where it was not judged or not finished. */
  readonly reward: number | null;
}

/** Judged episodes below which a rate of success says nothing. */
const FEWEST = 2;
/** Score of a task with fewer: the largest variance of rewards in [0, 1]. */
const PRIOR = 0.25;
/** Latest rewards of a task that count. */
const WINDOW = 8;

/**
 * DreamGym's reward entropy (2511.03773, section 4.3): V = mean((r - mean r)^2) over the latest rewards, largest where
 * half of them are 1. A task with fewer than two judged episodes gets 0.25, the largest V of rewards in [0, 1].
 */
export function outcomeVariance(rewards: readonly number[]): number {
  if (rewards.length < FEWEST) return PRIOR;
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  return rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / rewards.length;
}

export class Curriculum {
  private readonly outcomes: (RowOutcome | undefined)[] = [];
  /** Rows 0 to `complete` - 1 are all in; of these, `folded` are in `rewards`. */
  private complete = 0;
  private folded = 0;
  private rewards = new Map<string, readonly number[]>();
  private scored: { readonly frontier: number; readonly shares: Float64Array } | undefined;

  /** @throws SETTING_INVALID if a cap below 1 has no original task beside it */
  constructor(
    private readonly tasks: readonly CurriculumTask[],
    private readonly options: CurriculumOptions,
  ) {
    if (options.syntheticCap < 1 && tasks.every((task) => task.synthetic))
      throw reverieError('SETTING_INVALID', {
        problem: `The share of synthetic tasks is capped at ${options.syntheticCap}, and there is no original task.`,
        hint: 'Give original tasks beside them, or set tasks.curriculum.syntheticCap to 1.',
      });
  }

  /** What became of a row, in any order of rows. */
  observe(row: number, outcome: RowOutcome): void {
    this.outcomes[row] = outcome;
    while (this.outcomes[this.complete] !== undefined) this.complete++;
  }

  /** Whether all outcomes that a pick for this row sees are in. */
  ready(row: number): boolean {
    return this.complete >= this.frontier(row);
  }

  /**
   * The task of a row. Depends on outcomes of rows < row - lag, the row and the stream `rng`, which is not advanced.
   * @throws SCENARIO_UNFIT
   */
  pick(row: number, rng: Rng): Pick {
    const shares = this.sharesFor(row);
    const stream = rng.split('curriculum', this.anchor(row));
    const isEven = stream.uniform() < this.options.exploration;
    const [kindDraw, draw] = [stream.uniform(), stream.uniform()];
    const even = () => this.sharesOf(new Float64Array(this.tasks.length).fill(1));
    const at = choose(isEven ? even() : shares, this.tasks, kindDraw, draw);
    const { id: task, synthetic } = this.tasks[at];
    return { row, task, synthetic };
  }

  /** Rows that see the same share what was made of it. */
  private sharesFor(row: number): Float64Array {
    const frontier = this.frontier(row);
    if (frontier > this.complete)
      throw reverieError('SCENARIO_UNFIT', {
        problem: `Row ${row} cannot pick a task yet: it sees the outcomes of ${frontier} rows, and the first ${this.complete} are in.`,
        hint: 'Ask ready(row) first, or raise the lag so that rows wait for fewer.',
      });
    if (this.scored?.frontier === frontier) return this.scored.shares;
    if (frontier < this.folded) {
      this.folded = 0;
      this.rewards = new Map();
    }
    for (; this.folded < frontier; this.folded++) {
      const { task, reward } = this.outcomes[this.folded]!;
      if (reward === null) continue;
      this.rewards.set(task, [...(this.rewards.get(task) ?? []), reward].slice(-WINDOW));
    }
    const scores = Float64Array.from(this.tasks, ({ id }) => outcomeVariance(this.rewards.get(id) ?? []));
    this.scored = { frontier, shares: this.sharesOf(scores) };
    return this.scored.shares;
  }

  private anchor(row: number): number {
    const group = this.options.group ?? 1;
    return Math.floor(row / group) * group;
  }

  private frontier(row: number): number {
    return Math.max(0, this.anchor(row) - this.options.lag);
  }

  /** Probabilities in proportion to the weights, with at most the cap on synthetic tasks; uniform among a kind where all weigh 0. */
  private sharesOf(weights: Float64Array): Float64Array {
    const [original, synthetic] = [false, true].map((kind) => {
      const mine = this.tasks.flatMap((task, i) => (task.synthetic === kind ? [i] : []));
      return { mine, mass: mine.reduce((sum, i) => sum + weights[i], 0) };
    });
    const total = original.mass + synthetic.mass;
    const natural = total > 0 ? synthetic.mass / total : synthetic.mine.length / this.tasks.length;
    const share = original.mine.length === 0 ? 1 : Math.min(this.options.syntheticCap, natural);
    const out = new Float64Array(this.tasks.length);
    for (const { mine, mass } of [original, synthetic]) {
      const whole = mine === synthetic.mine ? share : 1 - share;
      for (const i of mine) out[i] = whole * (mass > 0 ? weights[i] / mass : 1 / mine.length);
    }
    return out;
  }
}

/** Draws the kind first, then a task of it: the same numbers pick like kinds under different scores. */
function choose(probabilities: Float64Array, tasks: readonly CurriculumTask[], kindDraw: number, draw: number): number {
  const possible = [...tasks.keys()].filter((i) => probabilities[i] > 0);
  const massOf = (kind: readonly number[]) => kind.reduce((sum, i) => sum + probabilities[i], 0);
  const [synthetic, original] = [true, false].map((kind) => possible.filter((i) => tasks[i].synthetic === kind));
  const isSynthetic = original.length === 0 || (synthetic.length > 0 && kindDraw < massOf(synthetic));
  const kind = isSynthetic ? synthetic : original;
  let left = draw * massOf(kind);
  const found = kind.find((i) => {
    left -= probabilities[i];
    return left < 0;
  });
  return found ?? kind[kind.length - 1];
}
