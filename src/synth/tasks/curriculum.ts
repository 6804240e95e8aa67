// Chooses the task of each row: scores weigh tasks, a cap bounds the share of synthetic ones, a floor keeps every task
// in sight. A row sees the outcomes of rows < row - lag in row order, so that picks never depend on timing.

import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import type { CurriculumScore, TaskStats } from './curriculum-scores.js';
import { OutcomeLedger, type RowOutcome } from './outcome-ledger.js';

export interface CurriculumTask {
  readonly id: string;
  /** Made from other tasks: the cap counts it. */
  readonly synthetic: boolean;
  /** Default false. */
  readonly hard?: boolean;
  /** First row that may pick it; default 0. */
  readonly fromRow?: number;
}

export interface CurriculumOptions {
  /** What tasks are drawn in proportion to. */
  readonly score: CurriculumScore;
  /** Single scores by name: logged with each pick, beside the pick each would have made alone. */
  readonly parts?: Readonly<Record<string, CurriculumScore>>;
  /** Largest probability that a pick is synthetic (DreamGym's lambda), in [0, 1]. */
  readonly syntheticCap: number;
  /** Probability of a uniform draw, whatever the scores say, in [0, 1]. */
  readonly exploration: number;
  /** A row waits for outcomes of rows below row - lag, and sees no others. */
  readonly lag: number;
  /** Rows that share one pick: row 0 to group - 1, and so on. Default 1. */
  readonly group?: number;
  /** Latest rewards of a task that count. Default 8. */
  readonly window?: number;
  /** Rows of the whole job, for scores that look at progress; without it progress is 0. */
  readonly rows?: number;
}

export interface Pick {
  readonly row: number;
  readonly task: string;
  readonly synthetic: boolean;
  /** Drawn uniformly, by the floor of exploration. */
  readonly explored: boolean;
  /** Its score, and its probability of being picked. */
  readonly score: number;
  readonly probability: number;
  /** What each single score gave it. */
  readonly scores: Readonly<Record<string, number>>;
  /** The task each single score alone would have picked, with the same random numbers and no exploration. */
  readonly counterfactual: Readonly<Record<string, string>>;
}

interface Draw {
  readonly synthetic: number;
  readonly within: number;
}

/** What rows see that see the same. */
interface View {
  readonly key: string;
  readonly stats: readonly TaskStats[];
  /** Probabilities by name of the score. */
  readonly distributions: Map<string, Float64Array>;
}

const WHOLE = 'the score';
const EVEN = 'even';

export class Curriculum {
  private readonly tasks: CurriculumTask[] = [];
  private view: View | undefined;
  private readonly known = new Set<string>();
  private readonly ledger: OutcomeLedger;

  /** @throws CURRICULUM_INVALID if two tasks share an id, or a cap below 1 has no original task beside it */
  constructor(
    tasks: readonly CurriculumTask[],
    private readonly options: CurriculumOptions,
  ) {
    this.ledger = new OutcomeLedger(options.window ?? 8);
    this.add(tasks);
    if (options.syntheticCap < 1 && !tasks.some((task) => !task.synthetic && (task.fromRow ?? 0) === 0))
      throw invalid(`the share of synthetic tasks is capped at ${options.syntheticCap}, and there is no original task`);
  }

  /** More tasks, e.g. made from those picked so far; `fromRow` of each says which rows may pick it. */
  add(tasks: readonly CurriculumTask[]): void {
    for (const task of tasks) {
      if (this.known.has(task.id)) throw invalid(`task "${task.id}" is there twice`);
      this.known.add(task.id);
      this.tasks.push(task);
    }
  }

  /** What became of a row, in any order of rows. */
  observe(row: number, outcome: RowOutcome): void {
    this.ledger.add(row, outcome);
  }

  /** Whether all outcomes that a pick for this row sees are in. */
  ready(row: number): boolean {
    return this.ledger.complete >= this.frontier(row);
  }

  /**
   * The task of a row. Depends on outcomes of rows < row - lag, the row and the stream `rng`, which is not advanced.
   * @throws CURRICULUM_NOT_READY, CURRICULUM_INVALID if a score is not finite
   */
  pick(row: number, rng: Rng): Pick {
    const view = this.viewOf(row);
    const { stats } = view;
    const { score, parts = {}, exploration } = this.options;
    const stream = rng.split('curriculum', this.anchor(row));
    const explored = stream.uniform() < exploration;
    const draw = { synthetic: stream.uniform(), within: stream.uniform() };
    const scored = this.distribution(view, WHOLE, score);
    const even = this.distribution(view, EVEN, () => 1);
    const at = choose(explored ? even : scored, stats, draw);
    const names = Object.keys(parts);
    const alone = (name: string) => choose(this.distribution(view, `part ${name}`, parts[name]), stats, draw);
    return {
      row,
      task: stats[at].task,
      synthetic: stats[at].synthetic,
      explored,
      score: score(stats[at]),
      probability: exploration * even[at] + (1 - exploration) * scored[at],
      scores: Object.fromEntries(names.map((name) => [name, parts[name](stats[at])])),
      counterfactual: Object.fromEntries(names.map((name) => [name, stats[alone(name)].task])),
    };
  }

  /** The `count` tasks of highest score as a row sees them, ties by order of addition: seeds of new tasks. */
  best(row: number, count: number): readonly TaskStats[] {
    const stats = this.stats(row);
    const weights = weigh(stats, this.options.score, WHOLE);
    const order = stats.map((_, i) => i).sort((a, b) => weights[b] - weights[a] || a - b);
    return order.slice(0, count).map((i) => stats[i]);
  }

  /** What a row may know of each task that it may pick. */
  stats(row: number): readonly TaskStats[] {
    return this.viewOf(row).stats;
  }

  /** Rows that see the same are given the same view, with the distributions made from it so far. */
  private viewOf(row: number): View {
    const frontier = this.frontier(row);
    if (frontier > this.ledger.complete)
      throw reverieError('CURRICULUM_NOT_READY', { row, needed: frontier, complete: this.ledger.complete });
    const tasks = this.tasks.filter((task) => (task.fromRow ?? 0) <= this.anchor(row));
    if (tasks.length === 0) throw invalid(`there is no task that row ${row} may pick`);
    const progress = this.options.rows ? Math.min(1, this.anchor(row) / this.options.rows) : 0;
    const key = [frontier, tasks.length, this.tasks.length, progress].join(' ');
    if (this.view?.key !== key)
      this.view = { key, stats: this.statsOf(tasks, frontier, progress), distributions: new Map() };
    return this.view;
  }

  private statsOf(tasks: readonly CurriculumTask[], frontier: number, progress: number): TaskStats[] {
    const seen = tasks.map((task) => this.ledger.before(frontier, task.id));
    const losses = seen.map((outcomes) => mean(outcomes.losses));
    const sorted = losses.filter((loss) => loss !== undefined).sort((a, b) => a - b);
    const hardShare = tasks.filter((task) => task.hard).length / tasks.length;
    return tasks.map((task, i) => ({
      task: task.id,
      synthetic: task.synthetic,
      hard: task.hard ?? false,
      attempts: seen[i].attempts,
      rewards: seen[i].rewards,
      loss: losses[i],
      lossRank: rank(losses[i], sorted),
      progress,
      hardShare,
    }));
  }

  private anchor(row: number): number {
    const group = this.options.group ?? 1;
    return Math.floor(row / group) * group;
  }

  private frontier(row: number): number {
    return Math.max(0, this.anchor(row) - this.options.lag);
  }

  /** Probabilities in proportion to the weights, with at most the cap on synthetic tasks; uniform among a kind where all weigh 0. */
  private distribution({ stats, distributions }: View, name: string, score: CurriculumScore): Float64Array {
    const known = distributions.get(name);
    if (known !== undefined) return known;
    const weights = weigh(stats, score, name);
    const kinds = [false, true].map((synthetic) => {
      const mine = stats.flatMap((stat, i) => (stat.synthetic === synthetic ? [i] : []));
      return { mine, mass: mine.reduce((sum, i) => sum + weights[i], 0) };
    });
    const [original, synthetic] = kinds;
    const total = original.mass + synthetic.mass;
    const natural = total > 0 ? synthetic.mass / total : synthetic.mine.length / stats.length;
    const share = original.mine.length === 0 ? 1 : Math.min(this.options.syntheticCap, natural);
    const out = new Float64Array(stats.length);
    for (const { mine, mass } of kinds) {
      const whole = mine === synthetic.mine ? share : 1 - share;
      for (const i of mine) out[i] = whole * (mass > 0 ? weights[i] / mass : 1 / mine.length);
    }
    distributions.set(name, out);
    return out;
  }
}

function weigh(stats: readonly TaskStats[], score: CurriculumScore, name: string): Float64Array {
  return Float64Array.from(stats, (stat) => {
    const value = score(stat);
    if (!Number.isFinite(value)) throw invalid(`score "${name}" of task "${stat.task}" is ${value}`);
    return Math.max(0, value);
  });
}

/** Draws the kind first, then a task of it: the same numbers pick like kinds under different scores. */
function choose(probabilities: Float64Array, stats: readonly TaskStats[], draw: Draw): number {
  const possible = stats.map((_, i) => i).filter((i) => probabilities[i] > 0);
  const synthetic = possible.filter((i) => stats[i].synthetic);
  const original = possible.filter((i) => !stats[i].synthetic);
  const share = synthetic.reduce((sum, i) => sum + probabilities[i], 0);
  const isSynthetic = original.length === 0 || (synthetic.length > 0 && draw.synthetic < share);
  const kind = isSynthetic ? synthetic : original;
  let left = draw.within * kind.reduce((sum, i) => sum + probabilities[i], 0);
  for (const i of kind) {
    left -= probabilities[i];
    if (left < 0) return i;
  }
  return kind[kind.length - 1];
}

/** Share of the sorted values that are below, equal ones counted half. */
function rank(value: number | undefined, sorted: readonly number[]): number | undefined {
  if (value === undefined) return undefined;
  const below = countWhile(sorted, (other) => other < value);
  const upTo = countWhile(sorted, (other) => other <= value);
  return (below + upTo) / 2 / sorted.length;
}

/** How many of a sorted list hold, where those that hold come first. */
function countWhile(sorted: readonly number[], holds: (value: number) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(sorted[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

function mean(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function invalid(problem: string) {
  return reverieError('CURRICULUM_INVALID', { problem });
}
