// Ranking policies: what is measured on them and what it says.

export { rankInstrument, unrankable } from './rank-instrument.js';
export { crossedBootstrap, type LadderReturns, type LadderStatistic } from './rank-metrics.js';
export type * from './rank-source.js';
