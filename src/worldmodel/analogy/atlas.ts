// What was recorded of each game by itself: where commands lead to, how places look when one comes there, which commands are listed at a
// moment, and what a step forward is worth.

import { placeOf, type ShownMoment } from '../../env/index.js';
import type { Act } from './act.js';
import { wordsOf } from './phrases.js';
import type { RecordedStep } from './recorded-walks.js';
import { substituted } from './retelling.js';
import { sentencesOf } from './sentences.js';

type IsKnown = (step: RecordedStep) => boolean;

export class Atlas {
  /** Steps that led to another place, by task. */
  private readonly moves = new Map<string, RecordedStep[]>();
  /** Steps by task and what is seen and held after them. */
  private readonly arrived = new Map<string, RecordedStep[]>();
  private readonly gains = new Map<string, RecordedStep[]>();
  private readonly scores: readonly number[];

  constructor(steps: readonly RecordedStep[]) {
    for (const step of steps) {
      const { before, after, task } = step;
      if (placeOf(before.look) !== placeOf(after.look)) put(this.moves, task, step);
      if (after.score > before.score) put(this.gains, task, step);
      put(this.arrived, keyOf(task, after), step);
      put(this.arrived, keyOf(task, before), step);
    }
    this.scores = [...new Set(steps.map(({ after }) => after.score))].sort((a, b) => a - b);
  }

  /** What is seen where `recorded` led to another place; undefined where that place is not known. */
  arrival(
    recorded: RecordedStep,
    asked: Act,
    pairs: readonly (readonly [string, string])[],
    isKnown: IsKnown,
  ): string | undefined {
    const { moment, command } = asked;
    const own = (this.moves.get(moment.task) ?? []).filter(isKnown);
    const here = placeOf(moment.look);
    const same = own.find(({ before, text }) => text === command.text && placeOf(before.look) === here);
    const place = same === undefined ? named(recorded, moment.look, pairs) : placeOf(same.after.look);
    if (place === undefined) return undefined;
    const left = moment.left[place];
    if (left !== undefined) return left;
    const there = own.filter(({ after, before }) => placeOf(after.look) === place && before.left[place] === undefined);
    const first = there.find(({ before, text }) => text === command.text && placeOf(before.look) === here) ?? there[0];
    return first?.after.look;
  }

  /** Commands that were listed when the same was seen and held. */
  listed(task: string, after: ShownMoment, isKnown: IsKnown): readonly string[] | undefined {
    for (const step of this.arrived.get(keyOf(task, after)) ?? []) {
      if (!isKnown(step)) continue;
      const found = [step.after, step.before].find((one) => keyOf(task, one) === keyOf(task, after) && !one.done);
      if (found?.admissible !== undefined) return found.admissible;
    }
    return undefined;
  }

  /** What a step forward most often brings in a game. */
  gainOf(task: string, isKnown: IsKnown): number | undefined {
    const counts = new Map<number, number>();
    for (const { before, after } of (this.gains.get(task) ?? []).filter(isKnown)) {
      const gain = Math.round((after.score - before.score) * 1e6) / 1e6;
      counts.set(gain, (counts.get(gain) ?? 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
  }

  /** As a game would write it. */
  scoreNear(score: number): number {
    return this.scores.find((known) => Math.abs(known - score) < 1e-4) ?? Math.min(1, Math.round(score * 1e6) / 1e6);
  }
}

/** The place that our look names where theirs named the one that they came to. */
function named(
  { before, after }: RecordedStep,
  look: string,
  pairs: readonly (readonly [string, string])[],
): string | undefined {
  if (pairs.length === 0) return undefined;
  const [theirs, ours] = pairs[pairs.length - 1];
  const speaks = (text: string, name: string) => {
    const words = ` ${wordsOf(name).join(' ')} `;
    return sentencesOf(text).find(({ content }) => ` ${wordsOf(content).join(' ')} `.includes(words))?.content;
  };
  const [was, here] = [speaks(before.look, theirs), speaks(look, ours)];
  if (was === undefined || here === undefined) return undefined;
  return substituted(was.trim(), placeOf(after.look), here.trim());
}

function keyOf(task: string, { look, inventory }: Pick<ShownMoment, 'look' | 'inventory'>): string {
  return [task, look, inventory].join('\u0000');
}

function put<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
