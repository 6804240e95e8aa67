// What a decoder is trained for: a loss over the log-probabilities of the batch's targets. Further ones, such as those of policy
// gradients, are objects of the same kind.

import type { Value } from '../graph.js';
import { div, maximum, mul, neg } from '../ops-elementwise.js';
import { reduceSum } from '../ops-reduce.js';
import type { ParamSpec } from '../parameters.js';

export interface LossValues {
  /** [tokens]: of each target, at the training's temperature, among its choices if it has any; tokens of all rows, one after another. */
  readonly logProbs: Value;
  /** [tokens]: how much a target counts; 0 where there is none. */
  readonly weights: Value;
  /** [tokens] each: those named in `perToken`. */
  readonly perToken: Readonly<Record<string, Value>>;
  /** Those declared in `perStep`. */
  readonly perStep: Readonly<Record<string, Value>>;
  /** Entropy [tokens] of what could have come, in nats: among a target's choices if it has any; built only if it is asked for. */
  readonly entropy: () => Value;
  /** [tokens, hiddenSize]: what each target was foretold from. */
  readonly hidden: Value;
  /** Those declared in `heads`. */
  readonly heads: Readonly<Record<string, Value>>;
}

export interface DecoderLoss {
  readonly name: string;
  /** Most choices of a target. With it, batches say which tokens could have been chosen; see `spreadChoices`. */
  readonly choices?: number;
  /** Further numbers that come with each target, by name; see `spread`. */
  readonly perToken?: readonly string[];
  /** Parameters beside the decoder's that are trained with it, such as a critic's; they lie behind them in theta, and do not decay. */
  readonly heads?: readonly ParamSpec[];
  /** Further float32 tensors that come with each batch: name to shape. */
  readonly perStep?: Readonly<Record<string, readonly number[]>>;
  /** The scalar to be made smaller, and scalars worth knowing. */
  build(values: LossValues): { readonly loss: Value; readonly metrics?: Readonly<Record<string, Value>> };
}

/** Mean of values [tokens] by weight; 0 if nothing counts. */
export function weightedMean(values: Value, weights: Value): Value {
  return div(reduceSum(mul(values, weights)), maximum(reduceSum(weights), 1e-6));
}

/** Cross-entropy: how surprising the targets are, in nats a token. */
export const nextTokenLoss: DecoderLoss = {
  name: 'next token',
  build: ({ logProbs, weights }) => ({ loss: neg(weightedMean(logProbs, weights)) }),
};
