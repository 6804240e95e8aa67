// What a job will probably cost, before its first call: a middle, and how far it may lie off. Once rows are there, what
// they cost is a better guess than any assumption.

import { addCosts, type Cost, NO_COST } from '../../core/cost.js';

export interface Estimate {
  readonly calls: Range;
  readonly tokens: Range;
  readonly money: Range;
  /** `assumed`: from prompts and reference solutions; `measured`: from rows that are there. */
  readonly basis: 'assumed' | 'measured';
}

export interface Range {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** One who asks a language model, in a middle episode. */
export interface Asker {
  /** Calls an episode: middle, and the least and most it may be. */
  readonly calls: Range;
  /** Tokens of a prompt at the start, and by how much each later one is longer. */
  readonly promptTokens: number;
  readonly growthTokens: number;
  readonly replyTokens: number;
  /** Money for a million tokens. */
  readonly promptPrice: number;
  readonly replyPrice: number;
}

/** From assumptions about who asks how often: prompts grow with the conversation. */
export function assumedEstimate(episodes: number, askers: readonly Asker[]): Estimate {
  const at = (pick: (range: Range) => number): Cost =>
    askers.map((asker) => costOf(asker, pick(asker.calls))).reduce(addCosts, NO_COST);
  const [value, low, high] = [at((r) => r.value), at((r) => r.low), at((r) => r.high)];
  const range = (of: (cost: Cost) => number): Range => ({
    value: episodes * of(value),
    low: episodes * of(low),
    high: episodes * of(high),
  });
  return { ...ranges(range), basis: 'assumed' };
}

/** From rows that are there: their mean, and its 95 % interval by the normal approximation. Needs two rows or more. */
export function measuredEstimate(episodes: number, rows: readonly Cost[]): Estimate {
  const range = (of: (cost: Cost) => number): Range => {
    const values = rows.map(of);
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length - 1);
    const half = 1.96 * Math.sqrt(variance / values.length);
    return { value: episodes * mean, low: episodes * Math.max(0, mean - half), high: episodes * (mean + half) };
  };
  return { ...ranges(range), basis: 'measured' };
}

function ranges(range: (of: (cost: Cost) => number) => Range) {
  return {
    calls: range(({ calls }) => calls),
    tokens: range(({ promptTokens, completionTokens }) => promptTokens + completionTokens),
    money: range(({ money }) => money),
  };
}

function costOf({ promptTokens, growthTokens, replyTokens, promptPrice, replyPrice }: Asker, calls: number): Cost {
  const prompts = calls * promptTokens + (growthTokens * calls * Math.max(0, calls - 1)) / 2;
  const replies = calls * replyTokens;
  const money = (prompts * promptPrice + replies * replyPrice) / 1e6;
  return { calls, promptTokens: prompts, cachedTokens: 0, completionTokens: replies, money };
}
