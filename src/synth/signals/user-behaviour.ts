// Compares simulated with recorded users: how much they write, when they state facts, how often they correct themselves, and
// how they end the conversation.

import type { Block } from '../../core/report.js';
import { mean, median } from '../../core/statistics.js';
import { type Message, spokenMessages } from '../../env/tools/message.js';

const CORRECTS =
  /\b(?:i meant|i mean\b|correction|my mistake|my bad|wrong (?:one|number|id|order|reservation)|i misspoke|mistyped|scratch that)\b|\b(?:sorry|apologi[sz]e|actually|oops)\b[^.!?]{0,60}\b(?:instead|wrong|rather|not|should be|it is|it's)\b/i;
const THANKS =
  /\b(?:thank|thanks|bye|goodbye|that(?:'s| is| will be|'ll be) all|nothing else|have a (?:nice|good|great))\b/i;
const FIGURE = /[\w-]*\d[\w-]*/g;

/** Statistics over conversations. */
export class UserBehaviour {
  private readonly turns: number[] = [];
  private readonly words: number[] = [];
  private readonly openings: number[] = [];
  /** Shares of a user's ids and numbers that were in its opening. */
  private readonly openingShares: number[] = [];
  private corrected = 0;
  private readonly ends = { thanks: 0, agent: 0, open: 0 };

  get conversations(): number {
    return this.turns.length;
  }

  add(messages: readonly Message[]): void {
    const texts = spokenMessages(messages).flatMap(({ role, content }) => (role === 'user' ? [content] : []));
    if (texts.length === 0) return;
    const lengths = texts.map((text) => text.split(/\s+/).filter(Boolean).length);
    this.turns.push(texts.length);
    this.openings.push(lengths[0]);
    this.words.push(...lengths.slice(1));
    const figures = texts.map((text) => new Set(text.match(FIGURE) ?? []));
    const all = new Set(figures.flatMap((each) => [...each]));
    if (all.size > 0) this.openingShares.push(figures[0].size / all.size);
    if (texts.slice(1).some((text) => CORRECTS.test(text))) this.corrected += 1;
    const isUsers = messages.at(-1)?.role === 'user';
    this.ends[!isUsers ? 'agent' : THANKS.test(texts.at(-1)!) ? 'thanks' : 'open'] += 1;
  }

  /** For a report. */
  get figures(): Readonly<Record<string, number | null>> {
    const { turns, words, openings, openingShares, corrected, ends } = this;
    const share = (count: number) => rounded(count / Math.max(1, turns.length));
    const figure = (values: number[], of = median) => (values.length === 0 ? null : rounded(of(values)));
    return {
      conversations: turns.length,
      'turns of a user, mean': rounded(mean(turns)),
      'words of the opening, median': figure(openings),
      'words of a later turn, median': figure(words),
      'ids and numbers told in the opening, share': figure(openingShares, mean),
      'correct themselves, share': share(corrected),
      'leave with thanks or a goodbye, share': share(ends.thanks),
      'are left by the agent, share': share(ends.agent),
      'end otherwise, share': share(ends.open),
    };
  }
}

const rounded = (value: number) => Math.round(100 * value) / 100;

/** Empty if there is nothing to compare. */
export function behaviourTable(simulated: UserBehaviour, recorded: UserBehaviour): Block[] {
  if (simulated.conversations === 0 || recorded.conversations === 0) return [];
  const [ours, theirs] = [simulated.figures, recorded.figures];
  const rows = Object.keys(ours).map((name) => [name, ...[ours, theirs].map((all) => String(all[name] ?? '–'))]);
  const note = 'Recorded: the users of experience.logs. Simulated: without users that failed.';
  return [
    {
      kind: 'table',
      title: 'Simulated users beside recorded ones',
      columns: ['', 'simulated', 'recorded'],
      rows,
      note,
    },
  ];
}
