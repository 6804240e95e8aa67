// A queue whose unit is one rollout: a row of a job, to be run by the process that takes it. What it carries is opaque to it. An
// item that ended stays known, with its result, until it is forgotten. See docs/distributed.md.

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip, gzipSync } from 'node:zlib';
import type { z } from 'zod';
import { describeIssues, type PackedError, reverieError } from '../../core/errors.js';

export interface QueueAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Name of the queue: letters, digits, dashes, underscores. */
  readonly name: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
}

export interface RolloutItem {
  /** 64 hex digits (`rolloutId`): the same rollout always has the same id. */
  readonly id: string;
  /** 64 hex digits: the job whose description says how the rollout is run. */
  readonly job: string;
  /** What tells this rollout from others of its job; a few kilobytes at most. */
  readonly payload: Uint8Array;
}

/** The right to run one item until the lease runs out; a heartbeat renews it. */
export interface Lease {
  readonly token: string;
  readonly item: RolloutItem;
}

/** What a rollout came to. */
export interface RolloutResultBytes {
  /** The same bytes for the same item, whichever worker ran it. */
  readonly bytes: Uint8Array;
  /** What may differ between two workers: which it was, what it spent. A kilobyte at most. */
  readonly note: string;
}

/** Why an item is not done: given back, and another may have it; or it failed, and this try of it is over. */
export type Refusal =
  | { readonly kind: 'given-back' }
  | { readonly kind: 'failed'; readonly error: PackedError; readonly note: string };

export type Outcome =
  | { readonly id: string; readonly state: 'succeeded'; readonly result: RolloutResultBytes }
  /** `error` is undefined if its leases ran out `MAX_LOST_LEASES` times: no worker survives it. */
  | { readonly id: string; readonly state: 'failed'; readonly error: PackedError | undefined; readonly note: string };

/** A process that takes items, as it tells of itself. */
export interface WorkerPresence {
  /** Letters, digits, dashes. */
  readonly id: string;
  /** Items it runs at once. */
  readonly slots: number;
}

/** Items of all jobs that the queue knows, by state; workers that announced themselves lately. */
export type QueueStats = Readonly<Record<'queued' | 'running' | 'succeeded' | 'failed' | 'workers', number>>;

export interface LeaseOptions {
  /** Milliseconds to wait for a first item; 0 or absent: none. */
  readonly waitMs?: number;
  /** Ends the wait early. */
  readonly signal?: AbortSignal;
}

export interface QueueOptions {
  /**
   * Milliseconds after which a lease that was not renewed runs out. A broker has one time for all leases, so this is
   * the queue's, and not each lease's. Who leases nothing gives none: the queue then keeps what it has, at first
   * `DEFAULT_LEASE_MS`.
   */
  readonly leaseMs?: number;
  /** Told when the broker stops or starts answering; what is asked of it meanwhile waits. */
  readonly onTrouble?: (line: string) => void;
}

/** Leases of one item that may run out before it counts as failed. */
export const MAX_LOST_LEASES = 3;

export const DEFAULT_LEASE_MS = 30_000;

/** Seconds for which brokers keep what nobody came back for. */
export const KEPT_SECONDS = 7 * 24 * 3600;

/** Milliseconds for which a worker counts as present after it told of itself. */
export const PRESENCE_MS = 15_000;

/** One process's end of a queue. All may throw QUEUE_REFUSED. */
export interface RolloutQueue {
  /** Makes a job's description known to workers; the first one stands. */
  describe(job: string, description: Uint8Array): Promise<void>;
  /** Undefined if the job is not known. */
  description(job: string): Promise<Uint8Array | undefined>;
  /**
   * Queues items that are unknown, failed or cancelled. Those queued, running or succeeded stay as they are, and of one
   * that succeeded the outcome is told again: so a batch may be enqueued as often as wanted.
   */
  enqueue(batch: readonly RolloutItem[]): Promise<void>;
  /** Cancels those that are queued still; answers their ids. Items that are running go on. */
  cancel(ids: readonly string[]): Promise<readonly string[]>;
  /** Told of each outcome of items enqueued here, at least once. Set before the first is enqueued. */
  onOutcome(listener: (outcome: Outcome) => void): void;
  /** Lets go of ended items enqueued here, and of their results. */
  forget(ids: readonly string[]): Promise<void>;
  /** Up to `n` items, those that waited longest first; none if none came in time. */
  lease(n: number, options?: LeaseOptions): Promise<readonly Lease[]>;
  /** Renews leases; answers those known to be lost: another may hold the item, or it has ended. */
  heartbeat(leases: readonly Lease[]): Promise<readonly Lease[]>;
  /** The item succeeded. The first result stands: true if it is this one. Harmless on a lease that was lost. */
  ack(lease: Lease, result: RolloutResultBytes): Promise<boolean>;
  /** Harmless on a lease that was lost. */
  nack(lease: Lease, refusal: Refusal): Promise<void>;
  /** To be repeated more often than every `PRESENCE_MS`. */
  announce(presence: WorkerPresence): Promise<void>;
  stats(): Promise<QueueStats>;
  /** Leases held here are not given back: they run out. */
  close(): Promise<void>;
}

/** Nothing that is larger than this when it is unpacked is read. */
const MAX_BYTES = 256 << 20;
/** Characters that are packed before a thread could be asked to. */
const SMALL = 4096;

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Those that are small are ready in the order in which they were packed. */
export async function packParcel(value: unknown): Promise<Uint8Array> {
  const text = JSON.stringify(value);
  return text.length < SMALL ? gzipSync(text) : compress(text);
}

/**
 * The value, as it was packed: same keys, same order. `what` names it in errors.
 * @throws QUEUE_REFUSED
 */
export async function openParcel<S extends z.ZodType>(
  bytes: Uint8Array,
  schema: S,
  what: string,
): Promise<z.output<S>> {
  const value = await unpacked(bytes, what);
  checkedMessage(value, schema, what);
  // What the schema makes of it would have its keys in the schema's order.
  return value as z.output<S>;
}

/** @throws QUEUE_REFUSED */
export function checkedMessage<S extends z.ZodType>(value: unknown, schema: S, what: string): z.output<S> {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  throw messageInvalid(what, describeIssues(checked.error));
}

function messageInvalid(what: string, problem: string, cause?: unknown): Error {
  const values = {
    problem: `The queue holds something else where ${what} should be: ${problem}.`,
    hint: 'Something other than this version of Reverie wrote to it: use a queue of another name.',
  };
  return reverieError('QUEUE_REFUSED', values, cause);
}

async function unpacked(bytes: Uint8Array, what: string): Promise<unknown> {
  try {
    return JSON.parse((await decompress(bytes, { maxOutputLength: MAX_BYTES })).toString('utf8'));
  } catch (error) {
    throw messageInvalid(what, (error as Error).message, error);
  }
}

interface RolloutIdentity {
  /** Hash of everything that decides the run's rows. */
  readonly job: string;
  readonly task: string;
  readonly seed: number;
  readonly row: number;
  /** Tries of the row before this one. */
  readonly attempt: number;
}

/** SHA-256, 64 hex digits. */
export function rolloutId({ job, task, seed, row, attempt }: RolloutIdentity): string {
  return createHash('sha256')
    .update(JSON.stringify([job, task, seed, row, attempt]))
    .digest('hex');
}
