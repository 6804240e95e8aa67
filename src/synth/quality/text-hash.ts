// Texts as sets of numbers: words, and hashes of runs of n words. Comparing texts is comparing such sets.

/** Words in lower case: runs of letters and digits, whatever stands between them. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** 32 bits of a text: FNV-1a and the finaliser of MurmurHash3. */
export function hash32(text: string, seed = 0): number {
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
