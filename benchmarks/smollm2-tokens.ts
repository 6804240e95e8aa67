// Counts tokens as SmolLM2 does: vocabulary and merges of its GGUF file, byte-level byte-pair encoding, digits one by one.

import { execFileSync } from 'node:child_process';
import { openSync, readSync } from 'node:fs';
import { join } from 'node:path';

/** Metadata stand at the start of the file; those of the vocabulary take less than this. */
const HEAD_BYTES = 16 << 20;
const SIZES: Readonly<Record<number, number>> = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };
const STRING = 8;
const ARRAY = 9;

/** @returns number of tokens of a text */
export function smollm2Counter(root: string): (text: string) => number {
  const path =
    process.env.REVERIE_GGUF ??
    execFileSync(process.execPath, [join(root, 'scripts/small-model.mjs')], { encoding: 'utf8' }).trim();
  const { merges } = metadata(path);
  const ranks = new Map(merges.map((merge, rank) => [merge, rank]));
  const known = new Map<string, number>();
  return (text) => {
    let count = 0;
    for (const [word] of text.matchAll(/\p{N}|'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu)) {
      const tokens = known.get(word) ?? encodedLength(word, ranks);
      known.set(word, tokens);
      count += tokens;
    }
    return count;
  };
}

function encodedLength(word: string, ranks: ReadonlyMap<string, number>): number {
  const parts = [...Buffer.from(word)].map((byte) => BYTES[byte]);
  while (parts.length > 1) {
    let best = -1;
    let rank = Number.POSITIVE_INFINITY;
    for (let i = 0; i + 1 < parts.length; i++) {
      const of = ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Number.POSITIVE_INFINITY;
      if (of < rank) [best, rank] = [i, of];
    }
    if (best < 0) break;
    parts.splice(best, 2, parts[best] + parts[best + 1]);
  }
  return parts.length;
}

/** GPT-2's letters for bytes: those that can be printed stand for themselves. */
const BYTES: readonly string[] = (() => {
  const isPlain = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPlain(byte) ? byte : next++));
})();

function metadata(path: string): { merges: readonly string[] } {
  const bytes = Buffer.alloc(HEAD_BYTES);
  readSync(openSync(path, 'r'), bytes, 0, HEAD_BYTES, 0);
  let at = 16;
  const number = (size: number) => {
    const value = size === 8 ? Number(bytes.readBigUInt64LE(at)) : bytes.readUIntLE(at, Math.min(size, 4));
    at += size;
    return value;
  };
  const string = () => {
    const length = number(8);
    at += length;
    return bytes.toString('utf8', at - length, at);
  };
  const value = (type: number): unknown => {
    if (type === STRING) return string();
    if (type !== ARRAY) return number(SIZES[type]);
    const of = number(4);
    return Array.from({ length: number(8) }, () => value(of));
  };
  for (let left = number(8); left > 0; left--) {
    const key = string();
    const read = value(number(4));
    if (key === 'tokenizer.ggml.merges') return { merges: read as string[] };
  }
  throw new Error(`${path} has no merges of a tokenizer`);
}
