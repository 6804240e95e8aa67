// How far what was said is from what should have been said, in words.

import { comparableObservation } from '../../worldmodel/index.js';

const TOKEN = /[\p{L}\p{N}]+(?:[_.:-][\p{L}\p{N}]+)*|[^\s\p{L}\p{N}]/gu;
/** Edit distance takes the product of both lengths: what is longer, ends that agree left out, is compared as bags of words. */
const MAX_EDITED = 600;

/**
 * Word-level edit distance (Levenshtein) over the longer one's words, in [0, 1]; JSON in canonical form, so that the order
 * of keys does not count. Of texts that differ in more than 600 words the order of those words does not count either.
 */
export function observationDistance(real: string, dreamt: string): number {
  const [a, b] = [tokensOf(real), tokensOf(dreamt)];
  const longer = Math.max(a.length, b.length);
  if (longer === 0) return 0;
  let [from, ends] = [0, 0];
  const shorter = Math.min(a.length, b.length);
  while (from < shorter && a[from] === b[from]) from++;
  while (ends < shorter - from && a[a.length - 1 - ends] === b[b.length - 1 - ends]) ends++;
  const [restA, restB] = [a.slice(from, a.length - ends), b.slice(from, b.length - ends)];
  const isLong = Math.max(restA.length, restB.length) > MAX_EDITED;
  return (isLong ? bagDistance(restA, restB) : editDistance(restA, restB)) / longer;
}

export function tokensOf(observation: string): string[] {
  return comparableObservation(observation).match(TOKEN) ?? [];
}

function editDistance(a: readonly string[], b: readonly string[]): number {
  let above = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = above[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, above[j] + 1, row[j - 1] + 1));
    }
    above = row;
  }
  return above[b.length];
}

/** Words of the longer one that the other lacks: never more than the edit distance. */
function bagDistance(a: readonly string[], b: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const word of a) counts.set(word, (counts.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of b) {
    const left = counts.get(word) ?? 0;
    if (left > 0) common++;
    counts.set(word, left - 1);
  }
  return Math.max(a.length, b.length) - common;
}
