// The lines of a policy that speak of a call: those that share its rarest words.

import type { CallSpec, ToolSpec } from '../../env/index.js';
import { wordsOf } from '../tools/tokens.js';

/** Shorter words tell nothing of what a line is about. */
const LEAST_LETTERS = 4;

export interface ShortPolicy {
  readonly text: string;
  /** Lines left out. */
  readonly omitted: number;
}

/**
 * Lines within `bytes`, in their order. Which ones: by the sum over the words they share with the call, its tool and what
 * that says of itself, of log(lines / lines with the word); of equal ones the earlier.
 */
export function shortPolicy(policy: string, call: CallSpec, tool: ToolSpec | undefined, bytes: number): ShortPolicy {
  const lines = policy.split('\n').filter((line) => line.trim() !== '');
  const words = lines.map(termsOf);
  const asked = termsOf([JSON.stringify(call), tool?.description ?? ''].join(' '));
  const scores = words.map((own) =>
    [...own].filter((word) => asked.has(word)).reduce((sum, word) => sum + idf(word), 0),
  );
  const best = lines.map((_, i) => i).sort((a, b) => scores[b] - scores[a] || a - b);
  const kept = new Set<number>();
  let left = bytes;
  for (const i of best) {
    const size = Buffer.byteLength(lines[i]) + 1;
    if (size > left) continue;
    left -= size;
    kept.add(i);
  }
  return { text: lines.filter((_, i) => kept.has(i)).join('\n'), omitted: lines.length - kept.size };

  function idf(word: string): number {
    return Math.log(lines.length / words.filter((own) => own.has(word)).length);
  }
}

function termsOf(text: string): Set<string> {
  const parts = wordsOf(text).flatMap((word) => word.toLowerCase().split(/[_.-]/));
  return new Set(parts.filter((word) => word.length >= LEAST_LETTERS));
}
