// What an action is answered: its answers with the names of things taken out. Names that the action knows stay as variables, runs of
// names ("a pen 1, a mug 2, and a cup 1") become lists of what some fact speaks of. Where there are several answers, each is told
// from the others by what holds afterwards.

import { splitByNames } from '../../worldmodel/situation.js';
import type { Literal } from '../pddl/read-task.js';
import { isSo, listed, saidOf, type Wording, writeLiteral } from './operator.js';
import { argumentsFor, type Frame, type Try, type Vocabulary } from './tries.js';

/** What may stand between two things of a list. */
const BETWEEN = /^(?:,\s+|\s+and\s+|,\s+and\s+)(?:(?:an?|the|some)\s+)?$/;
/** Conditions that a wording may have. */
const MOST_CONDITIONS = 5;
/** Kinds of answers beyond which they are not worded at all. */
const MOST_WORDINGS = 40;

interface Shown {
  readonly one: Try;
  readonly text: string;
  readonly lists: readonly { readonly things: readonly string[]; readonly between: readonly string[] }[];
}

/** Each of the tries that were carried out and whose answer is known counts. */
export function wordingsOf(frame: Frame, vocabulary: Vocabulary): Wording[] {
  const told = frame.tries.accepted.filter(({ observation }) => observation !== undefined);
  const groups = new Map<string, Shown[]>();
  for (const one of told) {
    const shown = shownBy(one, frame);
    groups.set(shown.text, [...(groups.get(shown.text) ?? []), shown]);
  }
  if (groups.size > MOST_WORDINGS) return [];
  const drafts = [...groups].flatMap(([text, shown]) => {
    const lists = shown[0].lists.map((_, i) => listOf(shown, i, frame, vocabulary));
    return lists.includes(undefined) ? [] : [{ text, shown, lists: lists as Wording['lists'] }];
  });
  const features = groups.size === 1 ? [] : featuresOf(frame, vocabulary);
  const truths = new Map(
    told.map((one) => [one, features.map((text) => isSo(text, frame.bindings.get(one)!, one.after))]),
  );
  return drafts.map(({ text, shown, lists }): Wording => {
    const own = new Set(shown.map(({ one }) => one));
    const others = told.filter((one) => !own.has(one));
    const when = tellingApart([...own], others, truths).map((i) => features[i]);
    const wording = { text, when, lists, support: 0, counterExamples: 0 };
    const fits = told.filter((one) => when.every((each) => isSo(each, frame.bindings.get(one)!, one.after)));
    const right = fits.filter(
      (one) => saidOf([wording], frame.bindings.get(one)!, one.after)?.text === one.observation,
    );
    return { ...wording, support: right.length, counterExamples: fits.length - right.length };
  });
}

/** The answer with variables for what the action knows, and lists for runs of names and for single names that it does not know. */
function shownBy(one: Try, { bindings }: Frame): Shown {
  const { between, objects } = splitByNames(one.observation!, one.before.scene);
  const names = new Map([...bindings.get(one)!].reverse().map(([name, object]) => [object, name]));
  const lists: Shown['lists'][number][] = [];
  let text = between[0];
  for (let i = 0; i < objects.length; i++) {
    const from = i;
    while (i + 1 < objects.length && BETWEEN.test(between[i + 1])) i += 1;
    const name = names.get(objects[from]);
    if (from < i || name === undefined) {
      lists.push({ things: objects.slice(from, i + 1), between: between.slice(from + 1, i + 1) });
      text += `{list ${lists.length}}`;
    } else text += `{${name}}`;
    text += between[i + 1];
  }
  return { one, text, lists };
}

/** What a list has in all answers of a form; undefined where nothing fits more than half of them. */
function listOf(
  shown: readonly Shown[],
  place: number,
  { bindings, types }: Frame,
  { places }: Vocabulary,
): Wording['lists'][number] | undefined {
  const lists = shown.map(({ lists }) => lists[place]);
  const last = lists.find(({ things }) => things.length > 1)?.between.at(-1);
  const between = lists.find(({ things }) => things.length > 2)?.between[0];
  let best: string | undefined;
  let most = shown.length / 2;
  for (const link of linksOf(places, types)) {
    const of = writeLiteral(link);
    const right = shown.filter(({ one }, i) => {
      const { things } = lists[i];
      const found = listed(of, bindings.get(one)!, one.after);
      return found.length === things.length && found.every((thing, at) => thing === things[at]);
    }).length;
    if (right > most) [best, most] = [of, right];
  }
  if (best === undefined) return undefined;
  return { of: best, ...(between !== undefined && { between }), ...(last !== undefined && { last }) };
}

/** Facts of two things of which the action knows one, and facts of one thing. */
function linksOf(places: Vocabulary['places'], types: Frame['types']): Literal[] {
  return [...places].flatMap(([predicate, at]): Literal[] => {
    if (at.length === 1) return [{ predicate, args: ['?'], negated: false }];
    if (at.length !== 2) return [];
    return at.flatMap((own, place) =>
      argumentsFor([own], types).map(([name]): Literal => {
        return { predicate, args: place === 0 ? [name, '?'] : ['?', name], negated: false };
      }),
    );
  });
}

function featuresOf({ types }: Frame, { places }: Vocabulary): string[] {
  const whole = [...places].flatMap(([predicate, at]) =>
    argumentsFor(at, types).map((args): Literal => ({ predicate, args, negated: false })),
  );
  const open = linksOf(places, types);
  return [...whole, ...open].flatMap((literal) => [literal, { ...literal, negated: true }].map(writeLiteral));
}

/** Features that hold in all of these, and together in as few as can be of the others. */
function tellingApart(
  own: readonly Try[],
  others: readonly Try[],
  truths: ReadonlyMap<Try, readonly boolean[]>,
): number[] {
  const count = truths.get(own[0])?.length ?? 0;
  const common = Array.from({ length: count }, (_, i) => i).filter((i) => own.every((one) => truths.get(one)![i]));
  const chosen: number[] = [];
  let left = others;
  while (left.length > 0 && chosen.length < MOST_CONDITIONS) {
    let best = -1;
    let rest = left;
    for (const i of common) {
      const still = left.filter((one) => truths.get(one)![i]);
      if (still.length < rest.length) [best, rest] = [i, still];
    }
    if (best < 0) break;
    chosen.push(best);
    left = rest;
  }
  return chosen;
}
