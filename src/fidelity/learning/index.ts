// What dreamt data is worth to a learner.

export * from './choice/index.js';
export { learningInstrument, unlearnable } from './learning-instrument.js';
export type * from './learning-source.js';
