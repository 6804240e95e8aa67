// A network over the elements of a screen as policy of text, in the class of DOM-Q-NET (Jia et al. 2019, 1902.07257): it reads the typed
// tree that the text of a screen is drawn from, so it works in worlds of screens alone.

import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import { joinedIntegers } from '../../core/statistics.js';
import { parseAction, SCREEN_ACTIONS } from '../../env/screens/screen-actions.js';
import type { ScreenElement, ScreenView } from '../../env/screens/screen-state.js';
import type { CallSpec } from '../../env/tools/domain.js';
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
  bag,
  checkCommands,
  criticKeys,
  dense,
  emptyFeeds,
  type Feeds,
  headKeys,
  headLayers,
  headScores,
  layer,
  layPairs,
  MAX_COMMANDS,
  NO_COMMAND,
  packedBy,
  pairsOf,
  placeOf,
  type SaidBefore,
  type Scores,
  type ScoringNetwork,
  type ScoringShape,
  saidBefore,
  saidCounts,
  shareOf,
  tokensOf,
  type Values,
  wordKeys,
  wordsOf,
  wordTable,
} from './scoring.js';
import type { TextSituation } from './text-policy.js';

/** Most elements of one screen. */
const MAX_ELEMENTS = 512;
/** Tokens of the goal, of an element, of an action's text, and of what stands before that text in the goal: the first of each. */
const GOAL_TOKENS = 40;
const ELEMENT_TOKENS = 12;
const TEXT_TOKENS = 8;
const BESIDE_TOKENS = 3;
/** What is counted of an element, and of an action: see `countsOfElement`, `countsOfAction`. */
const ELEMENT_COUNTS = 18;
const ACTION_COUNTS = 9;

interface EncodedScreen {
  /** [GOAL_TOKENS] */
  readonly goal: Int32Array;
  /** [elements, ELEMENT_TOKENS], in the order of the tree; 0 stands for no token. */
  readonly words: Int32Array;
  /** [elements, ELEMENT_COUNTS] */
  readonly counts: Float32Array;
  /** [elements], the place of each; -1: there is none. */
  readonly parents: Int32Array;
  readonly before: Int32Array;
  readonly after: Int32Array;
  /** [elements] */
  readonly children: Int32Array;
  /** [actions], the place of the element that each names; -1: it names none. */
  readonly targets: Int32Array;
  /** [actions] */
  readonly kinds: Int32Array;
  /** [actions, TEXT_TOKENS] and [actions, BESIDE_TOKENS] */
  readonly texts: Int32Array;
  readonly beside: Int32Array;
  /** [actions, ACTION_COUNTS] */
  readonly actionCounts: Float32Array;
}

export const elementsSchema = z.strictObject({
  ...wordKeys,
  width: z.int().min(4).max(512).default(48).describe('Numbers of an element.'),
  rounds: z
    .int()
    .min(0)
    .max(8)
    .default(3)
    .describe('Times that elements hear of their parents, children and siblings.'),
  ...headKeys('an action'),
  ...criticKeys,
});
type ElementsSettings = z.infer<typeof elementsSchema>;

export function elementsNetwork(settings: ElementsSettings): ScoringNetwork<EncodedScreen> {
  return {
    name: 'elements',
    settings,
    rows: settings.rows,
    layout: elementsLayout(settings),
    inputs: elementInputs(settings),
    scores: (params, batch) => elementsScores(settings, params, batch),
    encode: (situation) => encodeScreen(situation, settings.vocabulary),
    packed: (screens) => {
      const sizes = screens.map(({ kinds, parents }) => [kinds.length, parents.length]);
      return packedBy(sizes, [pairsOf(settings), nodesOf(settings)], settings.rows);
    },
    batchOf: (screens) => batchOf(screens, settings),
  };
}

/** Screens laid into the fixed shapes of the graphs, all elements and all actions one after the other. */
function batchOf(screens: readonly EncodedScreen[], shape: ElementsShape): Feeds {
  const nodes = nodesOf(shape);
  const feeds = emptyFeeds(elementInputs(shape), {
    // Of nobody: they name no element and have no neighbour.
    ...{ parents: nodes, before: nodes, after: nodes, targets: nodes },
    slots: pairsOf(shape),
  });
  let [node, pair] = [0, 0];
  screens.forEach((screen, row) => {
    const elements = screen.parents.length;
    const actions = screen.kinds.length;
    const shifted = (places: Int32Array) => places.map((place) => (place < 0 ? nodes : node + place));
    feeds.goal.set(screen.goal, row * GOAL_TOKENS);
    feeds.goalIs.set(
      Float32Array.from(screen.goal, (token) => (token === 0 ? 0 : 1)),
      row * GOAL_TOKENS,
    );
    feeds.goalScales[row] = scaleOf(screen.goal);
    feeds.elementShares[row] = 1 / elements;
    feeds.words.set(screen.words, node * ELEMENT_TOKENS);
    feeds.counts.set(screen.counts, node * ELEMENT_COUNTS);
    feeds.elementIs.fill(1, node, node + elements);
    feeds.elementOwners.fill(row, node, node + elements);
    for (let i = 0; i < elements; i++) {
      const { children, words } = screen;
      feeds.wordScales[node + i] = scaleOf(words.subarray(i * ELEMENT_TOKENS, (i + 1) * ELEMENT_TOKENS));
      feeds.childShares[node + i] = children[i] === 0 ? 0 : 1 / children[i];
    }
    for (const key of ['parents', 'before', 'after'] as const) feeds[key].set(shifted(screen[key]), node);
    feeds.targets.set(shifted(screen.targets), pair);
    feeds.kinds.set(screen.kinds, pair);
    feeds.texts.set(screen.texts, pair * TEXT_TOKENS);
    feeds.beside.set(screen.beside, pair * BESIDE_TOKENS);
    feeds.actionCounts.set(screen.actionCounts, pair * ACTION_COUNTS);
    layPairs(feeds, { row, pair, count: actions });
    node += elements;
    pair += actions;
  });
  return feeds;
}

/** 1 / sqrt(tokens). */
function scaleOf(tokens: Int32Array): number {
  return 1 / Math.sqrt(Math.max(tokens.filter((token) => token !== 0).length, 1));
}

// Nodes of the graph: each element's words and counts, and what it finds of itself in the goal (attention over the goal's words); some
// rounds of messages between parents, children and siblings; and a score for each action, of its element, its kind and its text. Fixed
// shapes: so many situations, and all their elements and all their actions one after the other, padded.

interface ElementsShape extends ScoringShape {
  /** Numbers of an element. */
  readonly width: number;
  /** Rounds of messages. */
  readonly rounds: number;
}

/** Elements that the situations of one run may have together. */
function nodesOf({ rows }: Pick<ElementsShape, 'rows'>): number {
  return Math.max(MAX_ELEMENTS, 24 * rows);
}

/** What a graph is fed of a batch. Places of padding, and of no neighbour, are those behind the last element or action. */
function elementInputs(shape: Pick<ElementsShape, 'rows'>) {
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

function elementsLayout(shape: ElementsShape): ParamLayout {
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

function elementsScores(shape: ElementsShape, params: Values, batch: Values): Scores {
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

// A screen as it is read: each element by hashed words and by what can be counted of it (how it stands, how much of its words the goal
// names, whether it was acted on), its neighbours in the tree, and each action by the element that it names, its kind, its text, and the
// words before that text in the goal.

/** @throws DOMAIN_UNFIT where there is no screen, or too large a one; DOMAIN_UNFIT */
export function encodeScreen(situation: TextSituation, vocabulary: number): EncodedScreen {
  checkCommands(situation);
  const { admissible, goal } = situation;
  const screen = screenOf(situation);
  const order = inOrder(screen);
  if (order.length > MAX_ELEMENTS)
    throw unreadable(`the screen has ${order.length} elements, more than ${MAX_ELEMENTS}`);
  const places = new Map(order.map(({ id }, i) => [id, i]));
  const memory = remembered(situation, goal);
  const acts = admissible.map((line) => actOf(line));
  const hashed = (tokens: readonly string[], size: number) =>
    fitted(
      tokens.slice(0, size).map((token) => placeOf(token, vocabulary)),
      size,
    );
  return {
    goal: hashed(tokensOf(goal), GOAL_TOKENS),
    words: joinedIntegers(order.map(({ element }) => hashed(elementWords(element), ELEMENT_TOKENS))),
    counts: Float32Array.from(order.flatMap((node) => countsOfElement(node, screen, memory))),
    ...neighbours(order, places),
    targets: Int32Array.from(acts, ({ bid }) => places.get(bid) ?? -1),
    kinds: Int32Array.from(acts, ({ name }) => placeOf(name, vocabulary)),
    texts: joinedIntegers(acts.map(({ text }) => hashed(tokensOf(text), TEXT_TOKENS))),
    beside: joinedIntegers(acts.map(({ text }) => hashed(tokensBefore(goal, text), BESIDE_TOKENS))),
    actionCounts: Float32Array.from(
      acts.flatMap((act, i) => countsOfAction(admissible[i], act, screen.elements[act.bid], memory)),
    ),
  };
}

interface Act {
  readonly name: string;
  /** Id of the element that it names; empty where it names none. */
  readonly bid: string;
  readonly text: string;
}

interface Node {
  readonly id: string;
  readonly element: ScreenElement;
  readonly parent: string;
  readonly depth: number;
  /** Among the children of its parent, and how many these are. */
  readonly at: number;
  readonly of: number;
}

interface Memory {
  readonly goal: string;
  readonly goalWords: ReadonlySet<string>;
  /** What the goal names in quotes, in lower case and in order. */
  readonly quoted: readonly string[];
  readonly said: SaidBefore;
  /** Elements that were acted on. */
  readonly acted: ReadonlySet<string>;
  readonly lastActed: string;
  readonly turns: number;
}

function screenOf({ shown }: TextSituation): ScreenView {
  const { root, elements } = (shown ?? {}) as Partial<ScreenView>;
  if (typeof root !== 'string' || elements?.[root] === undefined)
    throw unreadable(shown === undefined ? 'the world shows no tree of elements' : 'its tree has no root');
  return shown as unknown as ScreenView;
}

function unreadable(problem: string) {
  return reverieError('DOMAIN_UNFIT', {
    problem: `The network "elements" cannot read what a situation shows: ${problem}.`,
    hint: 'Use rl.network=relevance, which reads any world of text; "elements" is for screens of up to 512 elements.',
  });
}

function inOrder({ root, elements }: ScreenView): Node[] {
  const nodes: Node[] = [];
  const open: Node[] = [{ id: root, element: elements[root], parent: '', depth: 0, at: 0, of: 1 }];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    nodes.push(node);
    const { id: parent, depth } = node;
    const children = node.element.children.filter((id) => elements[id] !== undefined);
    const below = children.map((id, at) => ({
      id,
      element: elements[id],
      parent,
      depth: depth + 1,
      at,
      of: children.length,
    }));
    open.push(...below.reverse());
  }
  return nodes;
}

function neighbours(order: readonly Node[], places: ReadonlyMap<string, number>) {
  const parents = Int32Array.from(order, ({ parent }) => places.get(parent) ?? -1);
  const beside = (step: number) =>
    Int32Array.from(order, ({ at }, i) => {
      if (parents[i] < 0) return -1;
      const id = order[parents[i]].element.children[at + step];
      return id === undefined ? -1 : (places.get(id) ?? -1);
    });
  const children = Int32Array.from(order, ({ element }) => element.children.filter((id) => places.has(id)).length);
  return { parents, before: beside(-1), after: beside(1), children };
}

function remembered({ turns }: TextSituation, goal: string): Memory {
  const acted = turns.map((turn) => actOf(turn.said).bid).filter((bid) => bid !== '');
  return {
    goal: goal.toLowerCase(),
    goalWords: new Set(tokensOf(goal)),
    quoted: [...goal.matchAll(/"([^"]+)"/g)].map(([, text]) => text.toLowerCase()),
    said: saidBefore(turns),
    acted: new Set(acted),
    lastActed: acted.at(-1) ?? '',
    turns: turns.length,
  };
}

/** What a line does; one that is no action is a name alone. */
function actOf(line: string): Act {
  const call = parseAction(line, SCREEN_ACTIONS);
  if (typeof call === 'string') return { name: line, bid: '', text: '' };
  const { bid = call.arguments.from_bid, ...given } = call.arguments as CallSpec['arguments'];
  const text = Object.values(given).flat().map(String).join(' ');
  return { name: call.name, bid: bid === undefined ? '' : String(bid), text };
}

/** Its role, its name as a whole, and the words of all that it says. */
function elementWords({ role, name, value, classes, color }: ScreenElement): string[] {
  const told = [name, value, classes, color].map((text) => String(text ?? ''));
  return [role, ...(name === '' ? [] : [name.toLowerCase()]), ...told.flatMap(tokensOf)];
}

function countsOfElement({ id, element, depth, at, of }: Node, { focused }: ScreenView, memory: Memory): number[] {
  const { name, value, checked, selected, expanded, disabled } = element;
  const own = tokensOf(name);
  const called = name.toLowerCase();
  const flags = [
    checked === true,
    checked === false,
    selected === true,
    expanded === true,
    disabled === true,
    id === focused,
    value !== undefined && value !== '',
    element.children.length > 0,
    memory.acted.has(id),
    id === memory.lastActed,
    called !== '' && memory.goal.includes(called),
    memory.quoted.includes(called),
    value !== undefined && memory.quoted.includes(String(value).toLowerCase()),
  ];
  return [
    ...flags.map(Number),
    shareOf(own, memory.goalWords),
    nthOf(called, memory.quoted),
    Math.min(depth, 10) / 10,
    (at + 1) / of,
    Math.min(own.length, 8) / 8,
  ];
}

function countsOfAction(
  line: string,
  { bid, text }: Act,
  element: ScreenElement | undefined,
  memory: Memory,
): number[] {
  return [
    ...saidCounts(line, memory.said, memory.turns),
    memory.acted.has(bid) ? 1 : 0,
    text !== '' && element?.value === text ? 1 : 0,
    shareOf(tokensOf(text), memory.goalWords),
    nthOf(text.toLowerCase(), memory.quoted),
    Math.min(memory.quoted.length, 4) / 4,
    Math.min(memory.turns, 20) / 20,
  ];
}

/** 1 where it is the first of the texts, 1/2 the second, and so on; 0 where it is none. */
function nthOf(text: string, texts: readonly string[]): number {
  const at = texts.indexOf(text);
  return at < 0 ? 0 : 1 / (at + 1);
}

/** The last words before a text where the goal names it first. */
function tokensBefore(goal: string, text: string): readonly string[] {
  const at = text === '' ? -1 : goal.indexOf(text);
  return at < 0 ? [] : tokensOf(goal.slice(0, at)).slice(-BESIDE_TOKENS);
}

function fitted(places: readonly number[], size: number): Int32Array {
  const row = new Int32Array(size);
  row.set(places);
  return row;
}
