// Networks that give each admissible command a score: what they share, whatever they read of a situation. A softmax over the scores is a
// policy; the scores themselves, taught what choices came to, are a value model (both in scored-learner.ts).

import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import type { Value } from '../../nn/graph.js';
import { concat, gather, linear, mul, reduceSum, relu, squeeze } from '../../nn/ops.js';
import type { ParamLayout, ParamSpec } from '../../nn/parameters.js';
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
type BatchInputs = Readonly<Record<string, { readonly dtype: 'float32' | 'int32'; readonly shape: readonly number[] }>>;

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
  if (count > 0 && count <= MAX_COMMANDS) return;
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

// Nodes of their graphs: a table of words, layers, and the head that makes scores of what was read of each command and, with a critic,
// one value of what was told.

export interface ScoringShape {
  readonly vocabulary: number;
  readonly embedding: number;
  /** Of the head. */
  readonly hidden: readonly [number, number];
  /** Situations of one run of a graph. */
  readonly rows: number;
  /** Whether a critic says what is still to come. */
  readonly critic?: boolean;
}

export function wordTable({ vocabulary, embedding }: ScoringShape): ParamSpec {
  return { name: 'words', shape: [vocabulary, embedding], init: { kind: 'uniformFanIn', fanIn: 4 } };
}

export function layer(name: string, fanIn: number, fanOut: number, gain = 1): ParamSpec[] {
  return [
    { name: `${name}.w`, shape: [fanIn, fanOut], init: { kind: 'uniformFanIn', fanIn, gain } },
    { name: `${name}.b`, shape: [fanOut], init: { kind: 'zeros' } },
  ];
}

/** @param pair  numbers of a command; @param told  those that a critic sees */
export function headLayers({ hidden: [first, second], critic }: ScoringShape, pair: number, told: number): ParamSpec[] {
  return [
    ...layer('pair', pair, first),
    ...layer('hidden', first, second),
    ...layer('score', second, 1, 0.1),
    ...(critic === true ? [...layer('critic', told, first), ...layer('value', first, 1, 0.1)] : []),
  ];
}

/** The row of no word is nothing, and stays so. */
export function wordsOf({ vocabulary }: ScoringShape, { words }: Values): Value {
  return mul(words, words.graph.literal('float32', [0, ...Array<number>(vocabulary - 1).fill(1)], [vocabulary, 1]));
}

export function bag(words: Value, tokens: Value): Value {
  return reduceSum(gather(words, tokens, 0), [1]);
}

export function dense(params: Values, name: string, x: Value): Value {
  return linear(x, params[`${name}.w`], params[`${name}.b`]);
}

/** @param first  the first layer of every command; @param told  makes what a critic sees */
export function headScores(
  { critic }: ScoringShape,
  params: Values,
  { first, slots, told }: { readonly first: Value; readonly slots: Value; readonly told: () => Value },
): Scores {
  const second = relu(dense(params, 'hidden', first));
  const flat = squeeze(dense(params, 'score', second), [1]);
  const open = concat([flat, flat.graph.constant([NO_COMMAND])], 0);
  const scores = gather(open, slots, 0);
  if (critic !== true) return { scores };
  const seen = relu(dense(params, 'critic', told()));
  return { scores, values: squeeze(dense(params, 'value', seen), [1]) };
}

// Texts as lists of small numbers: words, things with their numbers ("desk 1"), and whole phrases, hashed into one vocabulary.

const WORDS = /\p{L}+|\p{N}+/gu;
const DIGITS = /^\p{N}+$/u;

/** Of words met so far; forgotten as a whole when there are too many. */
const cache = new Map<string, readonly string[]>();
const MAX_CACHED = 50_000;

/** Words in lower case; a number joins the word before it as a further token: `go to desk 1` is go, to, desk, `desk 1`. */
export function tokensOf(text: string): readonly string[] {
  const known = cache.get(text);
  if (known !== undefined) return known;
  const found: string[] = [];
  let word = '';
  for (const [part] of text.toLowerCase().matchAll(WORDS)) {
    if (DIGITS.test(part)) found.push(`${word} ${part}`);
    else found.push(part);
    if (!DIGITS.test(part)) word = part;
  }
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(text, found);
  return found;
}

/** Whether a token names one thing among several of its kind. */
export function isNumbered(token: string): boolean {
  return token.includes(' ');
}

/** What a numbered thing is one of: `desk` of `desk 1`. */
export function kindOf(thing: string): string {
  return thing.slice(0, thing.indexOf(' '));
}

/** The token's place in a vocabulary of `size`: 1 to size - 1, as 0 stands for none (FNV-1a with murmur's finaliser). */
export function placeOf(token: string, size: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < token.length; i++) hash = Math.imul(hash ^ token.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return 1 + (((hash ^ (hash >>> 16)) >>> 0) % (size - 1));
}

/** How much of a text is among others; 0 of no text. */
export function shareOf(tokens: readonly string[], among: ReadonlySet<string>): number {
  return tokens.length === 0 ? 0 : tokens.filter((token) => among.has(token)).length / tokens.length;
}
