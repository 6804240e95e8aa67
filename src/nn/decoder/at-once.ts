// Answers of which all tokens are foretold at once: blanks stand in the place of the answer, and each tells the token that belongs
// there, in one run of the network. It was trained so (`TrainingDocument.shown`): block teacher forcing (Dedieu et al. 2025,
// arXiv 2502.01591, section 3.4). A token does not know which tokens were chosen before it, so such answers are read greedily.

import { Rng } from '../../core/rng.js';
import type { Tensor } from '../tensor.js';
import type { DecoderConfig } from './config.js';
import type { Generated, TokenSequence } from './generation.js';
import { chooseToken } from './sampling.js';

export interface AtOnceOptions {
  /** The token that stands in an answer's place. */
  readonly blank: number;
  /** Most tokens of an answer, that of `stop` included. */
  readonly places: number;
  /** The token that ends an answer, and is its last. */
  readonly stop: number;
}

/** A prompt with blanks behind it: the network is asked what belongs to the last `places` of its tokens. */
export interface BlankedRow {
  readonly tokens: Int32Array;
  readonly places: number;
}

/** As many blanks as places but one: the prompt's last token foretells the first. A full context leaves fewer. */
export function withBlanks(
  prompt: TokenSequence,
  { blank, places }: AtOnceOptions,
  { contextLength }: DecoderConfig,
): BlankedRow {
  const blanks = Math.min(places - 1, contextLength - prompt.length);
  const tokens = new Int32Array(prompt.length + blanks).fill(blank);
  tokens.set(Int32Array.from(prompt));
  return { tokens, places: blanks + 1 };
}

const NO_DRAWS = Rng.fromSeed(0);

/** @param logProbs [places, tokens], from `row` places on */
export function readAtOnce(
  { data, dims: [, width] }: Tensor,
  row: number,
  { places }: BlankedRow,
  stop: number,
): Generated {
  const tokens: number[] = [];
  const logProbs: number[] = [];
  for (let place = 0; place < places; place++) {
    const at = (row + place) * width;
    const all = (data as Float32Array).subarray(at, at + width);
    const token = chooseToken(all, { temperature: 0 }, NO_DRAWS);
    tokens.push(token);
    logProbs.push(all[token]);
    if (token === stop) return { tokens, logProbs, end: 'stop' };
  }
  return { tokens, logProbs, end: 'length' };
}
