// A situation as the relevance network reads it: bags of hashed words of what was told, of each command, and what can be counted
// of a command: whether it was said before, and how much of it was named where.

import { checkCommands, type SaidBefore, saidBefore, saidCounts } from './scoring-network.js';
import type { TextSituation, TextTurn } from './text-policy.js';
import { isNumbered, kindOf, placeOf, shareOf, tokensOf } from './words.js';

/**
 * Bags of the context, in the order of their places: how many tokens each holds. `done` are commands that named a thing of a kind that the
 * goal names: a long search does not push them out, as it does others.
 */
export const BAGS = [
  { name: 'goal', size: 24 },
  { name: 'text', size: 96 },
  { name: 'recent', size: 160 },
  { name: 'said', size: 96 },
  { name: 'done', size: 32 },
] as const;
export const CONTEXT_TOKENS = BAGS.reduce((sum, { size }) => sum + size, 0);

/** Tokens of a command, its whole phrase among them. */
export const COMMAND_TOKENS = 10;

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

export interface EncodingSettings {
  /** Rows of the table of embeddings. */
  readonly vocabulary: number;
  /** Turns whose commands and texts are read. */
  readonly history: number;
}

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
