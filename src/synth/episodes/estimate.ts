// What a job will probably cost, before its first call: a middle, and how far it may lie off.

import { addCosts, type Cost, NO_COST } from '../../core/cost.js';

export interface Estimate {
  readonly calls: Range;
  readonly tokens: Range;
  readonly money: Range;
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
