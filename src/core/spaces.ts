// What an observation or an action may be. Field names follow gymnasium.spaces; a space is plain JSON.

/** Real vectors; bounds per element, `null` for unbounded. */
export interface BoxSpace {
  readonly type: 'box';
  readonly shape: readonly number[];
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

/** Integers start .. start + n - 1. In a vector environment a row holds the integer as its one element. */
export interface DiscreteSpace {
  readonly type: 'discrete';
  readonly n: number;
  readonly start: number;
}

export interface TextSpace {
  readonly type: 'text';
  readonly maxLength: number;
}

/** Typed tool calls and messages (family `tools`); `tools` are OpenAI-style function schemas. */
export interface ToolsSpace {
  readonly type: 'tools';
  readonly tools: readonly Record<string, unknown>[];
}

export type VectorSpace = BoxSpace | DiscreteSpace;
export type Space = VectorSpace | TextSpace | ToolsSpace;
