// A network that gives each admissible command a score: what such networks share, whatever they read of a situation. A softmax over the
// scores is a policy (scored-learner.ts); the scores themselves, taught what choices came to, are a value model (value-model.ts).

import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import type { Value } from '../../nn/graph.js';
import type { ParamLayout } from '../../nn/parameters.js';
import type { TextSituation, TextTurn } from './text-policy.js';

export const wordKeys = {
  vocabulary: z.int().min(64).max(1_000_000).default(8192).describe('Rows of the table that words are hashed into.'),
  embedding: z.int().min(4).max(512).default(32).describe('Numbers of a word.'),
};

const width = z.int().min(4).max(1024);

/** @param scored  what its choices are called */
export function headKeys(scored: string) {
  return {
    hidden: z
      .tuple([width, width])
      .default([128, 64])
      .describe(`Widths of the two hidden layers that score ${scored}.`),
    rows: z
      .int()
      .min(1)
      .max(1024)
      .default(64)
      .describe('Situations of a batch: of a gradient step, and decided at once.'),
  };
}

export const criticKeys = {
  critic: z
    .boolean()
    .optional()
    .describe('Whether it also says what is still to come; by default where the algorithm needs that.'),
};

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
  /** @throws DOMAIN_UNFIT, and what else cannot be read */
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

type FeedsOf<Inputs extends BatchInputs> = {
  readonly [Name in keyof Inputs]: Inputs[Name]['dtype'] extends 'int32' ? Int32Array : Float32Array;
};

/** Padding alone. @param behind  what integers of padding are; 0 unless told: places behind the last that there is */
export function emptyFeeds<Inputs extends BatchInputs>(
  inputs: Inputs,
  behind: Readonly<Record<string, number>>,
): FeedsOf<Inputs> {
  const made = Object.entries(inputs).map(([name, { dtype, shape }]) => {
    const size = shape.reduce((product, dim) => product * dim, 1);
    return [name, dtype === 'int32' ? new Int32Array(size).fill(behind[name] ?? 0) : new Float32Array(size)];
  });
  return Object.fromEntries(made) as FeedsOf<Inputs>;
}

/** Which commands are a situation's: so many of `row`, from `pair` on. */
export function layPairs(
  { owners, slots }: { readonly owners: Int32Array; readonly slots: Int32Array },
  { row, pair, count }: { readonly row: number; readonly pair: number; readonly count: number },
): void {
  owners.fill(row, pair, pair + count);
  for (let i = 0; i < count; i++) slots[row * MAX_COMMANDS + i] = pair + i;
}

/** @throws DOMAIN_UNFIT also where there are none */
export function checkCommands({ admissible: { length: count } }: TextSituation): void {
  if (count === 0 || count > MAX_COMMANDS)
    throw reverieError('DOMAIN_UNFIT', {
      problem: `A situation has ${count} commands to choose from; a policy of text takes 1 to ${MAX_COMMANDS}.`,
      hint: 'Let the rules of the domain offer fewer commands at a time.',
    });
}

/** The turn in which each command was last said, and how often it was. */
export type SaidBefore = ReadonlyMap<string, { readonly last: number; readonly times: number }>;

export function saidBefore(turns: readonly TextTurn[]): SaidBefore {
  const said = new Map<string, { last: number; times: number }>();
  turns.forEach(({ said: command }, i) => {
    said.set(command, { last: i, times: (said.get(command)?.times ?? 0) + 1 });
  });
  return said;
}

/** Whether a command was said, how often and how long ago. */
export function saidCounts(command: string, said: SaidBefore, turns: number): number[] {
  const before = said.get(command);
  if (before === undefined) return [0, 0, 0];
  return [1, Math.min(before.times, 4) / 4, 1 / (turns - before.last)];
}
