// What a job's rows have come to so far: for its progress while it runs, and for its result.

import { addCosts, type Cost, NO_COST } from '../../../core/cost.js';
import type { Prediction } from '../../../env/tools/prediction.js';
import type { WalkNote } from '../../../env/tools/tools-family.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { type FailedRow, isFailed } from '../../../synth/episodes/produce-rows.js';
import { wilson } from '../../../worldmodel/tools/shadow.js';
import { formatCount, formatNumber } from '../../format.js';
import type { Rate } from '../../tools-results.js';

export class RowStatistics {
  episodes = 0;
  steps = 0;
  judged = 0;
  succeeded = 0;
  abstained = 0;
  cost: Cost = NO_COST;
  readonly failed: Record<string, number> = {};
  /** Why the first row of each of these codes failed. */
  readonly failedFor: Record<string, string> = {};
  readonly answeredBy: Record<string, number> = {};
  /** Answers that were refused, so that the agent was shown an error of the environment; by backend. */
  readonly refusedOf: Record<string, number> = {};
  /** Answers that stand after they were sent back once; by backend. */
  readonly repairedOf: Record<string, number> = {};
  /** Walks by what became of them: ended by themselves or cut off, made into tasks. */
  readonly walks: Record<string, number> = {};
  /** Failed episodes by what was done in the step that lost them. */
  readonly lostBy: Record<string, number> = {};
  readonly returnsByTask = new Map<string, number[]>();

  add(row: EpisodeRecord | FailedRow): void {
    if (isFailed(row)) {
      const { code, message } = row.failed;
      count(this.failed, code);
      this.failedFor[code] ??= message;
      return;
    }
    this.episodes++;
    this.cost = addCosts(this.cost, row.cost);
    this.steps += row.steps.length;
    if (row.return === null) this.abstained++;
    else this.judge(row, row.return);
    if (row.walk !== undefined) this.walk(row.walk);
    if (row.lostStep !== undefined) count(this.lostBy, stepName(row, row.lostStep));
    for (const { predictions } of row.steps) for (const prediction of predictions) this.answer(prediction);
  }

  /** Share of judged episodes that succeeded; null if none was judged. */
  get success(): Rate | null {
    return this.judged === 0 ? null : { ...wilson(this.succeeded, this.judged), of: this.judged };
  }

  /** `83 % succeeded · 1.2 M tokens · cost 4.1` */
  get note(): string {
    const { calls, promptTokens, completionTokens, money } = this.cost;
    const parts = this.judged === 0 ? [] : [`${Math.round((100 * this.succeeded) / this.judged)} % succeeded`];
    if (calls > 0) parts.push(`${formatCount(calls)} calls, ${formatCount(promptTokens + completionTokens)} tokens`);
    if (money > 0) parts.push(`cost ${formatNumber(money)}`);
    const lost = Object.values(this.failed).reduce((a, b) => a + b, 0);
    if (lost > 0) parts.push(`${lost} failed`);
    return parts.join(' · ');
  }

  private answer({ backend, refused, repaired }: Prediction): void {
    count(this.answeredBy, backend);
    if (refused !== undefined && refused.length > 0) count(this.refusedOf, backend);
    if (repaired) count(this.repairedOf, backend);
  }

  private walk({ ended, subgoals, wrapped }: WalkNote): void {
    if (subgoals.length > 0) count(this.walks, ended ?? 'cut off');
    if (wrapped !== undefined) count(this.walks, 'made into tasks');
  }

  private judge({ task }: EpisodeRecord, reward: number): void {
    this.judged++;
    if (reward > 0.5) this.succeeded++;
    push(this.returnsByTask, task, reward);
  }
}

/** The tools it calls; what else it may be. */
function stepName({ steps }: EpisodeRecord, step: number): string {
  if (step >= steps.length) return 'cut off too early';
  const names = (steps[step].action.toolCalls ?? []).map(({ name }) => name);
  return names.length === 0 ? 'something said' : names.join(', ');
}

function push(returns: Map<string, number[]>, key: string, reward: number): void {
  const known = returns.get(key);
  if (known === undefined) returns.set(key, [reward]);
  else known.push(reward);
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}
