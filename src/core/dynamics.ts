// What would happen next: the contract of every world model, whatever it is made of. Batched, and with a memory: a carry
// is what a model has to remember of its rows between steps, and nobody but the model looks inside.
// An ensemble's carry is the last observation, a recurrent model's its latent, a sequence model's its cache, a router's the
// typed state and the conversation.

import type { Awaitable } from './environment.js';
import type { Rng } from './rng.js';
import type { Space } from './spaces.js';

/**
 * Where randomness comes from: one stream for the batch as a whole, or a stream for each row. Given a stream a row, row r's
 * answer, and how far its stream moves, are to the byte what they are with the row alone, whatever rows lie beside it.
 */
export type Rngs = Rng | readonly Rng[];

/** A model's memory of `rows` rows. Immutable: a step answers a new one, so an old one can be gone on from again (a fork). */
export interface Carry {
  readonly rows: number;
}

/** A carry put away: structured-clonable and JSON-safe, for snapshots, other threads and disk. */
export interface FrozenCarry {
  /** Version of the model, or of the policy, whose memory it is. */
  readonly version: string;
  readonly state: unknown;
}

/** What keeps carries: every model, and every policy that has a memory (policy.ts). */
export interface Memory<C extends Carry> {
  /** The memory of these rows, in this order; a row taken twice is a fork. */
  pick(carry: C, rows: Uint32Array): C;
  /** The memory of all rows of these (one at least), one after the other: rows that began apart are asked as one batch. */
  join(carries: readonly C[]): C;
  freeze(carry: C): FrozenCarry;
  /** @throws SNAPSHOT_MISMATCH for a carry of another version */
  revive(frozen: FrozenCarry): C;
}

/** How a model is asked. Settings that a kind of model does not know do not change its answer. */
export interface ImagineOptions {
  /** One random elite a row and step (TS1), or the elites' mean. PETS, 1805.12114, section 5. */
  readonly propagation?: 'ts1' | 'mean';
  /** Also answer `disagreement`. @throws DISAGREEMENT_UNAVAILABLE by models without a second opinion */
  readonly disagreement?: boolean;
  /** The most likely answer instead of a sample. */
  readonly deterministic?: boolean;
}

/** What one imagined step of all rows gave; structures of arrays that nobody writes to, as the carry may share them. */
export interface Imagined<C extends Carry, O> {
  readonly carry: C;
  readonly observation: O;
  /** [rows] */
  readonly reward: Float32Array;
  /** [rows], 1 = ended by the task. */
  readonly terminated: Uint8Array;
  /** [rows], epistemic doubt in the model's own units, 0 = none; where it was asked for. */
  readonly disagreement?: Float32Array;
  /** [rows], how sure the model is, in (0, 1]; where it can say. */
  readonly confidence?: Float32Array;
  /** [rows], who answered, where that differs between rows; else all were answered by `backend`. */
  readonly answeredBy?: readonly string[];
}

/**
 * @typeParam C its carry @typeParam O a batch of observations @typeParam A a batch of actions. For numbers both are
 * Float32Array, row-major [rows, dim]; for structured worlds arrays of `rows` elements.
 */
export interface Dynamics<C extends Carry, O, A> extends Memory<C> {
  /** Kind of dynamics, recorded as `backend` with every transition. */
  readonly backend: string;
  /** Hash of weights and configuration: equal versions give equal bytes. */
  readonly modelVersion: string;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** Real steps before a start that `follow` should be shown for the carry to be worth anything; 0 for a model without memory. */
  readonly context: number;
  /** A first memory, from observations alone. @throws as `imagine` */
  begin(starts: O, rngs: Rngs): Awaitable<C>;
  /** Takes in what was really seen: `action` led to `seen`. Draws nothing. @throws as `imagine` */
  follow(carry: C, action: A, seen: O): Awaitable<C>;
  /**
   * One step of every row. Same carry, action and streams, same bytes.
   * @throws MODEL_INPUT_INVALID for batches or streams of another number of rows or values outside their space,
   * NON_FINITE_VALUE for NaN or infinity going in or coming out; streams may have moved then.
   */
  imagine(carry: C, action: A, rngs: Rngs, options?: ImagineOptions): Awaitable<Imagined<C, O>>;
  close(): Promise<void>;
}

/** A memory in which rows `rows` are those of `fresh`, in that order. */
export function exchangeRows<C extends Carry>(memory: Memory<C>, carry: C, rows: Uint32Array, fresh: C): C {
  const order = Uint32Array.from({ length: carry.rows }, (_, row) => row);
  for (const [at, row] of rows.entries()) order[row] = carry.rows + at;
  return memory.pick(memory.join([carry, fresh]), order);
}

/** Float32 values as text for a frozen carry: base64, as decimal JSON would lose the sign of zero. */
export function packFloats(values: Float32Array): string {
  const { buffer, byteOffset, byteLength } = values;
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString('base64');
}

/** What `packFloats` was given. */
export function unpackFloats(text: string): Float32Array {
  return new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer);
}
