// What are dreamt rows worth to a learner? The same learner on real rows, on dreamt ones and on mixtures, judged for real.

import type { Finding, Instrument } from '../instrument.js';
import { LEARNING_TITLE, learningFinding } from './learning-finding.js';
import type { LearningSource, Ratio } from './learning-source.js';

/** One trained learner. */
export type LearningRow = {
  readonly ratio: Ratio;
  readonly seed: number;
  readonly returns: readonly number[];
};

export interface LearningOptions {
  /** Of the bootstrap. */
  readonly seed: number;
  /** What a reader must know of the learner and its rows. */
  readonly notes?: readonly string[];
}

export function learningInstrument(source: LearningSource, options: LearningOptions): Instrument<LearningRow> {
  const arms: readonly Ratio[] = [null, ...source.ratios];
  return {
    id: 'learning',
    unit: 'learners',
    chunks: arms.length * source.seeds,
    measure: async (chunk, signal) => {
      const ratio = arms[chunk % arms.length];
      const seed = Math.floor(chunk / arms.length);
      return [{ ratio, seed, returns: await source.learn(ratio, seed, signal) }];
    },
    conclude: (rows) => learningFinding(rows, source, options),
  };
}

/** The section of a model on whose rows nothing could be learned, with the reason. */
export function unlearnable(reason: string): Instrument<LearningRow> {
  const finding: Finding = {
    section: {
      ...{ id: 'learning', title: LEARNING_TITLE, summary: 'Not measured.' },
      ...{ metrics: [], charts: [], tables: [], worst: [], notes: [reason] },
    },
    samples: {},
  };
  return { id: 'learning', unit: 'learners', chunks: 0, measure: async () => [], conclude: () => finding };
}
