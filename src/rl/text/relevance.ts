// A relevance network, in the class of DRRN (He et al., 1511.04636): situation and each command are sums of embedded words; their
// products and what can be counted of them go through a perceptron to a score of each command that does something. A softmax over the
// scores is a policy; the scores themselves, taught what choices came to, are a value model (both in scored-learner.ts).

import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import type { Value } from '../../nn/graph.js';
import {
  add,
  concat,
  gather,
  linear,
  matMul,
  mul,
  oneHot,
  reduceSum,
  relu,
  slice,
  squeeze,
  transpose,
} from '../../nn/ops.js';
import { ParamLayout, type ParamSpec } from '../../nn/parameters.js';
import type { TextSituation, TextTurn } from './text-policy.js';

const width = z.int().min(4).max(1024);

export const relevanceSchema = z.strictObject({
  vocabulary: z.int().min(64).max(1_000_000).default(8192).describe('Rows of the table that words are hashed into.'),
  embedding: z.int().min(4).max(512).default(32).describe('Numbers of a word.'),
  hidden: z.tuple([width, width]).default([128, 64]).describe('Widths of the two hidden layers that score a command.'),
  rows: z
    .int()
    .min(1)
    .max(1024)
    .default(64)
    .describe('Situations of a batch: of a gradient step, and decided at once.'),
  history: z.int().min(0).max(50).default(4).describe('Turns before the last whose texts are read.'),
  critic: z
    .boolean()
    .optional()
    .describe('Whether it also predicts what is still to come; by default where the algorithm needs that.'),
});
export type RelevanceSettings = z.infer<typeof relevanceSchema>;

/** Most commands of one situation. */
export const MAX_COMMANDS = 256;

/** A score that no command has. */
const NO_COMMAND = -1e9;

/**
 * Bags of the context, in the order of their places: how many tokens each holds. `done` are commands that named a thing of a kind that the
 * goal names: a long search does not push them out, as it does others.
 */
const BAGS = [
  { name: 'goal', size: 24 },
  { name: 'text', size: 96 },
  { name: 'recent', size: 160 },
  { name: 'said', size: 96 },
  { name: 'done', size: 32 },
] as const;
const CONTEXT_TOKENS = BAGS.reduce((sum, { size }) => sum + size, 0);

/** The context's bags, and the mean of the commands. */
const CONTEXTS = BAGS.length + 1;

/** Tokens of a command, its whole phrase among them. */
const COMMAND_TOKENS = 10;

/** What is counted of a command: see `countsOf`. */
export const COUNTS = 14;

export type Feeds = Readonly<Record<string, Float32Array | Int32Array>>;
export type Values = Readonly<Record<string, Value>>;
type BatchInputs = Readonly<Record<string, { readonly dtype: 'float32' | 'int32'; readonly shape: readonly number[] }>>;

interface Scores {
  /** [rows, MAX_COMMANDS], NO_COMMAND where there is no command. */
  readonly scores: Value;
  /** [rows], what a critic expects; absent without one. */
  readonly values?: Value;
}

/** The network over fixed shapes: so many situations, and all their commands one after the other, padded. */
export class RelevanceNetwork {
  readonly name = 'relevance';
  readonly layout: ParamLayout;
  /** What a graph is fed of a batch; the padding of `slots` points behind the last command. */
  readonly inputs: BatchInputs;
  /** Commands that the situations of one run may have together: room for one situation, or for as many as they have on average. */
  private readonly pairs: number;

  constructor(readonly settings: RelevanceSettings) {
    const { rows, vocabulary, embedding, hidden, critic } = settings;
    const [first, second] = hidden;
    this.pairs = Math.max(MAX_COMMANDS, 32 * rows);
    const context = embedding * CONTEXTS;
    this.layout = new ParamLayout([
      { name: 'words', shape: [vocabulary, embedding], init: { kind: 'uniformFanIn', fanIn: 4 } },
      { name: 'context.w', shape: [context, first], init: { kind: 'uniformFanIn', fanIn: context } },
      ...layer('pair', embedding + context + COUNTS, first),
      ...layer('hidden', first, second),
      ...layer('score', second, 1, 0.1),
      ...(critic === true ? [...layer('critic', context + COUNTS, first), ...layer('value', first, 1, 0.1)] : []),
    ]);
    this.inputs = {
      context: { dtype: 'int32', shape: [rows, CONTEXT_TOKENS] },
      scales: { dtype: 'float32', shape: [rows, BAGS.length] },
      /** 1 / number of commands. */
      shares: { dtype: 'float32', shape: [rows, 1] },
      commands: { dtype: 'int32', shape: [this.pairs, COMMAND_TOKENS] },
      commandScales: { dtype: 'float32', shape: [this.pairs, 1] },
      counts: { dtype: 'float32', shape: [this.pairs, COUNTS] },
      /** The situation of each command. */
      owners: { dtype: 'int32', shape: [this.pairs] },
      /** The commands of each situation. */
      slots: { dtype: 'int32', shape: [rows, MAX_COMMANDS] },
    };
  }

  scores(params: Values, batch: Values): Scores {
    const { rows, vocabulary, critic } = this.settings;
    // The row of no word is nothing, and stays so.
    const isWord = params.words.graph.literal(
      'float32',
      [0, ...Array<number>(vocabulary - 1).fill(1)],
      [vocabulary, 1],
    );
    const words = mul(params.words, isWord);
    const owner = transpose(oneHot(batch.owners, rows));
    const bag = (tokens: Value) => reduceSum(gather(words, tokens, 0), [1]);
    const commands = mul(bag(batch.commands), batch.commandScales);
    // Padding has no words, so its owner does not notice it.
    const all = mul(matMul(owner, commands), batch.shares);
    const told = concat([...contextBags(gather(words, batch.context, 0), batch.scales), all], 1);
    const products = mul(concat(Array<Value>(CONTEXTS).fill(commands), 1), gather(told, batch.owners, 0));
    const context = linear(told, params['context.w'], params['pair.b']);
    const pair = matMul(concat([commands, products, batch.counts], 1), params['pair.w']);
    const first = relu(add(pair, gather(context, batch.owners, 0)));
    const second = relu(dense(params, 'hidden', first));
    const flat = squeeze(dense(params, 'score', second), [1]);
    const open = concat([flat, flat.graph.constant([NO_COMMAND])], 0);
    const scores = gather(open, batch.slots, 0);
    if (critic !== true) return { scores };
    // Padding has no counts either.
    const seen = concat([told, mul(matMul(owner, batch.counts), batch.shares)], 1);
    return { scores, values: squeeze(dense(params, 'value', relu(dense(params, 'critic', seen))), [1]) };
  }

  /** Indices of situations, in order, as batches of at most `rows` whose commands fit; one situation alone always fits. */
  packed(situations: readonly Pick<EncodedSituation, 'commandScales'>[]): number[][] {
    const batches: number[][] = [];
    let taken = 0;
    situations.forEach(({ commandScales: { length } }, i) => {
      const last = batches.at(-1);
      if (last === undefined || last.length === this.settings.rows || taken + length > this.pairs) {
        batches.push([i]);
        taken = length;
      } else {
        last.push(i);
        taken += length;
      }
    });
    return batches;
  }

  /** One of `packed`, laid into the fixed shapes. */
  batchOf(situations: readonly EncodedSituation[]): Feeds {
    const { rows } = this.settings;
    const { pairs } = this;
    const feeds = {
      context: new Int32Array(rows * CONTEXT_TOKENS),
      scales: new Float32Array(rows * BAGS.length),
      shares: new Float32Array(rows),
      commands: new Int32Array(pairs * COMMAND_TOKENS),
      commandScales: new Float32Array(pairs),
      counts: new Float32Array(pairs * COUNTS),
      owners: new Int32Array(pairs),
      slots: new Int32Array(rows * MAX_COMMANDS).fill(pairs),
    };
    let pair = 0;
    situations.forEach((situation, row) => {
      const { length: count } = situation.commandScales;
      feeds.context.set(situation.context, row * CONTEXT_TOKENS);
      feeds.scales.set(situation.scales, row * BAGS.length);
      feeds.shares[row] = 1 / count;
      feeds.commands.set(situation.commands, pair * COMMAND_TOKENS);
      feeds.commandScales.set(situation.commandScales, pair);
      feeds.counts.set(situation.counts, pair * COUNTS);
      feeds.owners.fill(row, pair, pair + count);
      for (let i = 0; i < count; i++) feeds.slots[row * MAX_COMMANDS + i] = pair + i;
      pair += count;
    });
    return feeds;
  }
}

function layer(name: string, fanIn: number, fanOut: number, gain = 1): ParamSpec[] {
  return [
    { name: `${name}.w`, shape: [fanIn, fanOut], init: { kind: 'uniformFanIn', fanIn, gain } },
    { name: `${name}.b`, shape: [fanOut], init: { kind: 'constant', value: 0 } },
  ];
}

function dense(params: Values, name: string, x: Value): Value {
  return linear(x, params[`${name}.w`], params[`${name}.b`]);
}

function contextBags(tokens: Value, scales: Value): Value[] {
  let start = 0;
  return BAGS.map(({ size }, b) => {
    const bag = reduceSum(slice(tokens, 1, start, start + size), [1]);
    start += size;
    return mul(bag, slice(scales, 1, b, b + 1));
  });
}

// A situation as it is read: bags of hashed words of what was told, of each command, and what can be counted of a command: whether it was
// said before, and how much of it was named where.

export interface EncodedSituation {
  /** [CONTEXT_TOKENS] */
  readonly context: Int32Array;
  /** [bags], 1 / sqrt(tokens) each. */
  readonly scales: Float32Array;
  /** [commands, COMMAND_TOKENS] */
  readonly commands: Int32Array;
  /** [commands] */
  readonly commandScales: Float32Array;
  /** [commands, COUNTS] */
  readonly counts: Float32Array;
}

/** @throws DOMAIN_UNFIT where there are no commands, or too many */
export function encodeSituation(
  situation: TextSituation,
  { vocabulary, history }: Pick<RelevanceSettings, 'vocabulary' | 'history'>,
): EncodedSituation {
  const { admissible, readings = admissible } = situation;
  const count = admissible.length;
  if (count === 0 || count > MAX_COMMANDS) {
    throw reverieError('DOMAIN_UNFIT', {
      problem: `A situation has ${count} commands to choose from; a policy of text takes 1 to ${MAX_COMMANDS}.`,
      hint: 'Let the rules of the domain offer fewer commands at a time.',
    });
  }
  const memory = remembered(situation, history);
  const commands = new Int32Array(count * COMMAND_TOKENS);
  const commandScales = new Float32Array(count);
  const counts = new Float32Array(count * COUNTS);
  admissible.forEach((command, i) => {
    const tokens = tokensOf(readings[i]);
    const places = [readings[i], ...tokens].slice(0, COMMAND_TOKENS).map((token) => placeOf(token, vocabulary));
    commands.set(places, i * COMMAND_TOKENS);
    commandScales[i] = 1 / Math.sqrt(places.length);
    counts.set(countsOf(command, tokens, memory), i * COUNTS);
  });
  return { ...contextOf(memory, vocabulary), commands, commandScales, counts };
}

interface Memory {
  /** Tokens of each bag. */
  readonly bags: Readonly<Record<(typeof BAGS)[number]['name'], readonly string[]>>;
  readonly sets: Readonly<Record<'goal' | 'text' | 'recent', ReadonlySet<string>>>;
  /** The turn in which each command was last said, and how often it was. */
  readonly said: ReadonlyMap<string, { readonly last: number; readonly times: number }>;
  /** Numbered things that commands named. */
  readonly named: ReadonlySet<string>;
  /** Numbered things that were seen where a command led, and that no command has named since, by the thing it named last. */
  readonly places: ReadonlyMap<string, ReadonlySet<string>>;
  readonly turns: number;
}

function remembered({ goal, text, turns }: TextSituation, history: number): Memory {
  const latest = turns.slice(-history);
  // What was seen last is a bag of its own.
  const recent = latest.flatMap((turn, i) => [
    ...tokensOf(turn.said),
    ...(i < latest.length - 1 ? tokensOf(turn.seen) : []),
  ]);
  const commands = turns.flatMap((turn) => [turn.said, ...tokensOf(turn.said)]);
  const wanted = new Set(tokensOf(goal));
  const isWanted = (token: string) => isNumbered(token) && wanted.has(kindOf(token));
  const done = turns.map((turn) => tokensOf(turn.said)).filter((tokens) => tokens.some(isWanted));
  const bags = { goal: tokensOf(goal), text: tokensOf(text), recent, said: commands, done: done.flat() };
  const said = new Map<string, { last: number; times: number }>();
  turns.forEach(({ said: command }, i) => {
    said.set(command, { last: i, times: (said.get(command)?.times ?? 0) + 1 });
  });
  return {
    ...{ bags, said },
    sets: { goal: wanted, text: new Set(bags.text), recent: new Set(recent) },
    named: new Set(commands.filter(isNumbered)),
    places: placesOf(turns),
    turns: turns.length,
  };
}

function placesOf(turns: readonly TextTurn[]): Map<string, Set<string>> {
  const places = new Map<string, Set<string>>();
  for (const turn of turns) {
    const named = tokensOf(turn.said).filter(isNumbered);
    const place = named.at(-1);
    if (place === undefined) continue;
    for (const thing of named) for (const there of places.values()) there.delete(thing);
    const shown = tokensOf(turn.seen).filter((token) => isNumbered(token) && !named.includes(token));
    places.set(place, new Set([...(places.get(place) ?? []), ...shown]));
  }
  return places;
}

/** The latest tokens of each bag, where not all fit. */
function contextOf({ bags }: Memory, vocabulary: number): Pick<EncodedSituation, 'context' | 'scales'> {
  const context = new Int32Array(CONTEXT_TOKENS);
  const scales = new Float32Array(BAGS.length);
  let start = 0;
  BAGS.forEach(({ name, size }, b) => {
    const kept = bags[name].slice(-size);
    kept.forEach((token, i) => {
      context[start + i] = placeOf(token, vocabulary);
    });
    scales[b] = 1 / Math.sqrt(Math.max(kept.length, 1));
    start += size;
  });
  return { context, scales };
}

function countsOf(command: string, tokens: readonly string[], memory: Memory): number[] {
  const { said, sets, named, turns } = memory;
  const before = said.get(command);
  const things = tokens.filter(isNumbered);
  return [
    ...(before === undefined ? [0, 0, 0] : [1, Math.min(before.times, 4) / 4, 1 / (turns - before.last)]),
    shareOf(tokens, sets.goal),
    shareOf(things, sets.text),
    shareOf(tokens, sets.recent),
    shareOf(things, named),
    things.length / 2,
    Math.min(turns, 50) / 50,
    ...thingCounts(things, memory),
  ];
}

/** Of what a command is about (the first thing it names) and where (the last): is it of a kind that the goal names, was it named before, and are such things waiting there? */
function thingCounts(things: readonly string[], { sets: { goal }, named, places }: Memory): number[] {
  if (things.length === 0) return [0, 0, 0, 0, 0];
  const [first, last] = [things[0], things[things.length - 1]];
  const is = (found: boolean) => (found ? 1 : 0);
  let waiting = 0;
  for (const thing of places.get(last) ?? []) if (goal.has(kindOf(thing))) waiting += 1;
  return [
    is(goal.has(kindOf(first))),
    is(goal.has(kindOf(last))),
    is(named.has(first)),
    is(named.has(last)),
    Math.min(waiting, 2) / 2,
  ];
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
function shareOf(tokens: readonly string[], among: ReadonlySet<string>): number {
  return tokens.length === 0 ? 0 : tokens.filter((token) => among.has(token)).length / tokens.length;
}
