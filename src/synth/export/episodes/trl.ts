// Rows for Hugging Face TRL, each kind a configuration of its own: whole conversations; one turn of the agent after what came
// before it; pairs of a better and a worse episode from one start. TRL's trainers of pairs learn every token of what they compare,
// what tools and users said too: for these there are rows of single turns.
// Arguments are objects, and `tools` is a JSON text, which TRL parses.

import { canonicalJson, type JsonObject } from '../../../core/canonical-json.js';
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
    const rewardOf = ({ verdict }: EpisodeRecord) => verdict.reward ?? 0;
    const judged = group.filter((record) => record.verdict.reward !== null);
    const ranked = judged.sort((a, b) => rewardOf(b) - rewardOf(a) || a.row - b.row);
    const [pairs, turns]: [PreferencePair[], PreferencePair[]] = [[], []];
    for (let best = 0, worst = ranked.length - 1; best < worst; best++, worst--) {
      const [better, worse] = [ranked[best], ranked[worst]];
      if (rewardOf(better) === rewardOf(worse)) continue;
      const [good, bad] = [better, worse].map(({ messages }) =>
        messages.slice(0, lengthToLastTurn(messages)).map(templateMessage),
      );
      const fork = forkOf(good, bad);
      if (fork === 0) {
        this.adapt('left out of preference: starts differ');
        continue;
      }
      const [chosen, rejected] = [good.slice(fork), bad.slice(fork)];
      const scores = { score_chosen: rewardOf(better), score_rejected: rewardOf(worse) };
      const prompt = good.slice(0, fork);
      pairs.push({ prompt, chosen, rejected, ...scores });
      const isMasked = better.masked?.includes(fork);
      if (!isMasked) turns.push({ prompt, chosen: chosen.slice(0, 1), rejected: rejected.slice(0, 1), ...scores });
    }
    return { split: group[0].split, pairs, turns };
  }
}

/** Where the agent first acts differently after the same words: that many messages are shared; 0 if there is no such place. */
function forkOf(a: readonly JsonObject[], b: readonly JsonObject[]): number {
  const isTurn = (messages: readonly JsonObject[], at: number) =>
    messages[at]?.role === 'assistant' && ['user', 'tool'].includes(String(messages[at - 1]?.role));
  let same = 0;
  while (same < Math.min(a.length, b.length) && canonicalJson(a[same]) === canonicalJson(b[same])) same++;
  while (same > 0 && !(isTurn(a, same) && isTurn(b, same))) same--;
  return same;
}
