export { allocateBatch, concatBatches, sliceBatch } from './batch.js';
export { ReplayBuffer, type ReplayBufferOptions } from './buffer.js';
export type { ColumnName, Columns } from './columns.js';
export { type MixtureDraw, type MixtureOptions, MixtureSampler, type MixtureSide } from './mixture.js';
export type { Origin } from './origins.js';
export type { RowProvenance } from './provenance.js';
export type { RowStore, Selector, SelectorState } from './selector.js';
export * from './transition.js';
export { UniformSelector } from './uniform.js';
