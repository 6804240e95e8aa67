// What passes between a pool and its threads: one message a task, one reply a task, and reports on the way.

import type { PackedError } from '../core/errors.js';
import type { StopFlag } from '../core/stop-flag.js';

export interface TaskMessage {
  readonly kind: 'task';
  /** Unique within the pool. */
  readonly id: number;
  readonly module: string;
  readonly name: string;
  readonly input: unknown;
  readonly stop: StopFlag;
}

/** Asks for nothing: a message that makes the pool start a thread. */
export interface WakeMessage {
  readonly kind: 'wake';
}

export type PoolMessage = TaskMessage | WakeMessage;

/** `reports`: how many were sent before it, as these come on a way of their own. */
export type PoolReply =
  | { readonly kind: 'done'; readonly value: unknown; readonly reports: number }
  | { readonly kind: 'failed'; readonly error: PackedError; readonly reports: number };

export interface PoolReport {
  readonly id: number;
  readonly note: unknown;
}
