// What a job's rows have come to so far: for its progress while it runs, and for its result.

import { addCosts, type Cost, NO_COST } from '../../../core/cost.js';
import type { Fact } from '../../../core/report.js';
import { type Rate, rateOf } from '../../../core/statistics.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { type FailedRow, isFailed } from '../../../synth/episodes/produce-rows.js';
import { formatCount, formatCounts, formatNumber, formatPercent, formatShare } from '../../format.js';

export class RowStatistics {
  episodes = 0;
  steps = 0;
  judged = 0;
  succeeded = 0;
  cost: Cost = NO_COST;
  /** Rows that became no episode, by error code. */
  readonly failed: Record<string, number> = {};
  /** Why the first row of each of these codes failed. */
  readonly failedFor: Record<string, string> = {};
  /** Calls by the backend that answered them. */
  readonly answeredBy: Record<string, number> = {};
  /** Answers that were refused, so that the agent was shown an error of the environment; by backend. */
  readonly refusedOf: Record<string, number> = {};
  /** Answers that stand after they were sent back once; by backend. */
  readonly repairedOf: Record<string, number> = {};
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
    if (row.return !== null) {
      this.judged++;
      if (row.return > 0.5) this.succeeded++;
      this.returnsByTask.set(row.task, [...(this.returnsByTask.get(row.task) ?? []), row.return]);
    }
    for (const { backend, refused = [], repaired } of row.steps.flatMap(({ predictions }) => predictions)) {
      count(this.answeredBy, backend);
      if (refused.length > 0) count(this.refusedOf, backend);
      if (repaired) count(this.repairedOf, backend);
    }
  }

  /** Share of judged episodes that succeeded; null if none was judged. */
  get success(): Rate | null {
    return this.judged === 0 ? null : rateOf(this.succeeded, this.judged);
  }

  /** For the result of a job. */
  get counts() {
    const { episodes, steps, success, failed, failedFor, cost } = this;
    const abstained = episodes - this.judged;
    return {
      episodes,
      steps,
      success,
      abstained,
      failed,
      ...(Object.keys(failedFor).length > 0 && { failedFor }),
      cost,
    };
  }

  /** `83 % succeeded · 1.2 M tokens · cost 4.1` */
  get note(): string {
    const { calls, promptTokens, completionTokens, money } = this.cost;
    const parts = this.judged === 0 ? [] : [`${formatPercent(this.succeeded / this.judged)} succeeded`];
    if (calls > 0) parts.push(`${formatCount(calls)} calls, ${formatCount(promptTokens + completionTokens)} tokens`);
    if (money > 0) parts.push(`cost ${formatNumber(money)}`);
    const lost = Object.values(this.failed).reduce((a, b) => a + b, 0);
    if (lost > 0) parts.push(`${lost} failed`);
    return parts.join(' · ');
  }
}

type Counted = Pick<
  RowStatistics['counts'],
  'episodes' | 'steps' | 'success' | 'abstained' | 'failed' | 'failedFor' | 'cost'
>;

/** What is shown of the episodes of any job. */
export function episodeFacts(counts: Counted, spent: Cost, stoppedBy: string | null): Fact[] {
  const { episodes, steps, success, abstained, failed, failedFor = {}, cost } = counts;
  const tokens = formatCount(cost.promptTokens + cost.completionTokens);
  const money = cost.money > 0 ? `, cost ${formatNumber(cost.money)}` : '';
  const now = spent.calls === cost.calls ? '' : ` (${formatCount(spent.calls)} asked in this run)`;
  return [
    ['episodes', `${formatCount(episodes)}, ${formatCount(steps)} turns of the agent`],
    ['success', success === null ? 'no episode was judged' : formatShare(success)],
    ...(abstained > 0 ? [['not judged', formatCount(abstained)] as const] : []),
    ...(Object.keys(failed).length > 0 ? [['failed', formatCounts(failed)] as const] : []),
    ...Object.entries(failedFor).map(([code, message]): Fact => [`  ${code}`, message]),
    ...(cost.calls > 0 ? [['model calls', `${formatCount(cost.calls)}, ${tokens} tokens${money}${now}`] as const] : []),
    ...(stoppedBy === null ? [] : [['stopped by', `the budget of ${stoppedBy}`] as const]),
  ];
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}
