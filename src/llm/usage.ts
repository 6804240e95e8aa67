// What a call cost, from what the server says it used: believed where it can be true, else estimated from the text.

import type { Cost } from '../core/cost.js';
import type { Prices } from './config.js';

/** Tokens of a text, roughly: a token for four bytes of UTF-8, as for English prose. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** Token counts as servers report them; nothing in it is believed. */
export interface ReportedUsage {
  readonly promptTokens: unknown;
  readonly cachedTokens: unknown;
  readonly completionTokens: unknown;
  /** Tokens of thoughts that are not shown. */
  readonly reasoningTokens: unknown;
}

export interface UsageTexts {
  /** Characters of messages, tools and schema. */
  readonly promptLength: number;
  /** Characters of text, thoughts and calls of the reply. */
  readonly replyLength: number;
}

export interface CountedUsage {
  readonly usage: Cost;
  /** Whether a count was missing or could not be true. */
  readonly estimated: boolean;
}

/** A character is at most four tokens (one a byte of UTF-8); what templates add is short. */
const TOKENS_PER_CHARACTER = 4;
const TEMPLATE_TOKENS = 4096;
const MAX_HIDDEN_TOKENS = 1_000_000;

export function countUsage(
  reported: ReportedUsage,
  { promptLength, replyLength }: UsageTexts,
  prices: Prices,
): CountedUsage {
  const promptBound = promptLength * TOKENS_PER_CHARACTER + TEMPLATE_TOKENS;
  const hidden = believed(reported.reasoningTokens, 0, MAX_HIDDEN_TOKENS) ?? 0;
  const replyBound = replyLength * TOKENS_PER_CHARACTER + TEMPLATE_TOKENS + hidden;
  const prompt = believed(reported.promptTokens, Math.min(promptLength, 1), promptBound);
  const completion = believed(reported.completionTokens, Math.min(replyLength, 1), replyBound);
  const promptTokens = prompt ?? Math.ceil(promptLength / 4);
  const completionTokens = completion ?? Math.ceil(replyLength / 4) + hidden;
  const cachedTokens = believed(reported.cachedTokens, 0, promptTokens) ?? 0;
  const money = moneyOf({ promptTokens, cachedTokens, completionTokens }, prices);
  return {
    usage: { calls: 1, promptTokens, cachedTokens, completionTokens, money },
    estimated: prompt === undefined || completion === undefined,
  };
}

export function moneyOf(
  tokens: Pick<Cost, 'promptTokens' | 'cachedTokens' | 'completionTokens'>,
  prices: Prices,
): number {
  const { promptTokens, cachedTokens, completionTokens } = tokens;
  const cachedPrice = prices.cachedPrompt ?? prices.prompt;
  const fresh = (promptTokens - cachedTokens) * prices.prompt;
  return (fresh + cachedTokens * cachedPrice + completionTokens * prices.completion) / 1e6;
}

function believed(value: unknown, low: number, high: number): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= low && (value as number) <= high
    ? (value as number)
    : undefined;
}
