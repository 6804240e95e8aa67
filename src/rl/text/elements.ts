// A network over the elements of a screen as policy of text, in the class of DOM-Q-NET (Jia et al. 2019, 1902.07257): it reads the typed
// tree that the text of a screen is drawn from, so it works in worlds of screens alone.

import { z } from 'zod';
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
import {
  criticKeys,
  emptyFeeds,
  type Feeds,
  headKeys,
  layPairs,
  packedBy,
  pairsOf,
  type ScoringNetwork,
  wordKeys,
} from './scoring-network.js';

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
