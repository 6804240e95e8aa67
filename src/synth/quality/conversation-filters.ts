// Filters of form: that a conversation hangs together, does not go in circles or say the same twice, and is neither too short
// nor too long; and that the simulation was sure of itself.

import { canonicalJson } from '../../core/canonical-json.js';
import { callsOf, type Message, type ToolCall } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import {
  agentTurns,
  answerOf,
  cutBefore,
  cutOrDrop,
  drop,
  type Filter,
  type Judgement,
  KEEP,
  stepsByMessage,
  withoutMessages,
} from './filter.js';

/**
 * Every call is answered once, right after the message that makes it, and every answer has a call; a call left open is fine only
 * at the very end. Ids used twice are made unique.
 */
export function structureFilter(): Filter {
  const judge = (record: EpisodeRecord): Judgement => {
    if (agentTurns(record).length === 0) return drop('the agent never acts');
    const at = firstBreak(record.messages);
    const unique = withUniqueIds(record);
    if (at !== undefined) return cutOrDrop(unique, at, 'a call without its answer');
    return unique === record ? KEEP : { repaired: unique, note: 'ids of calls made unique' };
  };
  return { name: 'structure', judge };
}

/** Index of the message before which the conversation must be cut, or undefined. */
function firstBreak(messages: readonly Message[]): number | undefined {
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (message.role === 'tool') return index;
    if (message.role !== 'assistant') continue;
    const ids = callsOf(message).map((call) => call.id);
    if (new Set(ids).size < ids.length) return index;
    const answered = answersFrom(messages, index + 1);
    const isOpenEnd = index + answered.length === messages.length - 1;
    const known = answered.slice(0, ids.length);
    if (known.some((id) => !ids.includes(id)) || new Set(known).size < known.length) return index;
    if (answered.length < ids.length && !isOpenEnd) return index;
    if (answered.length > ids.length) return index + ids.length + 1;
    index += answered.length;
  }
  return undefined;
}

function answersFrom(messages: readonly Message[], from: number): string[] {
  const ids: string[] = [];
  for (let at = from; messages[at]?.role === 'tool'; at++)
    ids.push((messages[at] as Message & { role: 'tool' }).toolCallId);
  return ids;
}

/** The record itself where no id was used by two messages. */
function withUniqueIds(record: EpisodeRecord): EpisodeRecord {
  const uses = new Map<string, number>();
  const names = record.messages.map((message) => {
    const renamed = new Map<string, string>();
    for (const { id } of callsOf(message)) {
      const use = (uses.get(id) ?? 0) + 1;
      uses.set(id, use);
      if (use > 1) renamed.set(id, `${id}-${use}`);
    }
    return renamed;
  });
  if (names.every((renamed) => renamed.size === 0)) return record;
  let current: ReadonlyMap<string, string> = new Map();
  const messages = record.messages.map((message, index): Message => {
    if (message.role === 'tool')
      return { ...message, toolCallId: current.get(message.toolCallId) ?? message.toolCallId };
    current = names[index];
    return message.role === 'assistant' ? renamedTurn(message, current) : message;
  });
  const steps = record.steps.map((step) => ({ ...step, action: renamedTurn(step.action, names[step.message]) }));
  return { ...record, messages, steps };
}

function renamedTurn<T extends { readonly toolCalls?: readonly ToolCall[] }>(
  turn: T,
  names: ReadonlyMap<string, string>,
): T {
  if (names.size === 0 || !turn.toolCalls) return turn;
  return { ...turn, toolCalls: turn.toolCalls.map((call) => ({ ...call, id: names.get(call.id) ?? call.id })) };
}

/** Calls of a turn with their answers, to tell turns apart by. */
function answeredCalls(record: EpisodeRecord, message: Message) {
  return callsOf(message).map((call) => [call.name, call.arguments, answerOf(record, call)?.content ?? null]);
}

const MAX_PERIOD = 6;

/**
 * An agent that goes round in circles, the same actions with the same outcome in the same states: all from the second round on is
 * cut off. `rounds`: how often the same run of actions must come in a row to be a loop.
 */
export function loopFilter(rounds: number): Filter {
  const judge = (record: EpisodeRecord): Judgement => {
    const steps = stepsByMessage(record);
    const turns = agentTurns(record);
    const keys = turns.map(({ index, message }) =>
      canonicalJson([message.content ?? '', answeredCalls(record, message), steps.get(index)?.stateHash ?? '']),
    );
    const again = secondRound(keys, rounds);
    return again === undefined ? KEEP : cutOrDrop(record, turns[again].index, 'going round in circles');
  };
  return { name: 'loops', judge };
}

/** Where the second round of the first loop begins, or undefined. */
function secondRound(keys: readonly string[], rounds: number): number | undefined {
  for (let from = 0; from < keys.length; from++) {
    for (let period = 1; period <= MAX_PERIOD && from + period * rounds <= keys.length; period++) {
      const repeats = keys.slice(from + period, from + period * rounds);
      if (repeats.every((key, i) => key === keys[from + i])) return from + period;
    }
  }
  return undefined;
}

/**
 * A call made again, with the same arguments and the same answer while nothing changed in between, teaches to dither. The
 * repetition is taken out; the first call stays.
 */
export function redundancyFilter(): Filter {
  const judge = (record: EpisodeRecord): Judgement => {
    const steps = stepsByMessage(record);
    const gone = new Set<number>();
    let known = new Set<string>();
    for (const { index, message } of agentTurns(record)) {
      const step = steps.get(index);
      const calls = callsOf(message);
      if (step?.predictions.some(({ operations }) => operations.length > 0)) known = new Set();
      const keys = answeredCalls(record, message).map((call) => canonicalJson(call));
      const isSilent = !message.content && calls.length > 0 && calls.every((call) => answerOf(record, call));
      const isWorthless = step === undefined || step.reward === 0;
      if (isSilent && isWorthless && keys.every((key) => known.has(key))) {
        for (let at = index; at <= index + calls.length; at++) gone.add(at);
      }
      for (const key of keys) known.add(key);
    }
    if (gone.size === 0) return KEEP;
    return { repaired: withoutMessages(record, gone), note: 'repeated calls taken out' };
  };
  return { name: 'redundancy', judge };
}

interface LengthCaps {
  /** Turns of the agent. */
  readonly minTurns: number;
  readonly maxTurns: number;
  /** All text of the conversation, arguments of calls as JSON. */
  readonly maxCharacters: number;
}

/** Conversations that are too long are cut where they become so, those too short are dropped. */
export function lengthFilter(caps: LengthCaps): Filter {
  const judge = (record: EpisodeRecord): Judgement => {
    if (agentTurns(record).length < caps.minTurns) return drop('too short');
    const end = endWithin(record, caps);
    if (end === record.messages.length) return KEEP;
    const cut = cutBefore(record, end);
    const isShort = agentTurns(cut).length < Math.max(1, caps.minTurns);
    return isShort ? drop('too long') : { repaired: cut, note: 'cut for length' };
  };
  return { name: 'lengths', judge };
}

/** How many messages fit; never a turn of the agent without the answers to its calls. */
function endWithin({ messages }: EpisodeRecord, { maxTurns, maxCharacters }: LengthCaps): number {
  let [characters, turns, whole] = [0, 0, 0];
  for (const [index, message] of messages.entries()) {
    characters += lengthOf(message);
    if (message.role === 'assistant') turns++;
    if (characters > maxCharacters || turns > maxTurns) return whole;
    if (messages[index + 1]?.role !== 'tool') whole = index + 1;
  }
  return messages.length;
}

function lengthOf(message: Message): number {
  const written = callsOf(message).map((call) => call.name.length + JSON.stringify(call.arguments).length);
  const thoughts = message.role === 'assistant' ? (message.reasoning?.length ?? 0) : 0;
  return (message.content ?? '').length + thoughts + written.reduce((sum, length) => sum + length, 0);
}

/**
 * Where the simulation was not sure of itself: the conversation ends before the first answer with less confidence than `step`; one
 * whose mean is below `mean` is dropped.
 */
export function confidenceFilter(least: { readonly step: number; readonly mean: number }): Filter {
  const judge = (record: EpisodeRecord): Judgement => {
    const all = record.steps.flatMap((step) => step.predictions.map(({ confidence }) => confidence));
    const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
    if (all.length > 0 && mean < least.mean) return drop('doubtful on the whole');
    const doubtful = record.steps.find(({ predictions }) =>
      predictions.some(({ confidence }) => confidence < least.step),
    );
    return doubtful === undefined ? KEEP : cutOrDrop(record, doubtful.message, 'a doubtful answer');
  };
  return { name: 'confidence', judge };
}

/**
 * Which verdicts a dataset may have. `any`: judged or not. `judged`: with a reward. A number: with at least that reward. An
 * episode that nobody could judge has no reward, and must not get one by being called 0.
 */
export function verdictFilter(wanted: 'any' | 'judged' | number): Filter {
  return {
    name: 'verdict',
    judge({ verdict: { reward } }) {
      if (wanted === 'any') return KEEP;
      if (reward === null) return drop('not judged');
      return wanted === 'judged' || reward >= wanted ? KEEP : drop('reward too low');
    },
  };
}
