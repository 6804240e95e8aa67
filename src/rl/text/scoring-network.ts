// A network that gives each admissible command a score: what such networks share, whatever they read of a situation. A softmax over the
// scores is a policy (scored-learner.ts); the scores themselves, taught what choices came to, are a value model (value-model.ts).

import type { ParamLayout, Value } from '../../nn/index.js';
import type { TextSituation } from './text-policy.js';

/** Most commands of one situation. */
export const MAX_COMMANDS = 256;

/** A score that no command has. */
export const NO_COMMAND = -1e9;

export type Feeds = Readonly<Record<string, Float32Array | Int32Array>>;
export type Values = Readonly<Record<string, Value>>;
export type BatchInputs = Readonly<
  Record<string, { readonly dtype: 'float32' | 'int32'; readonly shape: readonly number[] }>
>;

export interface Scores {
  /** [rows, MAX_COMMANDS], NO_COMMAND where there is no command. */
  readonly scores: Value;
  /** [rows], what a critic expects; absent without one. */
  readonly values?: Value;
}

/** Settings, and the same nodes over the same fixed shapes for whatever is made of the scores. */
export interface ScoringNetwork<Encoded> {
  readonly name: string;
  readonly settings: object;
  /** Situations of one run of a graph. */
  readonly rows: number;
  readonly layout: ParamLayout;
  /** What a graph is fed of a batch. */
  readonly inputs: BatchInputs;
  scores(params: Values, batch: Values): Scores;
  /** @throws TEXT_TOO_MANY_COMMANDS, and what else cannot be read */
  encode(situation: TextSituation): Encoded;
  /** Indices of situations, in order, as batches that fit. */
  packed(situations: readonly Encoded[]): number[][];
  /** One of `packed`. */
  batchOf(situations: readonly Encoded[]): Feeds;
}

/** Commands that the situations of one run may have together: room for one situation, or for as many as they have on average. */
export function pairsOf({ rows }: { readonly rows: number }): number {
  return Math.max(MAX_COMMANDS, 32 * rows);
}

/**
 * Indices in order, as batches of at most `rows` in which no size is exceeded.
 * @param sizes  of each situation, what it takes of each room; one alone always fits
 */
export function packedBy(sizes: readonly (readonly number[])[], rooms: readonly number[], rows: number): number[][] {
  const batches: number[][] = [];
  let taken: readonly number[] = [];
  sizes.forEach((own, i) => {
    const last = batches.at(-1);
    const together = own.map((size, k) => size + (taken[k] ?? 0));
    if (last === undefined || last.length === rows || together.some((size, k) => size > rooms[k])) {
      batches.push([i]);
      taken = own;
    } else {
      last.push(i);
      taken = together;
    }
  });
  return batches;
}
