// A relevance network as policy of text, in the class of DRRN (He et al., 1511.04636): what was told and each command are sums of
// embedded words; their products and what can be counted of them go through a perceptron to a score; a softmax over the commands
// that do something is the policy.

import { z } from 'zod';
import type { Value } from '../../nn/graph.js';
import { add, concat, gather, linear, matMul, mul, oneHot, reduceSum, relu, slice, transpose } from '../../nn/ops.js';
import { ParamLayout } from '../../nn/parameters.js';
import {
  bag,
  checkCommands,
  criticKeys,
  emptyFeeds,
  type Feeds,
  headKeys,
  headLayers,
  headScores,
  isNumbered,
  kindOf,
  layPairs,
  MAX_COMMANDS,
  packedBy,
  pairsOf,
  placeOf,
  type SaidBefore,
  type Scores,
  type ScoringNetwork,
  type ScoringShape,
  saidBefore,
  saidCounts,
  shareOf,
  tokensOf,
  type Values,
  wordKeys,
  wordsOf,
  wordTable,
} from './scoring.js';
import type { TextSituation, TextTurn } from './text-policy.js';

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

/** Tokens of a command, its whole phrase among them. */
const COMMAND_TOKENS = 10;

/** What is counted of a command: see `countsOf`. */
export const COUNTS = 14;

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

interface EncodingSettings {
  /** Rows of the table of embeddings. */
  readonly vocabulary: number;
  /** Turns whose commands and texts are read. */
  readonly history: number;
}

export const relevanceSchema = z.strictObject({
  ...wordKeys,
  ...headKeys('a command'),
  history: z.int().min(0).max(50).default(4).describe('Turns before the last whose texts are read.'),
  ...criticKeys,
});
type RelevanceSettings = z.infer<typeof relevanceSchema>;

export function relevanceNetwork(settings: RelevanceSettings): ScoringNetwork<EncodedSituation> {
  const { rows } = settings;
  return {
    name: 'relevance',
    settings,
    rows,
    layout: relevanceLayout(settings),
    inputs: relevanceInputs(settings),
    scores: (params, batch) => relevanceScores(settings, params, batch),
    encode: (situation) => encodeSituation(situation, settings),
    packed: (situations) => {
      const sizes = situations.map(({ commandScales: { length } }) => [length]);
      return packedBy(sizes, [pairsOf(settings)], rows);
    },
    batchOf: (situations) => batchOf(situations, settings),
  };
}

/** Situations laid into the fixed shapes of the graphs, all commands one after the other. */
function batchOf(situations: readonly EncodedSituation[], shape: Pick<RelevanceSettings, 'rows'>): Feeds {
  const feeds = emptyFeeds(relevanceInputs(shape), { slots: pairsOf(shape) });
  let pair = 0;
  situations.forEach((situation, row) => {
    const { length: count } = situation.commandScales;
    feeds.context.set(situation.context, row * CONTEXT_TOKENS);
    feeds.scales.set(situation.scales, row * BAGS.length);
    feeds.shares[row] = 1 / count;
    feeds.commands.set(situation.commands, pair * COMMAND_TOKENS);
    feeds.commandScales.set(situation.commandScales, pair);
    feeds.counts.set(situation.counts, pair * COUNTS);
    layPairs(feeds, { row, pair, count });
    pair += count;
  });
  return feeds;
}

// Nodes of the graph, over fixed shapes: so many situations, and all their commands one after the other, padded.

/** What a graph is fed of a batch; the padding of `slots` points behind the last command. */
function relevanceInputs(shape: Pick<ScoringShape, 'rows'>) {
  const { rows } = shape;
  const pairs = pairsOf(shape);
  return {
    context: { dtype: 'int32', shape: [rows, CONTEXT_TOKENS] },
    scales: { dtype: 'float32', shape: [rows, BAGS.length] },
    /** 1 / number of commands. */
    shares: { dtype: 'float32', shape: [rows, 1] },
    commands: { dtype: 'int32', shape: [pairs, COMMAND_TOKENS] },
    commandScales: { dtype: 'float32', shape: [pairs, 1] },
    counts: { dtype: 'float32', shape: [pairs, COUNTS] },
    /** The situation of each command. */
    owners: { dtype: 'int32', shape: [pairs] },
    /** The commands of each situation. */
    slots: { dtype: 'int32', shape: [rows, MAX_COMMANDS] },
  } as const;
}

/** The context's bags, and the mean of the commands. */
const CONTEXTS = BAGS.length + 1;

function relevanceLayout(shape: ScoringShape): ParamLayout {
  const { embedding, hidden } = shape;
  const fanIn = embedding * CONTEXTS;
  return new ParamLayout([
    wordTable(shape),
    { name: 'context.w', shape: [fanIn, hidden[0]], init: { kind: 'uniformFanIn', fanIn } },
    ...headLayers(shape, embedding + fanIn + COUNTS, fanIn + COUNTS),
  ]);
}

function relevanceScores(shape: ScoringShape, params: Values, batch: Values): Scores {
  const words = wordsOf(shape, params);
  const owner = oneHot(batch.owners, shape.rows);
  const commands = mul(bag(words, batch.commands), batch.commandScales);
  // Padding has no words, so that whoever it is said to belong to does not notice.
  const all = mul(matMul(transpose(owner), commands), batch.shares);
  const contexts = [...contextBags(gather(words, batch.context, 0), batch.scales), all];
  const told = concat(contexts, 1);
  const products = mul(concat(Array<Value>(CONTEXTS).fill(commands), 1), gather(told, batch.owners, 0));
  const context = linear(told, params['context.w'], params['pair.b']);
  const pair = matMul(concat([commands, products, batch.counts], 1), params['pair.w']);
  const first = relu(add(pair, gather(context, batch.owners, 0)));
  return headScores(shape, params, {
    ...{ first, slots: batch.slots },
    // Padding has no counts either.
    told: () => concat([told, mul(matMul(transpose(owner), batch.counts), batch.shares)], 1),
  });
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

/** @throws DOMAIN_UNFIT */
export function encodeSituation(situation: TextSituation, settings: EncodingSettings): EncodedSituation {
  checkCommands(situation);
  const { admissible, readings = admissible } = situation;
  const count = admissible.length;
  const memory = remembered(situation, settings.history);
  const commands = new Int32Array(count * COMMAND_TOKENS);
  const commandScales = new Float32Array(count);
  const counts = new Float32Array(count * COUNTS);
  admissible.forEach((command, i) => {
    const tokens = tokensOf(readings[i]);
    const places = [readings[i], ...tokens]
      .slice(0, COMMAND_TOKENS)
      .map((token) => placeOf(token, settings.vocabulary));
    commands.set(places, i * COMMAND_TOKENS);
    commandScales[i] = 1 / Math.sqrt(places.length);
    counts.set(countsOf(command, tokens, memory), i * COUNTS);
  });
  return { ...contextOf(memory, settings), commands, commandScales, counts };
}

interface Memory {
  /** Tokens of each bag. */
  readonly bags: Readonly<Record<(typeof BAGS)[number]['name'], readonly string[]>>;
  readonly sets: {
    readonly goal: ReadonlySet<string>;
    readonly text: ReadonlySet<string>;
    readonly recent: ReadonlySet<string>;
  };
  readonly said: SaidBefore;
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
  return {
    bags,
    sets: { goal: wanted, text: new Set(bags.text), recent: new Set(recent) },
    said: saidBefore(turns),
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
function contextOf({ bags }: Memory, { vocabulary }: EncodingSettings): Pick<EncodedSituation, 'context' | 'scales'> {
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
  const things = tokens.filter(isNumbered);
  return [
    ...saidCounts(command, said, turns),
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
