// Filter: an agent that goes round in circles, the same actions with the same outcome in the same states over and over. All
// from the second round on is cut off.

import { canonicalJson } from '../../core/canonical-json.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { agentTurns, answerOf, cutOrDrop, type Filter, type Judgement, KEEP } from './filter.js';

const MAX_PERIOD = 6;
const ROUND = {
  kind: 'going round in circles',
  because: 'the same actions with the same outcome begin again here, and again after that',
};

/** `rounds`: how often the same run of actions must come in a row to be a loop. */
export function loopFilter(rounds: number): Filter {
  const judge = (record: EpisodeRecord): Judgement => {
    const turns = turnKeys(record);
    const again = secondRound(
      turns.map(({ key }) => key),
      rounds,
    );
    return again === undefined ? KEEP : cutOrDrop(record, turns[again].index, ROUND);
  };
  return { name: 'loops', judge };
}

/** What was done, what came of it, and in which state it ended. */
function turnKeys(record: EpisodeRecord): { readonly index: number; readonly key: string }[] {
  const states = new Map(record.steps.map((step) => [step.message, step.stateHash]));
  return agentTurns(record).map(({ index, message }) => {
    const calls = (message.toolCalls ?? []).map((call) => [
      call.name,
      call.arguments,
      answerOf(record, call)?.content ?? null,
    ]);
    return { index, key: canonicalJson([message.content ?? '', calls, states.get(index) ?? '']) };
  });
}

/** Where the second round of the first loop begins, or undefined. */
function secondRound(keys: readonly string[], rounds: number): number | undefined {
  for (let from = 0; from < keys.length; from++) {
    for (let period = 1; period <= MAX_PERIOD && from + period * rounds <= keys.length; period++) {
      if (isRepeated(keys, from, period, rounds)) return from + period;
    }
  }
  return undefined;
}

function isRepeated(keys: readonly string[], from: number, period: number, rounds: number): boolean {
  for (let at = from + period; at < from + period * rounds; at++) if (keys[at] !== keys[at - period]) return false;
  return true;
}
