// What is dreamt data worth to a learner? The same learner on real data, on dreamt and on mixtures, judged for real.

import type { Finding, Instrument } from '../instrument.js';
import { LEARNING_TITLE, learningFinding } from './learning-finding.js';
import type { LearningOptions, LearningRow, LearningSource, Ratio } from './learning-source.js';

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

/** The section of a model on whose data nothing could be learned, with the reason. */
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
