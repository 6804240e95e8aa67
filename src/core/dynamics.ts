// What would happen next: the contract of every world model, whatever it is made of. Batched, and with a memory: a carry
// is what a model has to remember of its rows between steps, and only the model looks inside.
// An ensemble's carry is the last observation; a model with a memory keeps more.

import type { Awaitable, Space } from './environment.js';
import type { Rng } from './rng.js';

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

/** What batches are made of in one representation of the world. The first element of each is row 0's. */
export interface Rows {
  /** What rows begin from. */
  readonly starts: unknown;
  readonly observations: unknown;
  readonly actions: unknown;
}

/** Rows of numbers, row-major [rows, dim]; a start is an observation, a discrete action one element. */
export interface NumberRows extends Rows {
  readonly starts: Float32Array;
  readonly observations: Float32Array;
  readonly actions: Float32Array;
}

/** How a model is asked. Settings that a kind of model does not know do not change its answer. */
export interface ImagineOptions {
  /** One random elite a row and step (TS1), or the elites' mean. PETS, 1805.12114, section 5. */
  readonly propagation?: 'ts1' | 'mean';
  /** Also answer `disagreement`. @throws SETTING_INVALID by models without a second opinion */
  readonly disagreement?: boolean;
  /** The most likely answer instead of a sample. */
  readonly deterministic?: boolean;
  /** Gives up what is waited for, where an answer takes a while: a language model's. */
  readonly signal?: AbortSignal;
}

/** What one imagined step of all rows gave; structures of arrays that are never written to, as the carry may share them. */
export interface Imagined<C extends Carry, O> {
  readonly carry: C;
  readonly observation: O;
  /** [rows] */
  readonly reward: Float32Array;
  /** [rows], 1 = ended by the task. */
  readonly terminated: Uint8Array;
  /** [rows], 1 = so doubtful that the episode should be broken off; where a model says so. */
  readonly truncated?: Uint8Array;
  /** [rows], epistemic doubt in the model's own units, 0 = none; where it was asked for. */
  readonly disagreement?: Float32Array;
  /** [rows], how sure the model is, in (0, 1]; where it can say. */
  readonly confidence?: Float32Array;
  /** [rows], who answered, where that differs between rows; else all were answered by `backend`. */
  readonly answeredBy?: readonly string[];
}

/**
 * @typeParam C its carry
 * @typeParam R the representation of its world: `NumberRows`, or `StructuredRows` (src/env/tools/structured.ts)
 */
export interface Dynamics<C extends Carry, R extends Rows> extends Memory<C> {
  /** Kind of dynamics, recorded as `backend` with every transition. */
  readonly backend: string;
  /** Hash of weights and configuration: equal versions give equal bytes. */
  readonly modelVersion: string;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** A first memory, from what rows begin with alone. @throws as `imagine` */
  begin(starts: R['starts'], rngs: Rngs): Awaitable<C>;
  /** Takes in what was really seen: `action` led to `seen`. Draws nothing. @throws as `imagine` */
  follow(carry: C, action: R['actions'], seen: R['observations']): Awaitable<C>;
  /**
   * One step of every row. Same carry, action and streams, same bytes.
   * @throws DATA_MISMATCH for batches or streams of another number of rows or values outside their space
   * (ACTION_OUT_OF_SPACE where actions are structured), NON_FINITE_VALUE for NaN or infinity going in or coming out; streams may have moved then.
   */
  imagine(
    carry: C,
    action: R['actions'],
    rngs: Rngs,
    options?: ImagineOptions,
  ): Awaitable<Imagined<C, R['observations']>>;
  close(): Promise<void>;
}

/** A memory in which rows `rows` are those of `fresh`, in that order. */
export function exchangeRows<C extends Carry>(memory: Memory<C>, carry: C, rows: Uint32Array, fresh: C): C {
  const order = Uint32Array.from({ length: carry.rows }, (_, row) => row);
  for (const [at, row] of rows.entries()) order[row] = carry.rows + at;
  return memory.pick(memory.join([carry, fresh]), order);
}

/** How one representation keeps rows: what memories are made of, whatever a row is. */
export interface RowCodec<B> {
  pick(batch: B, rows: Uint32Array): B;
  join(batches: readonly B[]): B;
  /** Structured-clonable and JSON-safe. */
  pack(batch: B): unknown;
  unpack(packed: unknown): B;
}

/** Rows of `width` float32 values; packed exactly. */
export function numberRows(width: number): RowCodec<Float32Array> {
  return {
    pick: (values, rows) => {
      const picked = new Float32Array(rows.length * width);
      for (let to = 0; to < rows.length; to++) {
        const from = rows[to] * width;
        for (let k = 0; k < width; k++) picked[to * width + k] = values[from + k];
      }
      return picked;
    },
    join: (parts) => {
      const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
      let at = 0;
      for (const part of parts) {
        all.set(part, at);
        at += part.length;
      }
      return all;
    },
    pack: packFloats,
    unpack: (packed) => unpackFloats(packed as string),
  };
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
