// A byte-level byte-pair tokenizer (Sennrich et al. 2016; Radford et al. 2019): text is cut into words and the like, a piece is
// its UTF-8 bytes, and pairs are merged in the order in which they were learnt. Own code, as training has to merge by the same
// rules as encoding, and libraries for Node that encode cannot train.

import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import { BYTE_CHARACTERS, bytesOfToken } from './byte-alphabet.js';
import type { SpecialIds } from './folder.js';

/** How GPT-2 cuts text, as the pre-tokenizer `ByteLevel` of Hugging Face's tokenizers does. */
const PIECES =
  /'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

/** The pieces of a text, in order; put together they are the text. */
export function piecesOf(text: string): string[] {
  return text.match(PIECES) ?? [];
}

/** Matches nothing. */
const NEVER = /(?!)/;

const utf8 = new TextEncoder();

/** Pieces whose tokens are remembered; texts of one world have few. */
const MAX_REMEMBERED = 1 << 16;

/** One number for a pair of ids. */
export const pairKey = (left: number, right: number): number => left * 2 ** 24 + right;

export interface TokenizerParts {
  /** By id; special ones as their text, others in characters of the byte alphabet. */
  readonly tokens: readonly string[];
  /** Pairs of ids in the order in which they were learnt. */
  readonly merges: readonly (readonly [left: number, right: number])[];
  /** Ids of tokens that no text is encoded to unless it is asked for. */
  readonly specials: readonly number[];
  readonly special: SpecialIds;
}

export class Tokenizer {
  readonly special: SpecialIds;
  private readonly ids: ReadonlyMap<string, number>;
  private readonly byteIds: readonly number[];
  /** Of a pair: its place among the merges and the id of what it becomes. */
  private readonly merged = new Map<number, { rank: number; id: number }>();
  private readonly specialIds: ReadonlySet<number>;
  private readonly specialPattern: RegExp;
  private readonly remembered = new Map<string, readonly number[]>();

  constructor(readonly parts: TokenizerParts) {
    const { tokens, merges, specials, special } = parts;
    this.special = special;
    this.ids = new Map(tokens.map((token, id) => [token, id]));
    this.byteIds = BYTE_CHARACTERS.map((character) => this.ids.get(character)!);
    merges.forEach(([left, right], rank) => {
      this.merged.set(pairKey(left, right), { rank, id: this.ids.get(tokens[left] + tokens[right])! });
    });
    this.specialIds = new Set(specials);
    // The longest first, as one may begin another.
    const texts = specials.map((id) => tokens[id]).sort((a, b) => b.length - a.length);
    const escaped = texts.map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    this.specialPattern = escaped.length === 0 ? NEVER : new RegExp(`(${escaped.join('|')})`);
  }

  /** Number of tokens. */
  get size(): number {
    return this.parts.tokens.length;
  }

  /** The id of a token by its text, special tokens above all. */
  idOf(token: string): number | undefined {
    return this.ids.get(token);
  }

  /**
   * The ids of a text. A half surrogate pair becomes U+FFFD.
   * @param options `withSpecials`: the texts of special tokens become them, as in Hugging Face's tokenizers. Without, text is
   * never more than text, so what somebody wrote cannot end a document.
   */
  encode(text: string, { withSpecials = false }: { readonly withSpecials?: boolean } = {}): number[] {
    const ids: number[] = [];
    const parts = withSpecials ? text.split(this.specialPattern) : [text];
    parts.forEach((part, i) => {
      if (i % 2 === 1) ids.push(this.ids.get(part)!);
      else for (const piece of piecesOf(part)) for (const id of this.encodePiece(piece)) ids.push(id);
    });
    return ids;
  }

  /** The text of ids; special tokens are left out unless asked for. Bytes that are no UTF-8 become U+FFFD. */
  decode(ids: Iterable<number>, { withSpecials = false }: { readonly withSpecials?: boolean } = {}): string {
    const bytes: number[] = [];
    for (const id of ids) {
      const token = this.parts.tokens[id];
      if (token === undefined) {
        const hint = 'Decode by the tokenizer that the decoder was trained with.';
        throw reverieError('DATA_MISMATCH', {
          problem: `The decoder was given ${`token ${id} of ${this.size} to be decoded`}.`,
          hint,
        });
      }
      if (!this.specialIds.has(id)) for (const byte of bytesOfToken(token)!) bytes.push(byte);
      else if (withSpecials) for (const byte of utf8.encode(token)) bytes.push(byte);
    }
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes));
  }

  /** The content of `tokenizer.json`, which Hugging Face's `tokenizers` opens. */
  toJson(): string {
    const { tokens, merges, specials } = this.parts;
    const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
    const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
    const content = {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: [...specials].sort((a, b) => a - b).map((id) => ({ id, content: tokens[id], ...flags })),
      normalizer: null,
      pre_tokenizer: byteLevel,
      post_processor: null,
      decoder: byteLevel,
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges: merges.map(([left, right]) => `${tokens[left]} ${tokens[right]}`),
      },
    };
    return `${JSON.stringify(content, null, 1)}\n`;
  }

  /**
   * The tokenizer of a `tokenizer.json`.
   * @param special ids with a role; absent: those of `<|begin|>`, `<|end|>` and `<|pad|>`
   * @param origin where it came from, for messages
   * @throws MODEL_FILE_INVALID if it is damaged or works by other rules
   */
  static fromJson(text: string, origin: string, special?: SpecialIds): Tokenizer {
    const invalid = (problem: string, cause?: unknown) =>
      reverieError(
        'MODEL_FILE_INVALID',
        {
          problem: `Tokenizer "${origin}" cannot be used: ${problem}.`,
          hint: 'Give the tokenizer.json of a byte-level byte-pair tokenizer, as `trainTokenizer` makes it.',
        },
        cause,
      );
    let content: z.infer<typeof fileSchema>;
    try {
      content = fileSchema.parse(JSON.parse(text));
    } catch (error) {
      throw invalid('it is not the tokenizer.json of a byte-level byte-pair tokenizer', error);
    }
    const tokens: string[] = [];
    for (const [token, id] of Object.entries(content.model.vocab)) tokens[id] = token;
    for (const { id, content: token } of content.added_tokens) tokens[id] ??= token;
    const gap = Array.from(tokens).indexOf(undefined as unknown as string);
    if (gap >= 0) throw invalid(`id ${gap} has no token`);
    const ids = new Map(tokens.map((token, id) => [token, id]));
    const specials = content.added_tokens.map(({ id }) => id);
    const problem = unusable(tokens, ids, specials);
    if (problem !== undefined) throw invalid(problem);
    const merges = content.model.merges.map((merge): [number, number] => {
      const [left, right] = typeof merge === 'string' ? merge.split(' ') : merge;
      const known = ids.has(left) && ids.has(right) && ids.has(left + right);
      if (!known) throw invalid(`it merges "${left}" and "${right}", and not all of these and the result are tokens`);
      return [ids.get(left)!, ids.get(right)!];
    });
    const roles = special ?? rolesOf(ids);
    if (roles === undefined) throw invalid(`it lacks one of ${Object.values(SPECIAL_TOKENS).join(', ')}`);
    return new Tokenizer({ tokens, merges, specials, special: roles });
  }

  private encodePiece(piece: string): readonly number[] {
    const known = this.remembered.get(piece);
    if (known !== undefined) return known;
    const ids = Array.from(utf8.encode(piece), (byte) => this.byteIds[byte]);
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

/** The special tokens that every tokenizer of ours has. */
export const SPECIAL_TOKENS = { pad: '<|pad|>', begin: '<|begin|>', end: '<|end|>' } as const;

function rolesOf(ids: ReadonlyMap<string, number>): SpecialIds | undefined {
  const [pad, begin, end] = [SPECIAL_TOKENS.pad, SPECIAL_TOKENS.begin, SPECIAL_TOKENS.end].map((text) => ids.get(text));
  return pad === undefined || begin === undefined || end === undefined ? undefined : { pad, begin, end };
}

function unusable(
  tokens: readonly string[],
  ids: ReadonlyMap<string, number>,
  specials: readonly number[],
): string | undefined {
  const byte = BYTE_CHARACTERS.findIndex((character) => !ids.has(character));
  if (byte >= 0) return `it has no token for the byte ${byte}`;
  const known = new Set(specials);
  const odd = tokens.find((token, id) => !known.has(id) && bytesOfToken(token) === undefined);
  return odd === undefined ? undefined : `its token "${odd}" is not in the byte alphabet`;
}

const byteLevelSchema = z.object({
  type: z.literal('ByteLevel'),
  add_prefix_space: z.literal(false),
  use_regex: z.literal(true).default(true),
});

const fileSchema = z.object({
  added_tokens: z.array(z.object({ id: z.int().min(0), content: z.string().min(1) })).default([]),
  normalizer: z.null().optional(),
  pre_tokenizer: byteLevelSchema,
  model: z.object({
    type: z.literal('BPE').default('BPE'),
    unk_token: z.null().optional(),
    continuing_subword_prefix: z.union([z.null(), z.literal('')]).optional(),
    end_of_word_suffix: z.union([z.null(), z.literal('')]).optional(),
    byte_fallback: z.literal(false).default(false),
    ignore_merges: z.literal(false).default(false),
    vocab: z.record(z.string(), z.int().min(0)),
    merges: z.array(z.union([z.string(), z.tuple([z.string(), z.string()])])),
  }),
});
