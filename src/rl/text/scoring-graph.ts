// What graphs of scoring networks have in common: a table of words, layers, and the head that makes scores of what was read of each command
// and, with a critic, one value of what was told.

import type { Value } from '../../nn/graph.js';
import { concat, gather, linear, mul, reduceSum, relu, squeeze } from '../../nn/ops.js';
import type { ParamSpec } from '../../nn/parameters.js';
import { NO_COMMAND, type Scores, type Values } from './scoring-network.js';

export interface ScoringShape {
  readonly vocabulary: number;
  readonly embedding: number;
  /** Of the head. */
  readonly hidden: readonly [number, number];
  /** Situations of one run of a graph. */
  readonly rows: number;
  /** Whether a critic says what is still to come. */
  readonly critic?: boolean;
}

export function wordTable({ vocabulary, embedding }: ScoringShape): ParamSpec {
  return { name: 'words', shape: [vocabulary, embedding], init: { kind: 'uniformFanIn', fanIn: 4 } };
}

export function layer(name: string, fanIn: number, fanOut: number, gain = 1): ParamSpec[] {
  return [
    { name: `${name}.w`, shape: [fanIn, fanOut], init: { kind: 'uniformFanIn', fanIn, gain } },
    { name: `${name}.b`, shape: [fanOut], init: { kind: 'zeros' } },
  ];
}

/** @param pair  numbers of a command; @param told  those that a critic sees */
export function headLayers({ hidden: [first, second], critic }: ScoringShape, pair: number, told: number): ParamSpec[] {
  return [
    ...layer('pair', pair, first),
    ...layer('hidden', first, second),
    ...layer('score', second, 1, 0.1),
    ...(critic === true ? [...layer('critic', told, first), ...layer('value', first, 1, 0.1)] : []),
  ];
}

/** The row of no word is nothing, and stays so. */
export function wordsOf({ vocabulary }: ScoringShape, { words }: Values): Value {
  return mul(words, words.graph.literal('float32', [0, ...Array<number>(vocabulary - 1).fill(1)], [vocabulary, 1]));
}

export function bag(words: Value, tokens: Value): Value {
  return reduceSum(gather(words, tokens, 0), [1]);
}

export function dense(params: Values, name: string, x: Value): Value {
  return linear(x, params[`${name}.w`], params[`${name}.b`]);
}

/** @param first  the first layer of every command; @param told  makes what a critic sees */
export function headScores(
  { critic }: ScoringShape,
  params: Values,
  { first, slots, told }: { readonly first: Value; readonly slots: Value; readonly told: () => Value },
): Scores {
  const second = relu(dense(params, 'hidden', first));
  const flat = squeeze(dense(params, 'score', second), [1]);
  const open = concat([flat, flat.graph.constant([NO_COMMAND])], 0);
  const scores = gather(open, slots, 0);
  if (critic !== true) return { scores };
  const seen = relu(dense(params, 'critic', told()));
  return { scores, values: squeeze(dense(params, 'value', seen), [1]) };
}
