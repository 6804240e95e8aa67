// Rows of tokens that follow others whose keys and values are known: the turns of a conversation or of an episode, of which only
// what is new is computed. A token's log-probability is the one it has everywhere else, to the byte (attention.ts), so that
// whoever remembers keys and values changes how long it takes and nothing else.

import { reverieError } from '../../core/errors.js';
import { float32, int32, type Tensor } from '../tensor.js';
import { chainLength } from './attention.js';
import { type Choices, noChoices, setChoices } from './choices.js';
import type { DecoderConfig } from './config.js';
import type { TokenSequence } from './generation.js';

/** A row: what came before, what is new, and what could follow. */
export interface ContinuedRow {
  /** Keys and values of the tokens before, a token after the other, as `Continued.newRows` has them; empty: nothing comes before. */
  readonly past: Float32Array;
  /** At least one. */
  readonly tokens: TokenSequence;
  /** The tokens that could follow; undefined: any. */
  readonly choices?: Choices;
}

export interface Continued {
  /** Of what could follow: of each choice and then -Infinity, or of all tokens. */
  readonly logProbs: Float32Array;
  /** [hiddenSize]: what it was foretold from. */
  readonly hidden: Float32Array;
  /** Keys and values of the row's new tokens. */
  readonly newRows: Float32Array;
}

export interface ContinueOptions {
  /** Of the distribution; 1 unless given. */
  readonly temperature?: number;
  /** Most choices of a row; absent: nothing is constrained, and log-probabilities are those among all tokens. */
  readonly choices?: number;
}

/** Rows that are computed together: new tokens are padded to `length`, those before to `past`. */
export interface ContinuedBatch {
  readonly length: number;
  readonly past: number;
  readonly members: readonly number[];
}

/** A product with a single row takes another path. */
const FEWEST = 2;
/** New tokens are padded to a power of two, and from this on to a multiple of it: few sessions, and little in vain. */
const PAD = 16;

/** Values of a token in `past` and `newRows`. */
export function tokenSizeOf({ layers, kvHeads, headDim }: DecoderConfig): number {
  return layers * 2 * kvHeads * headDim;
}

/**
 * Rows of similar length, in batches. Where a row's tokens do not lie one behind the other, as those before were padded, all must lie
 * within one chain of the product; longer ones share a batch with rows that have as many tokens before them.
 * @param most elements of an array of attention
 */
export function continuedBatches(rows: readonly ContinuedRow[], config: DecoderConfig, most: number): ContinuedBatch[] {
  const chain = chainLength(config.headDim);
  const size = tokenSizeOf(config);
  const batches = new Map<string, { length: number; past: number; members: number[] }>();
  rows.forEach(({ past, tokens }, member) => {
    const before = past.length / size;
    const length = paddedLength(tokens.length);
    const key = before + length <= chain ? `${length}` : `${length} ${before}`;
    const batch = batches.get(key) ?? { length, past: 0, members: [] };
    batches.set(key, { ...batch, past: Math.max(batch.past, before), members: [...batch.members, member] });
  });
  return [...batches.values()].flatMap(({ length, past, members }) => {
    const room = Math.max(1, Math.floor(most / (length * (past + length) * config.heads)));
    const count = Math.ceil(members.length / room);
    return Array.from({ length: count }, (_, i) => ({
      length,
      past,
      members: members.slice(i * room, (i + 1) * room),
    }));
  });
}

function paddedLength(tokens: number): number {
  if (tokens > PAD) return Math.ceil(tokens / PAD) * PAD;
  let length = FEWEST;
  while (length < tokens) length *= 2;
  return length;
}

/** What the session of a batch is fed, beside weights and temperature. @param size most choices; 0: none */
export function continuedFeeds(
  rows: readonly ContinuedRow[],
  { length, past, members }: ContinuedBatch,
  config: DecoderConfig,
  size: number,
): Record<string, Tensor> {
  const width = tokenSizeOf(config);
  const count = Math.max(FEWEST, members.length);
  const seen = past + length;
  const tokens = new Int32Array(count * length);
  const positions = new Int32Array(count * length);
  const before = new Float32Array(count * past * width);
  const bias = new Float32Array(count * length * seen).fill(Number.NEGATIVE_INFINITY);
  const last = new Int32Array(count);
  const among = noChoices(count, size);
  members.forEach((member, row) => {
    const { past: known, tokens: given, choices } = rows[member];
    const at = known.length / width;
    before.set(known, row * past * width);
    for (let i = 0; i < length; i++) {
      tokens[row * length + i] = given[i] ?? 0;
      positions[row * length + i] = Math.min(at + i, config.contextLength - 1);
      const start = (row * length + i) * seen;
      bias.fill(0, start, start + at);
      bias.fill(0, start + past, start + past + i);
    }
    last[row] = row * length + given.length - 1;
    setChoices(among, row, size === 0 ? undefined : choices);
  });
  return {
    ...(size > 0 && { choices: int32(among.choices, [count, size]) }),
    ...{ tokens: int32(tokens, [count, length]), positions: int32(positions, [count, length]), last: int32(last) },
    past: float32(before, [count, past, width]),
    bias: float32(bias, [count, 1, 1, length, seen]),
  };
}

/** @throws CONTEXT_TOO_LONG; DECODER_INPUT_INVALID for a past of another decoder, or no tokens */
export function requireContinued({ past, tokens }: ContinuedRow, config: DecoderConfig): void {
  const before = past.length / tokenSizeOf(config);
  const all = before + tokens.length;
  if (all > config.contextLength)
    throw reverieError('CONTEXT_TOO_LONG', { what: 'A continued row', tokens: all, limit: config.contextLength });
  if (Number.isInteger(before) && tokens.length > 0) return;
  const problem = tokens.length === 0 ? 'a row without a token' : `${past.length} numbers of tokens before`;
  throw reverieError('DECODER_INPUT_INVALID', {
    problem,
    hint: 'Continue what the same decoder began, by a token or more.',
  });
}
