// The relevance network as nodes of a graph: scores of commands, over fixed shapes: so many situations, and all their commands one after
// the other, padded.

import type { Value } from '../../nn/graph.js';
import { add, concat, gather, linear, matMul, mul, oneHot, reduceSum, relu, slice, transpose } from '../../nn/ops.js';
import { ParamLayout } from '../../nn/parameters.js';
import { BAGS, COMMAND_TOKENS, CONTEXT_TOKENS, COUNTS } from './relevance-encoding.js';
import { bag, headLayers, headScores, type ScoringShape, wordsOf, wordTable } from './scoring-graph.js';
import { MAX_COMMANDS, pairsOf, type Scores, type Values } from './scoring-network.js';

/** What a graph is fed of a batch; the padding of `slots` points behind the last command. */
export function batchInputs(shape: Pick<ScoringShape, 'rows'>) {
  const { rows } = shape;
  const pairs = pairsOf(shape);
  return {
    context: { dtype: 'int32', shape: [rows, CONTEXT_TOKENS] },
    scales: { dtype: 'float32', shape: [rows, BAGS.length] },
    /** 1 / number of commands. */
    shares: { dtype: 'float32', shape: [rows, 1] },
    commands: { dtype: 'int32', shape: [pairs, COMMAND_TOKENS] },
    commandScales: { dtype: 'float32', shape: [pairs, 1] },
    counts: { dtype: 'float32', shape: [pairs, COUNTS] },
    /** The situation of each command. */
    owners: { dtype: 'int32', shape: [pairs] },
    /** The commands of each situation. */
    slots: { dtype: 'int32', shape: [rows, MAX_COMMANDS] },
  } as const;
}

/** The context's bags, and the mean of the commands. */
const CONTEXTS = BAGS.length + 1;

export function relevanceLayout(shape: ScoringShape): ParamLayout {
  const { embedding, hidden } = shape;
  const fanIn = embedding * CONTEXTS;
  return new ParamLayout([
    wordTable(shape),
    { name: 'context.w', shape: [fanIn, hidden[0]], init: { kind: 'uniformFanIn', fanIn } },
    ...headLayers(shape, embedding + fanIn + COUNTS, fanIn + COUNTS),
  ]);
}

export function relevanceScores(shape: ScoringShape, params: Values, batch: Values): Scores {
  const words = wordsOf(shape, params);
  const owner = oneHot(batch.owners, shape.rows);
  const commands = mul(bag(words, batch.commands), batch.commandScales);
  // Padding has no words, so that whoever it is said to belong to does not notice.
  const all = mul(matMul(transpose(owner), commands), batch.shares);
  const contexts = [...contextBags(gather(words, batch.context, 0), batch.scales), all];
  const told = concat(contexts, 1);
  const products = mul(concat(Array<Value>(CONTEXTS).fill(commands), 1), gather(told, batch.owners, 0));
  const context = linear(told, params['context.w'], params['pair.b']);
  const pair = matMul(concat([commands, products, batch.counts], 1), params['pair.w']);
  const first = relu(add(pair, gather(context, batch.owners, 0)));
  return headScores(shape, params, {
    ...{ first, slots: batch.slots },
    // Padding has no counts either.
    told: () => concat([told, mul(matMul(transpose(owner), batch.counts), batch.shares)], 1),
  });
}

function contextBags(tokens: Value, scales: Value): Value[] {
  let start = 0;
  return BAGS.map(({ size }, b) => {
    const bag = reduceSum(slice(tokens, 1, start, start + size), [1]);
    start += size;
    return mul(bag, slice(scales, 1, b, b + 1));
  });
}
