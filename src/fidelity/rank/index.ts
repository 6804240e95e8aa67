// Ranking policies: what is measured on them and what it says.

export { crossedBootstrap, type LadderReturns, type LadderStatistic } from './crossed-bootstrap.js';
export { rankInstrument, unrankable } from './rank-instrument.js';
export type * from './rank-source.js';
