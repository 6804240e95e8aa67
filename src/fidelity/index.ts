// The room of fidelity: how far a dream is from the real, as numbers with intervals.

export type * from './instrument.js';
export { type ChunkAddress, type MeasureOptions, measureSubjects } from './measure.js';
export * from './report/fidelity-report.js';
export { type Estimate, NOTHING } from './statistics/estimate.js';
