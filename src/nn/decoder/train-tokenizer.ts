// Learning a byte-pair tokenizer: the pair of neighbouring tokens that is most frequent in the texts becomes a token, again and
// again. Ties go to the pair of smaller ids, so the same texts give the same tokenizer in whatever order they come.

import { reverieError } from '../../core/errors.js';
import { BYTE_CHARACTERS } from './byte-alphabet.js';
import { pairKey, piecesOf, SPECIAL_TOKENS, Tokenizer } from './tokenizer.js';

const utf8 = new TextEncoder();

export interface TokenizerTraining {
  /** Most tokens of all: special ones, 256 bytes, and what was merged. Fewer if nothing more occurs twice. */
  readonly size: number;
  /** Special tokens beside `<|pad|>`, `<|begin|>` and `<|end|>`, e.g. those that part the sections of a prompt. */
  readonly specials?: readonly string[];
}

/** A piece that occurs `count` times, as ids. */
interface Word {
  ids: number[];
  readonly count: number;
}

/** Pairs of less frequent neighbours are not worth a token. */
const LEAST_COUNT = 2;

/**
 * The tokenizer of texts; special tokens have the first ids, then come the 256 bytes, then merges in the order learnt.
 * @throws DATA_MISMATCH for a size below that of special tokens and bytes, or special tokens named twice or empty
 */
export function trainTokenizer(texts: Iterable<string>, { size, specials = [] }: TokenizerTraining): Tokenizer {
  const special = [SPECIAL_TOKENS.pad, SPECIAL_TOKENS.begin, SPECIAL_TOKENS.end, ...specials];
  requireUsable(size, special);
  const tokens: string[] = [...special, ...BYTE_CHARACTERS];
  const words = wordsOf(texts, special.length);
  const pairs = new PairCounts(words);
  const merges: [number, number][] = [];
  const known = new Set(tokens);
  while (tokens.length < size) {
    const best = pairs.mostFrequent();
    if (best === undefined) break;
    const merged = tokens[best[0]] + tokens[best[1]];
    // Two ways to the same text would be two ids of one token.
    if (known.has(merged)) {
      pairs.ignore(best);
      continue;
    }
    known.add(merged);
    merges.push(best);
    pairs.merge(best, tokens.length);
    tokens.push(merged);
  }
  return new Tokenizer({ tokens, merges, specials: [...special.keys()], special: { pad: 0, begin: 1, end: 2 } });
}

function requireUsable(size: number, special: readonly string[]): void {
  const least = special.length + BYTE_CHARACTERS.length;
  const hint = `Give a size of at least ${least} and special tokens that differ.`;
  if (!Number.isInteger(size) || size < least) {
    throw reverieError('DATA_MISMATCH', { problem: `The decoder was given ${`a tokenizer's size of ${size}`}.`, hint });
  }
  const twice = special.find((token, i) => token === '' || special.indexOf(token) !== i);
  if (twice === undefined) return;
  throw reverieError('DATA_MISMATCH', {
    problem: `The decoder was given ${`the special token "${twice}" twice or empty`}.`,
    hint,
  });
}

/** The different pieces of all texts, sorted, so that the order of texts does not count. */
function wordsOf(texts: Iterable<string>, firstByte: number): Word[] {
  const counts = new Map<string, number>();
  for (const text of texts) for (const piece of piecesOf(text)) counts.set(piece, (counts.get(piece) ?? 0) + 1);
  const byPiece = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  return byPiece.map(([piece, count]) => ({ ids: Array.from(utf8.encode(piece), (byte) => firstByte + byte), count }));
}

type Pair = [left: number, right: number];

/** How often each pair of neighbours occurs, and in which words, kept as pairs are merged. */
class PairCounts {
  private readonly counts = new Map<number, { readonly pair: Pair; count: number; readonly words: Set<Word> }>();
  private readonly ignored = new Set<number>();

  constructor(words: readonly Word[]) {
    for (const word of words) this.count(word, 1);
  }

  mostFrequent(): Pair | undefined {
    let best: { readonly key: number; readonly count: number; readonly pair: Pair } | undefined;
    for (const [key, { count, pair }] of this.counts) {
      if (count < LEAST_COUNT || this.ignored.has(key)) continue;
      if (best === undefined || count > best.count || (count === best.count && key < best.key))
        best = { key, count, pair };
    }
    return best?.pair;
  }

  ignore([left, right]: Pair): void {
    this.ignored.add(pairKey(left, right));
  }

  /** Puts `id` in the place of each occurrence of a pair. */
  merge([left, right]: Pair, id: number): void {
    for (const word of [...this.counts.get(pairKey(left, right))!.words]) {
      this.count(word, -1);
      const ids: number[] = [];
      for (let i = 0; i < word.ids.length; i++) {
        const isPair = word.ids[i] === left && word.ids[i + 1] === right;
        ids.push(isPair ? id : word.ids[i]);
        if (isPair) i++;
      }
      word.ids = ids;
      this.count(word, 1);
    }
  }

  /** Adds a word's pairs, or takes them off. */
  private count(word: Word, sign: 1 | -1): void {
    for (let i = 0; i + 1 < word.ids.length; i++) {
      const pair: Pair = [word.ids[i], word.ids[i + 1]];
      const key = pairKey(...pair);
      const entry = this.counts.get(key) ?? { pair, count: 0, words: new Set() };
      entry.count += sign * word.count;
      if (sign > 0) entry.words.add(word);
      else entry.words.delete(word);
      if (entry.count > 0) this.counts.set(key, entry);
      else this.counts.delete(key);
    }
  }
}
