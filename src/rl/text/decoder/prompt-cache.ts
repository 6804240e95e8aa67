// Keys and values of prompts that were read, for those that begin with them: the next step of an episode, and other episodes of its
// group. What is not remembered is computed again, to the same bytes.

import type { Prompt } from './transcript.js';

/** Bytes of keys and values that are kept; the least lately used go first. */
const MOST_BYTES = 96 << 20;

export class PromptCache {
  private readonly kept = new Map<string, Float32Array>();
  private bytes = 0;

  /** @param tokenSize values of one token */
  constructor(private readonly tokenSize: number) {}

  /** Keys and values of the longest known beginning, which leaves at least one token to be read; empty if none is known. */
  beginning({ tokens, ends }: Prompt): Float32Array {
    for (const end of [...ends].reverse()) {
      const key = keyOf(tokens, end);
      const known = this.kept.get(key);
      if (known === undefined) continue;
      this.kept.delete(key);
      this.kept.set(key, known);
      return known.subarray(0, Math.min(end, tokens.length - 1) * this.tokenSize);
    }
    return new Float32Array(0);
  }

  /** @param past of all tokens of the prompt */
  keep({ tokens }: Prompt, past: Float32Array): void {
    const key = keyOf(tokens, tokens.length);
    if (this.kept.has(key)) return;
    this.kept.set(key, past);
    this.bytes += past.byteLength;
    for (const [oldest, { byteLength }] of this.kept) {
      if (this.bytes <= MOST_BYTES || oldest === key) break;
      this.kept.delete(oldest);
      this.bytes -= byteLength;
    }
  }
}

function keyOf(tokens: readonly number[], end: number): string {
  return tokens.slice(0, end).join();
}
