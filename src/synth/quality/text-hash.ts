// Texts as sets of numbers: words, and hashes of runs of n words. Comparing texts is comparing such sets.

import { canonicalJson } from '../../core/canonical-json.js';
import { callsOf, type Message } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';

/** Words in lower case: runs of letters and digits, whatever stands between them. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** 32 bits of a text: FNV-1a and the finaliser of MurmurHash3. */
function hash32(text: string, seed = 0): number {
  let h = 0x811c9dc5 ^ seed;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return mix32(h);
}

/** Spreads 32 bits over 32 bits: one to one. */
export function mix32(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** 53 bits as 32. */
export function folded(hash: number): number {
  return mix32(hash ^ Math.floor(hash / 2 ** 32));
}

/** 53 bits of a text, as an integer: few enough collisions to count millions of different ones. */
export function hash53(text: string): number {
  return joined(hash32(text), hash32(text, 0x5bd1e995));
}

/** Hashes (53 bits) of all runs of `n` words, in order; a text shorter than `n` words has one. */
export function gramHashes(words: readonly string[], n: number): number[] {
  if (words.length === 0) return [];
  const low = words.map((word) => hash32(word));
  const high = words.map((word) => hash32(word, 0x5bd1e995));
  const runs = Math.max(1, words.length - n + 1);
  const length = Math.min(n, words.length);
  return Array.from({ length: runs }, (_, from) => {
    let a = 0;
    let b = 0;
    for (let i = from; i < from + length; i++) {
      a = mix32(Math.imul(a, 31) + low[i]);
      b = mix32(Math.imul(b, 33) + high[i]);
    }
    return joined(a, b);
  });
}

function joined(low: number, high: number): number {
  return (high & 0x1fffff) * 2 ** 32 + low;
}

/** The `k` smallest different values, ascending. */
export function bottomK(values: Iterable<number>, k: number): Float64Array {
  return Float64Array.from(new Set(values)).sort().slice(0, k);
}

/** Share of the union of two sets that is in both (Jaccard), from their bottom-k sketches. */
export function jaccard(a: Float64Array, b: Float64Array, k: number): number {
  let both = 0;
  let seen = 0;
  for (let i = 0, j = 0; seen < k && (i < a.length || j < b.length); seen++) {
    if (j >= b.length || a[i] < b[j]) i++;
    else if (i >= a.length || b[j] < a[i]) j++;
    else {
      both++;
      i++;
      j++;
    }
  }
  return seen === 0 ? 1 : both / seen;
}

/** Counts different numbers, exactly up to `limit`, then within a per cent or so. */
export class DistinctCounter {
  private kept = new Set<number>();
  /** Hashes at or above it are no longer kept. */
  private bound = 1;

  constructor(private readonly limit = 65_536) {}

  add(hash: number): void {
    if (folded(hash) / 2 ** 32 >= this.bound) return;
    this.kept.add(hash);
    if (this.kept.size > 2 * this.limit) this.halve();
  }

  get count(): number {
    return Math.round(this.kept.size / this.bound);
  }

  private halve(): void {
    this.bound /= 2;
    this.kept = new Set([...this.kept].filter((hash) => folded(hash) / 2 ** 32 < this.bound));
  }
}

/** User's and agent's text, and the agent's calls with their arguments, in order. */
export function spokenText(record: EpisodeRecord): string {
  const partOf = (message: Message): string => {
    if (message.role === 'user') return message.content;
    if (message.role !== 'assistant') return '';
    const calls = callsOf(message).map((call) => `${call.name} ${canonicalJson(call.arguments)}`);
    return [message.content ?? '', ...calls].join('\n');
  };
  return record.messages.map(partOf).join('\n');
}
