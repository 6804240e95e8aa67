// What became of each row, kept by row number: however outcomes arrive, what a row may see is the same.

import { reverieError } from '../../core/errors.js';

/** What became of one episode. */
export interface RowOutcome {
  readonly task: string;
  /** Return of the episode; null where it was not judged or not finished. */
  readonly reward: number | null;
  /** Mean teacher-forcing loss of a student on the episode, where one was measured. */
  readonly loss?: number;
}

/** What was seen of one task. */
export interface TaskOutcomes {
  readonly attempts: number;
  /** Latest judged rewards, oldest first. */
  readonly rewards: readonly number[];
  /** Latest losses, oldest first. */
  readonly losses: readonly number[];
}

const NOTHING: TaskOutcomes = { attempts: 0, rewards: [], losses: [] };

export class OutcomeLedger {
  private readonly outcomes: (RowOutcome | undefined)[] = [];
  private contiguous = 0;
  private folded = 0;
  private byTask = new Map<string, TaskOutcomes>();

  /** @param window how many of the latest rewards and losses of a task count */
  constructor(private readonly window: number) {}

  /** Rows 0 to `complete` - 1 are all in. */
  get complete(): number {
    return this.contiguous;
  }

  /** @throws CURRICULUM_INVALID if the row is none, or had another outcome before */
  add(row: number, outcome: RowOutcome): void {
    if (!Number.isSafeInteger(row) || row < 0) throw invalid(`row ${row} is no row number`);
    if (outcome.reward !== null && !Number.isFinite(outcome.reward))
      throw invalid(`row ${row} has reward ${outcome.reward}`);
    const before = this.outcomes[row];
    if (before !== undefined && !sameOutcome(before, outcome)) throw invalid(`row ${row} was given two outcomes`);
    this.outcomes[row] = outcome;
    while (this.outcomes[this.contiguous] !== undefined) this.contiguous++;
  }

  /** What rows below `frontier` (at most `complete`) say of a task. */
  before(frontier: number, task: string): TaskOutcomes {
    if (frontier < this.folded) {
      this.folded = 0;
      this.byTask = new Map();
    }
    for (; this.folded < frontier; this.folded++) this.fold(this.outcomes[this.folded]!);
    return this.byTask.get(task) ?? NOTHING;
  }

  private fold({ task, reward, loss }: RowOutcome): void {
    const { attempts, rewards, losses } = this.byTask.get(task) ?? NOTHING;
    this.byTask.set(task, {
      attempts: attempts + 1,
      rewards: reward === null ? rewards : [...rewards, reward].slice(-this.window),
      losses: loss === undefined ? losses : [...losses, loss].slice(-this.window),
    });
  }
}

function sameOutcome(a: RowOutcome, b: RowOutcome): boolean {
  return a.task === b.task && a.reward === b.reward && a.loss === b.loss;
}

function invalid(problem: string) {
  return reverieError('CURRICULUM_INVALID', { problem });
}
