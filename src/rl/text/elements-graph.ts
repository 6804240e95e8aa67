// The network over elements as nodes of a graph (in the class of DOM-Q-NET, Jia et al. 2019, 1902.07257): each element's words and counts,
// and what it finds of itself in the goal (attention over the goal's words); some rounds of messages between parents, children and
// siblings; and a score for each action, of its element, its kind and its text. Fixed shapes: so many situations, and all their elements
// and all their actions one after the other, padded.

import type { Value } from '../../nn/graph.js';
import {
  add,
  concat,
  gather,
  matMul,
  mul,
  oneHot,
  reduceSum,
  relu,
  reshape,
  scatterAddRows,
  slice,
  softmax,
  sub,
  transpose,
  unsqueeze,
} from '../../nn/ops.js';
import { ParamLayout } from '../../nn/parameters.js';
import {
  ACTION_COUNTS,
  BESIDE_TOKENS,
  ELEMENT_COUNTS,
  ELEMENT_TOKENS,
  GOAL_TOKENS,
  MAX_ELEMENTS,
  TEXT_TOKENS,
} from './elements-encoding.js';
import { bag, dense, headLayers, headScores, layer, type ScoringShape, wordsOf, wordTable } from './scoring-graph.js';
import { MAX_COMMANDS, NO_COMMAND, pairsOf, type Scores, type Values } from './scoring-network.js';

export interface ElementsShape extends ScoringShape {
  /** Numbers of an element. */
  readonly width: number;
  /** Rounds of messages. */
  readonly rounds: number;
}

/** Elements that the situations of one run may have together. */
export function nodesOf({ rows }: Pick<ElementsShape, 'rows'>): number {
  return Math.max(MAX_ELEMENTS, 24 * rows);
}

/** What a graph is fed of a batch. Places of padding, and of no neighbour, are those behind the last element or action. */
export function elementInputs(shape: Pick<ElementsShape, 'rows'>) {
  const { rows } = shape;
  const pairs = pairsOf(shape);
  const nodes = nodesOf(shape);
  const places = { dtype: 'int32', shape: [nodes] } as const;
  return {
    goal: { dtype: 'int32', shape: [rows, GOAL_TOKENS] },
    /** 1 where there is a token. */
    goalIs: { dtype: 'float32', shape: [rows, GOAL_TOKENS] },
    goalScales: { dtype: 'float32', shape: [rows, 1] },
    words: { dtype: 'int32', shape: [nodes, ELEMENT_TOKENS] },
    wordScales: { dtype: 'float32', shape: [nodes, 1] },
    counts: { dtype: 'float32', shape: [nodes, ELEMENT_COUNTS] },
    /** 1 where there is an element. */
    elementIs: { dtype: 'float32', shape: [nodes, 1] },
    /** The situation of each element, and 1 / number of its elements. */
    elementOwners: places,
    elementShares: { dtype: 'float32', shape: [rows, 1] },
    parents: places,
    before: places,
    after: places,
    /** 1 / number of children; 0 without. */
    childShares: { dtype: 'float32', shape: [nodes, 1] },
    targets: { dtype: 'int32', shape: [pairs] },
    kinds: { dtype: 'int32', shape: [pairs] },
    texts: { dtype: 'int32', shape: [pairs, TEXT_TOKENS] },
    beside: { dtype: 'int32', shape: [pairs, BESIDE_TOKENS] },
    actionCounts: { dtype: 'float32', shape: [pairs, ACTION_COUNTS] },
    /** The situation of each action, and the actions of each situation. */
    owners: { dtype: 'int32', shape: [pairs] },
    slots: { dtype: 'int32', shape: [rows, MAX_COMMANDS] },
  } as const;
}

/** Messages come from: the element itself, its parent, its children, the one before and the one after. */
const FROM = 5;

export function elementsLayout(shape: ElementsShape): ParamLayout {
  const { embedding, width, rounds } = shape;
  const read = 4 * embedding + ELEMENT_COUNTS;
  const pair = 2 * width + 6 * embedding + ACTION_COUNTS;
  return new ParamLayout([
    wordTable(shape),
    ...layer('goal', 3 * embedding, embedding),
    ...layer('query', embedding, embedding),
    ...layer('read', read, width),
    ...Array.from({ length: rounds }, (_, i) => layer(`message.${i}`, FROM * width, width)).flat(),
    ...layer('target', width, embedding),
    ...headLayers(shape, pair, width + embedding),
  ]);
}

export function elementsScores(shape: ElementsShape, params: Values, batch: Values): Scores {
  const words = wordsOf(shape, params);
  const told = elementsTold(shape, params, batch, words);
  const pooled = mul(matMul(transpose(oneHot(batch.elementOwners, shape.rows)), told.nodes), batch.elementShares);
  const nowhere = mul(slice(told.nodes, 0, 0, 1), 0);
  const target = gather(concat([told.nodes, nowhere], 0), batch.targets, 0);
  const kind = gather(words, batch.kinds, 0);
  const text = bag(words, batch.texts);
  const beside = bag(words, batch.beside);
  const goal = gather(told.goal, batch.owners, 0);
  const named = dense(params, 'target', target);
  const products = [mul(named, kind), mul(named, text), mul(named, beside), mul(text, goal)];
  const pooledHere = gather(pooled, batch.owners, 0);
  const pair = concat([target, pooledHere, kind, text, ...products, batch.actionCounts], 1);
  const first = relu(dense(params, 'pair', pair));
  return headScores(shape, params, { first, slots: batch.slots, told: () => concat([pooled, told.goal], 1) });
}

/** Elements once they have heard of their neighbours, [nodes, width], and the goal's words together, [rows, embedding]. */
function elementsTold(
  shape: ElementsShape,
  params: Values,
  batch: Values,
  words: Value,
): { nodes: Value; goal: Value } {
  const tokens = gather(words, batch.goal, 0);
  const goal = mul(reduceSum(tokens, [1]), batch.goalScales);
  const own = mul(bag(words, batch.words), batch.wordScales);
  const found = attended(shape, params, batch, { own, keys: goalKeys(shape, params, tokens) });
  const products = [mul(own, found), mul(own, gather(goal, batch.elementOwners, 0))];
  const read = relu(dense(params, 'read', concat([own, found, ...products, batch.counts], 1)));
  let nodes = mul(read, batch.elementIs);
  for (let round = 0; round < shape.rounds; round++) {
    const heard = relu(dense(params, `message.${round}`, concat(messages(nodes, batch), 1)));
    nodes = mul(add(nodes, heard), batch.elementIs);
  }
  return { nodes, goal };
}

/** Words of the goal, each with the one before and the one after it: [rows, GOAL_TOKENS, embedding]. */
function goalKeys({ rows, embedding }: ElementsShape, params: Values, tokens: Value): Value {
  const none = mul(slice(tokens, 1, 0, 1), 0);
  const before = concat([none, slice(tokens, 1, 0, GOAL_TOKENS - 1)], 1);
  const after = concat([slice(tokens, 1, 1, GOAL_TOKENS), none], 1);
  const flat = reshape(concat([tokens, before, after], 2), [rows * GOAL_TOKENS, 3 * embedding]);
  return reshape(dense(params, 'goal', flat), [rows, GOAL_TOKENS, embedding]);
}

/** What each element finds of itself in the goal of its situation: [nodes, embedding]. */
function attended(
  { embedding }: ElementsShape,
  params: Values,
  batch: Values,
  { own, keys }: { readonly own: Value; readonly keys: Value },
): Value {
  const query = mul(dense(params, 'query', own), 1 / Math.sqrt(embedding));
  const read = gather(keys, batch.elementOwners, 0);
  const nothing = mul(sub(gather(batch.goalIs, batch.elementOwners, 0), 1), -NO_COMMAND);
  const weights = softmax(add(reduceSum(mul(read, unsqueeze(query, [1])), [2]), nothing));
  return reduceSum(mul(read, unsqueeze(weights, [2])), [1]);
}

function messages(nodes: Value, batch: Values): Value[] {
  const nowhere = mul(slice(nodes, 0, 0, 1), 0);
  const open = concat([nodes, nowhere], 0);
  const sums = scatterAddRows(mul(open, 0), batch.parents, nodes);
  const count = nodes.shape[0] as number;
  const children = mul(slice(sums, 0, 0, count), batch.childShares);
  const from = (places: Value) => gather(open, places, 0);
  return [nodes, from(batch.parents), children, from(batch.before), from(batch.after)];
}
