// The relevance network as nodes of a graph: scores of commands, over fixed shapes: so many situations, and all their commands one after
// the other, padded.

import {
  add,
  concat,
  gather,
  linear,
  matMul,
  mul,
  oneHot,
  ParamLayout,
  reduceSum,
  relu,
  slice,
  squeeze,
  transpose,
  type Value,
} from '../../nn/index.js';
import { BAGS, COMMAND_TOKENS, CONTEXT_TOKENS, COUNTS } from './relevance-encoding.js';
import { MAX_COMMANDS, NO_COMMAND, pairsOf, type Scores, type Values } from './scoring-network.js';

export interface RelevanceShape {
  readonly vocabulary: number;
  readonly embedding: number;
  readonly hidden: readonly [number, number];
  /** Situations of one run of a graph. */
  readonly rows: number;
  /** Whether a critic says what is still to come. */
  readonly critic?: boolean;
}

/** What a graph is fed of a batch; the padding of `slots` points behind the last command. */
export function batchInputs(shape: Pick<RelevanceShape, 'rows'>) {
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

export function relevanceLayout(shape: RelevanceShape): ParamLayout {
  const { vocabulary, embedding, hidden, critic } = shape;
  const [first, second] = hidden;
  const pair = embedding * (1 + CONTEXTS) + COUNTS;
  const told = embedding * CONTEXTS + COUNTS;
  const dense = (fanIn: number) => ({ kind: 'uniformFanIn', fanIn }) as const;
  return new ParamLayout([
    { name: 'words', shape: [vocabulary, embedding], init: dense(4) },
    { name: 'context.w', shape: [embedding * CONTEXTS, first], init: dense(embedding * CONTEXTS) },
    { name: 'pair.w', shape: [pair, first], init: dense(pair) },
    { name: 'pair.b', shape: [first], init: { kind: 'zeros' } },
    { name: 'hidden.w', shape: [first, second], init: dense(first) },
    { name: 'hidden.b', shape: [second], init: { kind: 'zeros' } },
    { name: 'score.w', shape: [second, 1], init: { kind: 'uniformFanIn', fanIn: second, gain: 0.1 } },
    { name: 'score.b', shape: [1], init: { kind: 'zeros' } },
    ...(critic === true
      ? ([
          { name: 'critic.w', shape: [told, first], init: dense(told) },
          { name: 'critic.b', shape: [first], init: { kind: 'zeros' } },
          { name: 'value.w', shape: [first, 1], init: { kind: 'uniformFanIn', fanIn: first, gain: 0.1 } },
          { name: 'value.b', shape: [1], init: { kind: 'zeros' } },
        ] as const)
      : []),
  ]);
}

export function relevanceScores(shape: RelevanceShape, params: Values, batch: Values): Scores {
  const { vocabulary, rows } = shape;
  const { graph } = params.words;
  // The row of no word is nothing, and stays so.
  const isWord = graph.literal('float32', [0, ...Array<number>(vocabulary - 1).fill(1)], [vocabulary, 1]);
  const words = mul(params.words, isWord);
  const owner = oneHot(batch.owners, rows);
  const commands = mul(reduceSum(gather(words, batch.commands, 0), [1]), batch.commandScales);
  // Padding has no words, so that whoever it is said to belong to does not notice.
  const all = mul(matMul(transpose(owner), commands), batch.shares);
  const contexts = [...contextBags(gather(words, batch.context, 0), batch.scales), all];
  const told = concat(contexts, 1);
  const products = mul(concat(Array<Value>(CONTEXTS).fill(commands), 1), gather(told, batch.owners, 0));
  const context = linear(told, params['context.w'], params['pair.b']);
  const pair = matMul(concat([commands, products, batch.counts], 1), params['pair.w']);
  const first = relu(add(pair, gather(context, batch.owners, 0)));
  const second = relu(linear(first, params['hidden.w'], params['hidden.b']));
  const flat = squeeze(linear(second, params['score.w'], params['score.b']), [1]);
  const open = concat([flat, graph.constant([NO_COMMAND])], 0);
  const scores = gather(open, batch.slots, 0);
  if (shape.critic !== true) return { scores };
  // Padding has no counts either.
  const counted = mul(matMul(transpose(owner), batch.counts), batch.shares);
  const seen = relu(linear(concat([told, counted], 1), params['critic.w'], params['critic.b']));
  return { scores, values: squeeze(linear(seen, params['value.w'], params['value.b']), [1]) };
}

function contextBags(tokens: Value, scales: Value): Value[] {
  let start = 0;
  return BAGS.map(({ size }, b) => {
    const bag = reduceSum(slice(tokens, 1, start, start + size), [1]);
    start += size;
    return mul(bag, slice(scales, 1, b, b + 1));
  });
}
