// What a recorded command made of a text, made of another one: the same sentences change, those that mention what plays the same part, and
// in them the same lists.

import { wordsOf } from './phrases.js';
import {
  type Listing,
  nameOf,
  type Openings,
  type ReadSentence,
  type Sentence,
  type SentenceReader,
  sentencesOf,
  textOf,
  written,
} from './sentences.js';

export interface RetellingOptions {
  /** Names of the recorded command and of the one that is asked about, pair by pair. */
  readonly pairs: readonly (readonly [theirs: string, ours: string])[];
  readonly theirs: SentenceReader;
  readonly ours: SentenceReader;
  readonly openings: Openings;
  readonly listing: Listing;
}

/** Places of a sentence before and after. */
type Became = readonly [before: number | undefined, after: number | undefined];

interface Hunk {
  readonly removed: readonly number[];
  readonly added: readonly number[];
}

export class Retelling {
  constructor(private readonly options: RetellingOptions) {}

  /** @returns undefined where the texts have too little in common for it */
  text(facet: string, before: string, after: string, asked: string): string | undefined {
    if (before === after) return asked;
    if (before === asked && this.isSame) return after;
    const { openings } = this.options;
    const [was, is, here] = [before, after, asked].map((text) => sentencesOf(text, facet, openings));
    const made: (Sentence | undefined)[] = [...here];
    const fresh = new Map<number, Sentence[]>();
    const taken = new Set<number>();
    for (const { removed, added } of hunksOf(was, is)) {
      const pairs = paired(removed, added, was, is);
      if (!this.hasAsMany(pairs, was, is, here)) return undefined;
      for (const [b, a] of pairs) {
        const at = b === undefined ? undefined : this.part(was[b], here, taken, b - was.length);
        if (b !== undefined && at === undefined) return undefined;
        if (at !== undefined) taken.add(at);
        if (a === undefined) made[at!] = undefined;
        else if (at === undefined) {
          const place = this.placeOf(a, is, was, here);
          fresh.set(place, [...(fresh.get(place) ?? []), { ...is[a], content: this.told(is[a].content) }]);
        } else {
          const content = this.changed(was[b!].content, is[a].content, here[at].content);
          if (content === undefined) return undefined;
          made[at] = { ...here[at], content };
        }
      }
    }
    const all = [...made, undefined].flatMap((sentence, i) => [
      ...(fresh.get(i) ?? []),
      ...(sentence ? [sentence] : []),
    ]);
    return textOf(all, facet, openings);
  }

  /** Of lines that come or go, whether there are others of their kind: the first and the last of a kind may change more than others. */
  private hasAsMany(
    pairs: readonly Became[],
    was: readonly Sentence[],
    is: readonly Sentence[],
    here: readonly Sentence[],
  ) {
    const { theirs, ours } = this.options;
    const shape = ({ content }: Sentence, reader: SentenceReader) => reader.sentence(content).parts.join('[]');
    const count = (list: readonly Sentence[], reader: SentenceReader, kind: string) =>
      list.filter((one) => one.startsLine && shape(one, reader) === kind).length;
    return pairs.every(([b, a]) => {
      const one = b === undefined ? is[a!] : was[b];
      const kind = shape(one, theirs);
      if (!one.startsLine || (b !== undefined && a !== undefined && shape(is[a], theirs) === kind)) return true;
      const least = b === undefined ? 0 : 1;
      return count(was, theirs, kind) > least === count(here, ours, kind) > least;
    });
  }

  /** A text that says what was done, with our names for theirs. */
  told(text: string): string {
    const { theirs, listing } = this.options;
    if (this.isSame) return text;
    const { parts, lists } = theirs.sentence(text);
    return written({ parts, lists: lists.map((items) => items.map((item) => this.item(item))) }, listing);
  }

  private get isSame(): boolean {
    return this.options.pairs.every(([theirs, ours]) => theirs === ours);
  }

  /** Our thing for theirs, as our texts have it; others are what they are. */
  private item(item: string): string {
    const name = nameOf(item);
    const pair = this.options.pairs.find(([theirs]) => theirs.toLowerCase() === name.toLowerCase());
    if (pair === undefined) return item;
    const [theirs, ours] = pair;
    const article = item.slice(0, item.length - theirs.length);
    if (article === '' || /^the /i.test(article)) return `${article}${ours}`;
    const found = this.options.ours.articled(ours) ?? `${article}${ours}`;
    return /^\p{Lu}/u.test(article) ? `${found[0].toUpperCase()}${found.slice(1)}` : found;
  }

  /** The sentence that plays the part of a recorded one. */
  private part(
    was: Sentence,
    here: readonly Sentence[],
    taken: ReadonlySet<number>,
    fromEnd: number,
  ): number | undefined {
    const { theirs, ours, pairs } = this.options;
    const read = theirs.sentence(was.content);
    const named = pairs.filter(([name]) => mentions(read, name));
    const template = read.parts.join('[]');
    const words = new Set(wordsOf(template));
    let best: { readonly at: number; readonly worth: number } | undefined;
    for (const [at, { content, startsLine }] of here.entries()) {
      if (taken.has(at)) continue;
      const found = ours.sentence(content);
      if (!named.every(([, name]) => mentions(found, name))) continue;
      const isAlike = found.parts.join('[]') === template;
      if (named.length === 0 && content !== was.content && !isAlike) continue;
      const own = wordsOf(found.parts.join(' '));
      const shared = own.filter((word) => words.has(word)).length / Math.max(1, words.size, own.length);
      const worth =
        (content === was.content ? 3 : 0) +
        (isAlike ? 2 : 0) +
        shared +
        (startsLine === was.startsLine ? 0.25 : 0) +
        (at - here.length === fromEnd ? 0.1 : 0);
      if (best === undefined || worth > best.worth) best = { at, worth };
    }
    return best?.at;
  }

  /** A sentence as it becomes where the recorded one became another. */
  private changed(was: string, is: string, here: string): string | undefined {
    const { theirs, ours, listing } = this.options;
    if (was === here && this.isSame) return is;
    const [b, a, s] = [theirs.sentence(was), theirs.sentence(is), ours.sentence(here)];
    if (b.parts.join('[]') === s.parts.join('[]')) {
      const lists = this.lists(b, a, s);
      return lists && written({ parts: a.parts, lists }, listing);
    }
    return b.lists.length === s.lists.length ? substituted(was, is, here) : undefined;
  }

  private lists(b: ReadSentence, a: ReadSentence, s: ReadSentence): string[][] | undefined {
    const used = new Set<number>();
    const lists: string[][] = [];
    for (const [j, items] of a.lists.entries()) {
      const i = b.lists.findIndex(
        (list, k) =>
          !used.has(k) && (a.lists.length === b.lists.length ? k === j : list.some((item) => items.includes(item))),
      );
      if (i < 0) {
        lists.push(items.map((item) => this.item(item)));
        continue;
      }
      used.add(i);
      const gone = b.lists[i].filter((item) => !items.includes(item)).map((item) => this.item(item));
      const come = items.filter((item) => !b.lists[i].includes(item)).map((item) => this.item(item));
      if (gone.some((item) => !s.lists[i].includes(item))) return undefined;
      const kept = s.lists[i].filter((item) => !gone.includes(item));
      const isFirst = items.length > 1 && come.length > 0 && !b.lists[i].includes(items[0]);
      const made = isFirst ? [...come, ...kept] : [...kept, ...come];
      if (made.length === 0) return undefined;
      lists.push(made);
    }
    // A list of which nothing is left there must be empty here, too.
    const isOver = b.lists.every((list, i) => {
      if (used.has(i)) return true;
      const gone = list.map((item) => this.item(item));
      return s.lists[i].every((item) => gone.includes(item));
    });
    return isOver ? lists : undefined;
  }

  /** Before which of our sentences a new one comes: before that which it stands before there, or as far from the end. */
  private placeOf(a: number, is: readonly Sentence[], was: readonly Sentence[], here: readonly Sentence[]): number {
    const next = is.slice(a + 1).find(({ content }) => was.some((one) => one.content === content));
    const at = next === undefined ? -1 : here.findLastIndex(({ content }) => content === next.content);
    return at >= 0 ? at : Math.max(0, here.length - (is.length - 1 - a));
  }
}

function mentions({ lists }: ReadSentence, name: string): boolean {
  const plain = name.toLowerCase();
  return lists.some((items) => items.some((item) => nameOf(item).toLowerCase() === plain));
}

/** Runs of sentences that went and came, by a longest common subsequence. */
function hunksOf(was: readonly Sentence[], is: readonly Sentence[]): Hunk[] {
  const hunks: Hunk[] = [];
  let [removed, added]: [number[], number[]] = [[], []];
  const close = () => {
    if (removed.length + added.length > 0) hunks.push({ removed, added });
    [removed, added] = [[], []];
  };
  for (const [b, a] of alignment(
    was.map(({ content }) => content),
    is.map(({ content }) => content),
  )) {
    if (b !== undefined && a !== undefined) close();
    else if (b !== undefined) removed.push(b);
    else added.push(a!);
  }
  close();
  return hunks;
}

/** Of a hunk, what became what. */
function paired(
  removed: readonly number[],
  added: readonly number[],
  was: readonly Sentence[],
  is: readonly Sentence[],
): Became[] {
  const pairs: Became[] = [];
  const left = [...added];
  for (const b of removed) {
    const own = new Set(wordsOf(was[b].content));
    const alike = left.map((a) => {
      const words = wordsOf(is[a].content);
      return words.filter((word) => own.has(word)).length / Math.max(1, own.size, words.length);
    });
    const best = alike.indexOf(Math.max(...alike));
    const isPair =
      left.length > 0 && (alike[best] >= HALF || (removed.length === 1 && added.length === 1 && alike[best] > 0));
    pairs.push([b, isPair ? left.splice(best, 1)[0] : undefined]);
  }
  return [...pairs, ...left.map((a): Became => [undefined, a])];
}

const HALF = 0.5;

/** Places of both, in order; alike ones together. */
export function alignment(
  ours: readonly string[],
  theirs: readonly string[],
): [number | undefined, number | undefined][] {
  const [n, m] = [ours.length, theirs.length];
  const best = new Uint16Array((n + 1) * (m + 1));
  const at = (i: number, j: number) => i * (m + 1) + j;
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--)
      best[at(i, j)] =
        ours[i] === theirs[j] ? 1 + best[at(i + 1, j + 1)] : Math.max(best[at(i + 1, j)], best[at(i, j + 1)]);
  const found: [number | undefined, number | undefined][] = [];
  let [i, j] = [0, 0];
  while (i < n || j < m) {
    if (i < n && j < m && ours[i] === theirs[j]) found.push([i++, j++]);
    else if (j >= m || (i < n && best[at(i + 1, j)] >= best[at(i, j + 1)])) found.push([i++, undefined]);
    else found.push([undefined, j++]);
  }
  return found;
}

/** `is` with our words in the place of theirs, where the two sentences before differ by words alone. */
export function substituted(was: string, is: string, here: string): string | undefined {
  const [b, s] = [tokensOf(was), tokensOf(here)];
  const runs: [string, string][] = [];
  let [theirs, ours] = ['', ''];
  let same = 0;
  for (const [i, j] of [...alignment(b, s), [undefined, undefined] as const]) {
    if (i !== undefined && j === undefined) theirs += b[i];
    else if (j !== undefined && i === undefined) ours += s[j];
    else {
      if ((theirs === '') !== (ours === '')) return undefined;
      if (theirs !== '') runs.push([theirs, ours]);
      [theirs, ours] = ['', ''];
      same += i === undefined ? 0 : 1;
    }
  }
  if (same < b.length * HALF) return undefined;
  let text = is;
  for (const [from, to] of runs) text = replacedWord(text, from, to);
  return text;
}

function replacedWord(text: string, from: string, to: string): string {
  const plain = from.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}])${plain}(?![\\p{L}\\p{N}])`, 'giu'), () => to);
}

/** Words, and what stands between them. */
function tokensOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}]+|[^\p{L}\p{N}]+/gu) ?? [];
}
