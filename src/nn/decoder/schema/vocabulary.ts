// A tokenizer's tokens as a tree of bytes: those that share a beginning are tried together.

import { reverieError } from '../../../core/errors.js';
import { bytesOfToken } from '../byte-alphabet.js';
import type { Tokenizer } from '../tokenizer.js';

export interface ByteNode {
  readonly next: Map<number, ByteNode>;
  /** The token that ends here. */
  token?: number;
}

export interface Vocabulary {
  readonly root: ByteNode;
  /** The bytes of each token; undefined of special ones. */
  readonly bytes: readonly (readonly number[] | undefined)[];
  readonly end: number;
  /** Tokens that are texts. */
  readonly count: number;
}

const known = new WeakMap<Tokenizer, Vocabulary>();

/** @throws DECODER_VOCABULARY_UNFIT where a byte of texts has no token of its own, as then not every text can be written */
export function vocabularyOf(tokenizer: Tokenizer): Vocabulary {
  let vocabulary = known.get(tokenizer);
  if (vocabulary === undefined) {
    vocabulary = read(tokenizer);
    known.set(tokenizer, vocabulary);
  }
  return vocabulary;
}

function read({ parts: { tokens, specials, special } }: Tokenizer): Vocabulary {
  const root: ByteNode = { next: new Map() };
  const isSpecial = new Set(specials);
  const bytes = tokens.map((token, id) => (isSpecial.has(id) ? undefined : bytesOfToken(token)));
  let count = 0;
  bytes.forEach((own, token) => {
    if (own === undefined || own.length === 0) return;
    let node = root;
    for (const byte of own) {
      let next = node.next.get(byte);
      if (next === undefined) {
        next = { next: new Map() };
        node.next.set(byte, next);
      }
      node = next;
    }
    node.token ??= token;
    count++;
  });
  const missing = textBytes().filter((byte) => root.next.get(byte)?.token === undefined);
  if (missing.length > 0) throw unfit(tokens.length, missing);
  return { root, bytes, end: special.end, count };
}

/** Bytes that stand in texts of JSON: printable ASCII, and those of UTF-8 beyond. */
function textBytes(): number[] {
  const bytes = Array.from({ length: 0xf5 }, (_, byte) => byte);
  return bytes.filter((byte) => byte >= 0x20 && byte !== 0x7f && byte !== 0xc0 && byte !== 0xc1);
}

const SHOWN = 5;

function unfit(size: number, missing: readonly number[]): Error {
  const name = (byte: number) => (byte < 0x7f ? JSON.stringify(String.fromCharCode(byte)) : `the byte ${byte}`);
  const rest = missing.length > SHOWN ? ` and ${missing.length - SHOWN} further bytes` : '';
  return reverieError('DECODER_VOCABULARY_UNFIT', {
    size,
    missing: missing.slice(0, SHOWN).map(name).join(', ') + rest,
  });
}
