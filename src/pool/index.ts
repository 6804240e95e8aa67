// The room of worker threads: the one pool, and what can be sent there.

export { type InOrderOptions, inOrder } from './in-order.js';
export { shareBytes, unshareBytes } from './shared-bytes.js';
export { moved, type PoolTask, poolTask, type TaskContext } from './task.js';
export { type RunOptions, WorkerPool, type WorkerPoolOptions } from './worker-pool.js';
