export type * from './world-model.js';
