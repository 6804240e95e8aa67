// What dreamt rows are worth to a learner.

export { type LearningOptions, type LearningRow, learningInstrument, unlearnable } from './learning-instrument.js';
export type { LearningSource, Ratio } from './learning-source.js';
