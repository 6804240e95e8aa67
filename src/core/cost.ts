// What an answer cost. Sums of these are what budgets count and progress shows.

export interface Cost {
  /** Calls of a language model. */
  readonly calls: number;
  readonly promptTokens: number;
  /** Part of `promptTokens` that the server had in its prefix cache. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** In the currency of the configured prices; 0 where none are configured. */
  readonly money: number;
}

export const NO_COST: Cost = { calls: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, money: 0 };

export function addCosts(a: Cost, b: Cost): Cost {
  return costOf((part) => a[part] + b[part]);
}

export function subtractCosts(a: Cost, b: Cost): Cost {
  return costOf((part) => a[part] - b[part]);
}

function costOf(of: (part: keyof Cost) => number): Cost {
  return {
    calls: of('calls'),
    promptTokens: of('promptTokens'),
    cachedTokens: of('cachedTokens'),
    completionTokens: of('completionTokens'),
    money: of('money'),
  };
}
