// Rows for Hugging Face TRL, each kind a configuration of its own: whole conversations; one turn of the agent after what came
// before it; pairs of a better and a worse episode from one start. TRL's trainers of pairs learn every token of what they compare,
// what tools and users said too: for these there are rows of single turns.
// Arguments are objects, and `tools` is a JSON text, which TRL parses.

import { canonicalJson, type JsonObject } from '../../../core/canonical-json.js';
import { mean } from '../../../core/statistics.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import {
  type Adapt,
  type EpisodeFormat,
  type FormatContext,
  type FormatRow,
  lengthToLastTurn,
  lists,
  type Split,
  templateMessage,
  texts,
  unmaskedMessages,
} from './format.js';

const TOOLS = texts('tools');

const PAIR = {
  features: [
    ...lists('prompt', 'chosen', 'rejected'),
    ...TOOLS,
    { name: 'score_chosen', dtype: 'float64' },
    { name: 'score_rejected', dtype: 'float64' },
  ],
};

const TABLES = {
  messages: { features: [...lists('messages'), ...TOOLS], isImitated: true },
  prompt_completion: { features: [...lists('prompt', 'completion'), ...TOOLS], isImitated: true },
  preference: PAIR,
  preference_turns: PAIR,
};

export function trlFormat({ tools, adapt }: FormatContext): EpisodeFormat {
  const toolsText = JSON.stringify(tools);
  const pairs = new PreferencePairs(adapt);
  const withTools = (table: keyof typeof TABLES, split: FormatRow['split'], value: JsonObject): FormatRow => ({
    table,
    split,
    value: { ...value, tools: toolsText },
  });
  const pairRows = ({ split, pairs, turns }: Pairs) => [
    ...pairs.map((pair) => withTools('preference', split, pair)),
    ...turns.map((pair) => withTools('preference_turns', split, pair)),
  ];
  return {
    tables: TABLES,
    *rows(record): Generator<FormatRow> {
      const { split } = record;
      const messages = unmaskedMessages(record, adapt).map(templateMessage);
      if (messages.length > 0) yield withTools('messages', split, { messages });
      for (const index of turns(record)) {
        if (!record.masked?.includes(index)) yield withTools('prompt_completion', split, turnRow(record, index));
      }
      const ended = pairs.add(record);
      if (ended) yield* pairRows(ended);
    },
    *end(): Generator<FormatRow> {
      const ended = pairs.end();
      if (ended) yield* pairRows(ended);
    },
  };
}

/** Where the agent acts after it heard somebody. */
function turns({ messages }: EpisodeRecord): number[] {
  const isHeard = (index: number) => messages[index].role === 'user' || messages[index].role === 'tool';
  return [...messages.keys()].filter((at) => at > 0 && messages[at].role === 'assistant' && isHeard(at - 1));
}

/** What led to a turn of the agent, and the turn alone. */
function turnRow({ messages }: EpisodeRecord, index: number): JsonObject {
  const prompt = messages.slice(0, index).map(templateMessage);
  return { prompt, completion: [templateMessage(messages[index])] };
}

interface PreferencePair extends JsonObject {
  readonly prompt: readonly JsonObject[];
  readonly chosen: readonly JsonObject[];
  readonly rejected: readonly JsonObject[];
  readonly score_chosen: number;
  readonly score_rejected: number;
}

interface Pairs {
  readonly split: Split;
  readonly pairs: readonly PreferencePair[];
  /** The same, of the turn alone in which they part. Where that one is masked in the better episode, there is none. */
  readonly turns: readonly PreferencePair[];
}

/** Pairs of a better and a worse episode from one start. Only the group at hand is held: its episodes lie side by side. */
class PreferencePairs {
  private group: EpisodeRecord[] = [];

  constructor(private readonly adapt: Adapt) {}

  /** Takes the next record; answers the pairs of the group that it ended, if it ended one. */
  add(record: EpisodeRecord): Pairs | undefined {
    const isSame = this.group.length > 0 && this.group[0].group === record.group;
    const ended = isSame ? undefined : this.end();
    if (record.group >= 0) this.group.push(record);
    return ended;
  }

  /** The best with the worst, the second best with the second worst, and so on while one is better than the other. */
  end(): Pairs | undefined {
    const group = this.group;
    this.group = [];
    if (group.length < 2) return undefined;
    const ranked = group.filter(isJudged).map(toRanked);
    ranked.sort((a, b) => b.reward - a.reward || a.record.row - b.record.row);
    const pairs: PreferencePair[] = [];
    const turns = new Map<string, PreferencePair>();
    for (let best = 0, worst = ranked.length - 1; best < worst; best++, worst--) {
      const [better, worse] = [ranked[best], ranked[worst]];
      if (better.reward === worse.reward) continue;
      const fork = forkOf(better, worse);
      if (fork === 0) {
        this.adapt('left out of preference: starts differ');
        continue;
      }
      const [chosen, rejected] = [better, worse].map(({ messages }) => messages.slice(fork));
      const prompt = better.messages.slice(0, fork);
      pairs.push({ prompt, chosen, rejected, score_chosen: better.reward, score_rejected: worse.reward });
      if (better.record.masked?.includes(fork)) continue;
      // A turn's value is the mean over all episodes with the same prefix: one lucky episode does not outweigh its siblings.
      const [score_chosen, score_rejected] = [better, worse].map((one) => worthOfTurn(ranked, one, fork));
      if (score_chosen <= score_rejected)
        this.adapt('left out of preference_turns: siblings that acted alike fared no better');
      else {
        const parted = { chosen: chosen.slice(0, 1), rejected: rejected.slice(0, 1) };
        const pair = { prompt, ...parted, score_chosen, score_rejected };
        turns.set(canonicalJson(pair), pair);
      }
    }
    return { split: group[0].split, pairs, turns: [...turns.values()] };
  }
}

interface Ranked {
  readonly record: EpisodeRecord;
  readonly reward: number;
  readonly messages: readonly JsonObject[];
  /** Messages as texts, for comparison. */
  readonly texts: readonly string[];
}

function isJudged({ verdict }: EpisodeRecord): boolean {
  return verdict.reward !== null;
}

function toRanked(record: EpisodeRecord): Ranked {
  const messages = record.messages.slice(0, lengthToLastTurn(record.messages)).map(templateMessage);
  return { record, reward: record.verdict.reward!, messages, texts: messages.map(canonicalJson) };
}

/** Mean reward of the episodes that equal `one` up to and including message `at`. */
function worthOfTurn(group: readonly Ranked[], one: Ranked, at: number): number {
  return mean(group.filter(({ texts }) => sharedBy(texts, one.texts) > at).map(({ reward }) => reward));
}

/** Length of the common prefix of two episodes in messages. */
function sharedBy(a: readonly string[], b: readonly string[]): number {
  const differs = a.findIndex((text, at) => text !== b[at]);
  return differs < 0 ? a.length : differs;
}

/** Where the agent first acts differently after the same words: that many messages are shared; 0 if there is no such place. */
function forkOf(a: Ranked, b: Ranked): number {
  const isTurn = ({ messages }: Ranked, at: number) =>
    messages[at]?.role === 'assistant' && ['user', 'tool'].includes(String(messages[at - 1]?.role));
  let same = sharedBy(a.texts, b.texts);
  while (same > 0 && !(isTurn(a, same) && isTurn(b, same))) same--;
  return same;
}
