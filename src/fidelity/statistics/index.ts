// Statistics of fidelity: pure functions of numbers, with an `Rng` where they draw. Values are null where nothing was counted.

export * from './bootstrap.js';
export * from './c2st.js';
export * from './confusion.js';
export { kendall, pearson, ranks, spearman } from './correlation.js';
export * from './discrimination.js';
export * from './diversity.js';
export * from './estimate.js';
export * from './gaussian-scores.js';
export * from './interval-coverage.js';
export * from './isotonic.js';
export * from './mmd.js';
export * from './policy-order.js';
export * from './reliability.js';
export * from './share.js';
