// What dreamt rows are worth to a learner.

export { learningInstrument, unlearnable } from './learning-instrument.js';
export type * from './learning-source.js';
