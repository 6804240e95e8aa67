// A relevance network as policy of text, in the class of DRRN (He et al., 1511.04636): what was told and each command are sums of
// embedded words; their products and what can be counted of them go through a perceptron to a score; a softmax over the commands
// that do something is the policy.

import { z } from 'zod';
import {
  BAGS,
  COMMAND_TOKENS,
  CONTEXT_TOKENS,
  COUNTS,
  type EncodedSituation,
  encodeSituation,
} from './relevance-encoding.js';
import { batchInputs, relevanceLayout, relevanceScores } from './relevance-graph.js';
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

export const relevanceSchema = z.strictObject({
  ...wordKeys,
  ...headKeys('a command'),
  history: z.int().min(0).max(50).default(4).describe('Turns before the last whose texts are read.'),
  ...criticKeys,
});
export type RelevanceSettings = z.infer<typeof relevanceSchema>;

export function relevanceNetwork(settings: RelevanceSettings): ScoringNetwork<EncodedSituation> {
  const { rows } = settings;
  return {
    name: 'relevance',
    settings,
    rows,
    layout: relevanceLayout(settings),
    inputs: batchInputs(settings),
    scores: (params, batch) => relevanceScores(settings, params, batch),
    encode: (situation) => encodeSituation(situation, settings),
    packed: (situations) => {
      const sizes = situations.map(({ commandScales: { length } }) => [length]);
      return packedBy(sizes, [pairsOf(settings)], rows);
    },
    batchOf: (situations) => batchOf(situations, settings),
  };
}

/** Situations laid into the fixed shapes of the graphs, all commands one after the other. */
function batchOf(situations: readonly EncodedSituation[], shape: Pick<RelevanceSettings, 'rows'>): Feeds {
  const feeds = emptyFeeds(batchInputs(shape), { slots: pairsOf(shape) });
  let pair = 0;
  situations.forEach((situation, row) => {
    const { length: count } = situation.commandScales;
    feeds.context.set(situation.context, row * CONTEXT_TOKENS);
    feeds.scales.set(situation.scales, row * BAGS.length);
    feeds.shares[row] = 1 / count;
    feeds.commands.set(situation.commands, pair * COMMAND_TOKENS);
    feeds.commandScales.set(situation.commandScales, pair);
    feeds.counts.set(situation.counts, pair * COUNTS);
    layPairs(feeds, { row, pair, count });
    pair += count;
  });
  return feeds;
}
