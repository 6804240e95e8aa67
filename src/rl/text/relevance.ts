// A relevance network as policy of text, in the class of DRRN (He et al., 1511.04636): what was told and each command are sums of
// embedded words; their products and what can be counted of them go through a perceptron to a score; a softmax over the commands
// that do something is the policy.

import { z } from 'zod';
import type { Rng } from '../../core/rng.js';
import { batchOf, packed } from './relevance-batch.js';
import { type EncodedSituation, encodeSituation } from './relevance-encoding.js';
import { batchInputs, relevanceLayout, relevanceScores } from './relevance-graph.js';
import { makeScoredLearner } from './scored-learner.js';
import type { ScoringNetwork } from './scoring-network.js';
import type { TextLearner, TextObjective } from './text-policy.js';
import { makeScoredValues, type TextValueModel } from './value-model.js';

export const relevanceSchema = z.strictObject({
  vocabulary: z.int().min(64).max(1_000_000).default(8192).describe('Rows of the table that words are hashed into.'),
  embedding: z.int().min(4).max(512).default(32).describe('Numbers of a word.'),
  hidden: z
    .tuple([z.int().min(4).max(1024), z.int().min(4).max(1024)])
    .default([128, 64])
    .describe('Widths of the two hidden layers that score a command.'),
  rows: z
    .int()
    .min(1)
    .max(1024)
    .default(64)
    .describe('Situations of a batch: of a gradient step, and decided at once.'),
  history: z.int().min(0).max(50).default(4).describe('Turns before the last whose texts are read.'),
  critic: z
    .boolean()
    .optional()
    .describe('Whether it also says what is still to come; by default where the algorithm needs that.'),
});
export type RelevanceSettings = z.infer<typeof relevanceSchema>;

export function relevanceNetwork(settings: RelevanceSettings): ScoringNetwork<EncodedSituation> {
  return {
    name: 'relevance',
    settings,
    rows: settings.rows,
    layout: relevanceLayout(settings),
    inputs: batchInputs(settings),
    scores: (params, batch) => relevanceScores(settings, params, batch),
    encode: (situation) => encodeSituation(situation, settings),
    packed: (situations) => packed(situations, settings),
    batchOf: (situations) => batchOf(situations, settings),
  };
}

/** @param rng draws the initial weights */
export function makeRelevance(given: RelevanceSettings, objective: TextObjective, rng: Rng): Promise<TextLearner> {
  const settings = (objective.valueCoefficient ?? 0) > 0 ? { critic: true, ...given } : given;
  return makeScoredLearner(relevanceNetwork(settings), objective, rng);
}

/** What each command is worth, by the same network. @param rng draws the initial weights */
export function makeRelevanceValues(settings: RelevanceSettings, rng: Rng): Promise<TextValueModel> {
  return makeScoredValues(relevanceNetwork(settings), rng);
}
