// Pairs of a better and a worse episode from one start. Only the group at hand is held: its episodes lie side by side in
// the order of rows.

import type { JsonObject } from '../../../core/canonical-json.js';
import { canonicalJson } from '../../../core/canonical-json.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import type { Split } from './format.js';
import { lengthToLastTurn, templateMessage } from './messages.js';

export interface PreferencePair extends JsonObject {
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

export class PreferencePairs {
  private group: EpisodeRecord[] = [];

  constructor(private readonly adapt: (reason: string) => void) {}

  /** Takes the next record; answers the pairs of the group that it ended, if it ended one. */
  add(record: EpisodeRecord): Pairs[] {
    const isSame = this.group.length > 0 && this.group[0].group === record.group;
    const ended = isSame ? [] : this.end();
    if (record.group >= 0) this.group.push(record);
    return ended;
  }

  end(): Pairs[] {
    const group = this.group;
    this.group = [];
    return group.length < 2 ? [] : [{ split: group[0].split, ...this.pairs(group) }];
  }

  /** The best with the worst, the second best with the second worst, and so on while one is better than the other. */
  private pairs(group: readonly EpisodeRecord[]): Omit<Pairs, 'split'> {
    const judged = group.filter((record) => record.verdict.reward !== null);
    const ranked = [...judged].sort((a, b) => (b.verdict.reward ?? 0) - (a.verdict.reward ?? 0) || a.row - b.row);
    const [pairs, turns]: [PreferencePair[], PreferencePair[]] = [[], []];
    for (let best = 0, worst = ranked.length - 1; best < worst; best++, worst--) {
      const pair = pairOf(ranked[best], ranked[worst]);
      if (pair) {
        pairs.push(pair);
        if (!ranked[best].masked?.includes(pair.prompt.length)) turns.push(partingTurn(pair));
      } else if (ranked[best].verdict.reward !== ranked[worst].verdict.reward)
        this.adapt('left out of preference: starts differ');
    }
    return { pairs, turns };
  }
}

function partingTurn(pair: PreferencePair): PreferencePair {
  return { ...pair, chosen: pair.chosen.slice(0, 1), rejected: pair.rejected.slice(0, 1) };
}

/** Undefined where neither is better, or where they do not begin alike. */
function pairOf(better: EpisodeRecord, worse: EpisodeRecord): PreferencePair | undefined {
  const [score_chosen, score_rejected] = [better.verdict.reward, worse.verdict.reward];
  if (score_chosen === null || score_rejected === null || score_chosen === score_rejected) return undefined;
  const [good, bad] = [better, worse].map(({ messages }) =>
    messages.slice(0, lengthToLastTurn(messages)).map(templateMessage),
  );
  const fork = forkOf(good, bad);
  if (fork === 0) return undefined;
  return {
    prompt: good.slice(0, fork),
    chosen: good.slice(fork),
    rejected: bad.slice(fork),
    score_chosen,
    score_rejected,
  };
}

/** Where the agent first acts differently after the same words: that many messages are shared; 0 if there is no such place. */
function forkOf(a: readonly JsonObject[], b: readonly JsonObject[]): number {
  let same = 0;
  while (same < Math.min(a.length, b.length) && canonicalJson(a[same]) === canonicalJson(b[same])) same++;
  while (same > 0 && !(isTurn(a, same) && isTurn(b, same))) same--;
  return same;
}

/** Whether the agent acts at `index`, after somebody else. */
function isTurn(messages: readonly JsonObject[], index: number): boolean {
  const before = messages[index - 1]?.role;
  return messages[index]?.role === 'assistant' && (before === 'user' || before === 'tool');
}
