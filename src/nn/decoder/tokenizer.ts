// A byte-level byte-pair tokenizer (Sennrich et al. 2016; Radford et al. 2019): text is cut into words and the like, a piece is
// its UTF-8 bytes, and pairs are merged in the order in which they were learnt: the pair of neighbours that is most frequent in the
// texts becomes a token, again and again. Own code, as libraries for Node that encode cannot train.

import { z } from 'zod';
import { reverieError } from '../../core/errors.js';

/** How GPT-2 cuts text. */
const PIECES =
  /'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

/** The pieces of a text, in order; put together they are the text. */
function piecesOf(text: string): string[] {
  return text.match(PIECES) ?? [];
}

const utf8 = new TextEncoder();

/** Pieces whose tokens are remembered; texts of one world have few. */
const MAX_REMEMBERED = 1 << 16;

/** One number for a pair of ids. */
const pairKey = (left: number, right: number): number => left * 2 ** 24 + right;

/** The special tokens that every tokenizer has, with the first ids. */
const ROLES = ['<|pad|>', '<|begin|>', '<|end|>'];
const BYTES = 256;

const fileSchema = z.strictObject({
  specials: z.array(z.string().min(1)),
  merges: z.array(z.tuple([z.int().min(0), z.int().min(0)])),
});

/** Ids: special tokens, then the 256 bytes, then what was merged. No text is encoded to a special token. */
export class Tokenizer {
  readonly special = { pad: 0, begin: 1, end: 2 } as const;
  /** Bytes of each token that is not special, by id; empty for special ones. */
  private readonly bytes: number[][];
  /** Of a pair: its place among the merges and the id of what it becomes. */
  private readonly merged = new Map<number, { rank: number; id: number }>();
  private readonly remembered = new Map<string, readonly number[]>();

  /** @param specials those of every tokenizer first @param merges pairs of ids, in the order in which they were learnt */
  constructor(
    readonly specials: readonly string[],
    readonly merges: readonly (readonly [left: number, right: number])[],
  ) {
    this.bytes = [...specials.map((): number[] => []), ...Array.from({ length: BYTES }, (_, byte) => [byte])];
    merges.forEach(([left, right], rank) => {
      this.merged.set(pairKey(left, right), { rank, id: this.bytes.length });
      this.bytes.push([...this.bytes[left], ...this.bytes[right]]);
    });
  }

  /** Number of tokens. */
  get size(): number {
    return this.bytes.length;
  }

  /** The id of a special token. */
  idOf(special: string): number | undefined {
    const id = this.specials.indexOf(special);
    return id < 0 ? undefined : id;
  }

  /** The ids of a text; text is never more than text, so what somebody wrote cannot end a document. A half surrogate pair becomes U+FFFD. */
  encode(text: string): number[] {
    return piecesOf(text).flatMap((piece) => this.encodePiece(piece));
  }

  /** The text of ids without special tokens. Bytes that are no UTF-8 become U+FFFD. */
  decode(ids: readonly number[]): string {
    const bytes = ids.flatMap((id) => this.bytes[id]);
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes));
  }

  toJson(): string {
    return JSON.stringify({ specials: this.specials, merges: this.merges });
  }

  /** From `toJson`. @param origin where it came from, for messages @throws MODEL_FILE_INVALID if it is damaged */
  static fromJson(text: string, origin: string): Tokenizer {
    try {
      const { specials, merges } = fileSchema.parse(JSON.parse(text));
      if (ROLES.some((role, id) => specials[id] !== role)) throw new Error(`it lacks one of ${ROLES.join(', ')}`);
      const first = specials.length + BYTES;
      const wrong = merges.findIndex((pair, i) => pair.some((id) => id < specials.length || id >= first + i));
      if (wrong >= 0) throw new Error(`merge ${wrong} is of tokens that there are not yet`);
      return new Tokenizer(specials, merges);
    } catch (error) {
      const problem = `Tokenizer of "${origin}" cannot be used: ${(error as Error).message}.`;
      throw reverieError('MODEL_FILE_INVALID', { problem, hint: 'Fit the model again.' }, error);
    }
  }

  private encodePiece(piece: string): readonly number[] {
    const known = this.remembered.get(piece);
    if (known !== undefined) return known;
    const ids = Array.from(utf8.encode(piece), (byte) => this.specials.length + byte);
    for (;;) {
      let at = -1;
      let best: { rank: number; id: number } | undefined;
      for (let i = 0; i + 1 < ids.length; i++) {
        const merge = this.merged.get(pairKey(ids[i], ids[i + 1]));
        if (merge !== undefined && (best === undefined || merge.rank < best.rank)) [at, best] = [i, merge];
      }
      if (best === undefined) break;
      ids.splice(at, 2, best.id);
    }
    if (this.remembered.size >= MAX_REMEMBERED) this.remembered.clear();
    this.remembered.set(piece, ids);
    return ids;
  }
}

/** A piece that occurs `count` times, as ids. */
interface Word {
  ids: number[];
  readonly count: number;
}

/** Pairs of less frequent neighbours are not worth a token. */
const LEAST_COUNT = 2;

/**
 * The tokenizer of texts. Ties go to the pair of smaller ids, so the same texts give the same tokenizer in whatever order they come.
 * @param size most tokens of all, special tokens and bytes included; fewer if nothing more occurs twice
 * @param specials beside those that every tokenizer has, e.g. those that part the sections of a prompt
 */
export function trainTokenizer(
  texts: Iterable<string>,
  { size, specials = [] }: { readonly size: number; readonly specials?: readonly string[] },
): Tokenizer {
  const special = [...ROLES, ...specials];
  const pairs = new PairCounts(wordsOf(texts, special.length));
  const merges: Pair[] = [];
  // Two ways to the same text would be two ids of one token.
  const bytesOf = [...special.map(() => ''), ...Array.from({ length: BYTES }, (_, byte) => String.fromCharCode(byte))];
  const known = new Set(bytesOf);
  while (bytesOf.length < size) {
    const best = pairs.mostFrequent();
    if (best === undefined) break;
    const merged = bytesOf[best[0]] + bytesOf[best[1]];
    if (known.has(merged)) {
      pairs.ignore(best);
      continue;
    }
    known.add(merged);
    merges.push(best);
    pairs.merge(best, bytesOf.length);
    bytesOf.push(merged);
  }
  return new Tokenizer(special, merges);
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
