// Fidelity of world models whose observations are vectors.

export { forecasterOf } from './forecast.js';
export { vectorInstruments } from './instruments.js';
export { type Ground, groundOf, type Judged, type Replay, type VectorPlan } from './plan.js';
export type * from './subject-model.js';
export type { DriftStart, TruthEpisode, VectorTruth } from './truth.js';
