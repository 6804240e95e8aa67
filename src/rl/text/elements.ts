// A network over the elements of a screen as policy of text, in the class of DOM-Q-NET (Jia et al. 2019, 1902.07257): it reads the typed
// tree that the text of a screen is drawn from, so it works in worlds of screens alone.

import { z } from 'zod';
import type { Rng } from '../../core/rng.js';
import {
  ACTION_COUNTS,
  BESIDE_TOKENS,
  ELEMENT_COUNTS,
  ELEMENT_TOKENS,
  type EncodedScreen,
  encodeScreen,
  GOAL_TOKENS,
  TEXT_TOKENS,
} from './elements-encoding.js';
import { type ElementsShape, elementInputs, elementsLayout, elementsScores, nodesOf } from './elements-graph.js';
import { makeScoredLearner } from './scored-learner.js';
import { type Feeds, MAX_COMMANDS, packedBy, pairsOf, type ScoringNetwork } from './scoring-network.js';
import type { TextLearner, TextObjective } from './text-policy.js';
import { makeScoredValues, type TextValueModel } from './value-model.js';

export const elementsSchema = z.strictObject({
  vocabulary: z.int().min(64).max(1_000_000).default(8192).describe('Rows of the table that words are hashed into.'),
  embedding: z.int().min(4).max(512).default(32).describe('Numbers of a word.'),
  width: z.int().min(4).max(512).default(48).describe('Numbers of an element.'),
  rounds: z
    .int()
    .min(0)
    .max(8)
    .default(3)
    .describe('Times that elements hear of their parents, children and siblings.'),
  hidden: z
    .tuple([z.int().min(4).max(1024), z.int().min(4).max(1024)])
    .default([128, 64])
    .describe('Widths of the two hidden layers that score an action.'),
  rows: z
    .int()
    .min(1)
    .max(1024)
    .default(64)
    .describe('Situations of a batch: of a gradient step, and decided at once.'),
  critic: z
    .boolean()
    .optional()
    .describe('Whether it also says what is still to come; by default where the algorithm needs that.'),
});
export type ElementsSettings = z.infer<typeof elementsSchema>;

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

/** @param rng draws the initial weights */
export function makeElements(given: ElementsSettings, objective: TextObjective, rng: Rng): Promise<TextLearner> {
  const settings = (objective.valueCoefficient ?? 0) > 0 ? { critic: true, ...given } : given;
  return makeScoredLearner(elementsNetwork(settings), objective, rng);
}

/** What each command is worth, by the same network. @param rng draws the initial weights */
export function makeElementsValues(settings: ElementsSettings, rng: Rng): Promise<TextValueModel> {
  return makeScoredValues(elementsNetwork(settings), rng);
}

/** Screens laid into the fixed shapes of the graphs, all elements and all actions one after the other. */
function batchOf(screens: readonly EncodedScreen[], shape: ElementsShape): Feeds {
  const feeds = emptyFeeds(shape);
  const nodes = nodesOf(shape);
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
    feeds.owners.fill(row, pair, pair + actions);
    for (let i = 0; i < actions; i++) feeds.slots[row * MAX_COMMANDS + i] = pair + i;
    node += elements;
    pair += actions;
  });
  return feeds;
}

type ScreenFeeds = {
  readonly [Name in keyof ReturnType<typeof elementInputs>]: ReturnType<
    typeof elementInputs
  >[Name]['dtype'] extends 'int32'
    ? Int32Array
    : Float32Array;
};

/** Padding alone: elements and actions of nobody, which name no element and have no neighbour. */
function emptyFeeds(shape: ElementsShape): ScreenFeeds {
  const [pairs, nodes] = [pairsOf(shape), nodesOf(shape)];
  const behind: Readonly<Record<string, number>> = {
    parents: nodes,
    before: nodes,
    after: nodes,
    targets: nodes,
    slots: pairs,
  };
  const made = Object.entries(elementInputs(shape)).map(([name, { dtype, shape: dims }]) => {
    const size = dims.reduce((product, dim) => product * dim, 1);
    return [name, dtype === 'int32' ? new Int32Array(size).fill(behind[name] ?? 0) : new Float32Array(size)];
  });
  return Object.fromEntries(made) as ScreenFeeds;
}

/** 1 / sqrt(tokens). */
function scaleOf(tokens: Int32Array): number {
  return 1 / Math.sqrt(Math.max(tokens.filter((token) => token !== 0).length, 1));
}
