// A text as sentences, each with the lists in it: `a counter that has [a knife, an egg] on it`. What a command changes is a thing in a list,
// or a sentence; how the lists are written, and how sentences at a place of a line begin, is found in the records.

/** A sentence with what follows it up to the next, or a line. */
export interface Sentence {
  /** Without the words that all sentences at its place begin with. */
  readonly content: string;
  readonly startsLine: boolean;
}

export interface ReadSentence {
  /** What stands before, between and after the lists. */
  readonly parts: readonly string[];
  readonly lists: readonly (readonly string[])[];
}

/** What sentences begin with, by their place in a line: `There is also `. */
export type Openings = ReadonlyMap<string, string>;

const NO_OPENINGS: Openings = new Map();

/** @param facet  what kind of text it is: openings are those of its kind */
export function sentencesOf(text: string, facet = '', openings: Openings = NO_OPENINGS): Sentence[] {
  return text.split('\n').flatMap((line, l) => {
    const found = line.match(/.*?[.!?:](?:\s+|$)|.+$/g) ?? [''];
    return found.map((whole, p): Sentence => {
      const opening = openings.get(placeKey(facet, l, p)) ?? '';
      const content = opening !== '' && whole.startsWith(opening) ? `${MARK}${whole.slice(opening.length)}` : whole;
      return { content, startsLine: p === 0 };
    });
  });
}

/** Stands for the opening of whichever place a sentence comes to stand at. */
const MARK = '\u0001';

export function textOf(sentences: readonly Sentence[], facet = '', openings: Openings = NO_OPENINGS): string {
  let [line, place] = [-1, 0];
  return sentences
    .map(({ content, startsLine }, i) => {
      [line, place] = startsLine || i === 0 ? [line + 1, 0] : [line, place + 1];
      const opening = openings.get(placeKey(facet, line, place)) ?? '';
      return `${startsLine && i > 0 ? '\n' : ''}${content.replace(MARK, () => opening)}`;
    })
    .join('');
}

function placeKey(facet: string, line: number, place: number): string {
  return `${facet} ${line} ${place}`;
}

/** Places whose sentences were seen to go on in so many ways have an opening, if they begin alike. */
const WAYS = 4;

/** What the sentences at each place of recorded texts begin with. */
export function openingsOf(texts: Iterable<readonly [facet: string, text: string]>): Openings {
  const seen = new Map<string, Set<string>>();
  for (const [facet, text] of texts) {
    let [line, place] = [-1, 0];
    for (const { content, startsLine } of sentencesOf(text)) {
      [line, place] = startsLine ? [line + 1, 0] : [line, place + 1];
      const key = placeKey(facet, line, place);
      seen.set(key, (seen.get(key) ?? new Set()).add(content));
    }
  }
  const common = new Map<string, string>();
  for (const [key, sentences] of seen) {
    // The first names the place: it stays where it is.
    if (sentences.size < WAYS || key.endsWith(' 0')) continue;
    const opening = commonWords([...sentences]);
    if (opening !== '') common.set(key, opening);
  }
  return repeated(new Map([...common].map(([key, opening]) => [key, agreed(opening, key, common, seen)])));
}

/** Places in a line that openings are thought of for, and places after which they may come again. */
const PLACES = 40;
const MOST_TURNS = 8;

/** Openings that come in turn do so at places, too, where few sentences were seen. */
function repeated(known: Map<string, string>): Openings {
  const lines = new Set([...known.keys()].map((key) => key.slice(0, key.lastIndexOf(' '))));
  for (const line of lines) {
    const at = (place: number) => known.get(`${line} ${place}`);
    const places = Array.from({ length: PLACES }, (_, i) => i + 1);
    for (let turn = 1; turn <= MOST_TURNS; turn++) {
      const told = places.filter((place) => at(place) !== undefined && at(place + turn) !== undefined);
      if (told.length < 2 || !told.every((place) => at(place) === at(place + turn))) continue;
      for (const place of places) {
        const before = at(place - turn);
        if (at(place) === undefined && before !== undefined) known.set(`${line} ${place}`, before);
      }
      break;
    }
  }
  return known;
}

function commonWords(texts: readonly string[]): string {
  const words = texts[0].split(/(?<= )/);
  let count = words.length - 1;
  for (const text of texts) {
    const own = text.split(/(?<= )/);
    let same = 0;
    while (same < count && own[same] === words[same]) same++;
    count = same;
  }
  return words.slice(0, count).join('');
}

/** An opening is too long where all that was seen after it begins alike by chance: as much is left to the sentences as they have elsewhere. */
function agreed(
  opening: string,
  key: string,
  common: ReadonlyMap<string, string>,
  seen: ReadonlyMap<string, Set<string>>,
) {
  const elsewhere = new Set<string>();
  for (const [other, sentences] of seen) {
    const theirs = common.get(other);
    if (other === key || theirs === undefined) continue;
    for (const cut of cuts(theirs)) for (const sentence of sentences) elsewhere.add(sentence.slice(cut.length));
  }
  const shared = (cut: string) =>
    [...seen.get(key)!].filter((sentence) => elsewhere.has(sentence.slice(cut.length))).length;
  const worth = cuts(opening).map((cut) => ({ cut, shared: shared(cut) }));
  return worth.reduce((best, one) => (one.shared > best.shared ? one : best)).cut;
}

/** An opening, and it without its last word or two. */
function cuts(opening: string): string[] {
  const words = opening.split(/(?<= )/);
  return [0, 1, 2].flatMap((less) => (words.length > less ? [words.slice(0, words.length - less).join('')] : []));
}

/** How sentences mention things of such names. */
export class SentenceReader {
  private readonly thing: RegExp | undefined;
  private readonly read = new Map<string, ReadSentence>();
  private readonly articles = new Map<string, string>();

  /** @param names  of things; longer ones are looked for first */
  constructor(names: Iterable<string>) {
    const written = [...new Set([...names].filter((name) => name !== ''))].sort(
      (a, b) => b.length - a.length || (a < b ? -1 : 1),
    );
    if (written.length === 0) return;
    const any = written.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
    this.thing = new RegExp(`(?<![\\p{L}\\p{N}])(?:(?:an?|the|some) )?(?:${any})(?![\\p{L}\\p{N}])`, 'giu');
  }

  sentence(content: string): ReadSentence {
    const known = this.read.get(content);
    if (known !== undefined) return known;
    const parts: string[] = [];
    const lists: string[][] = [];
    let end = 0;
    for (const { 0: item, index } of this.thing === undefined ? [] : content.matchAll(this.thing)) {
      const between = content.slice(end, index);
      if (lists.length > 0 && SEPARATORS.includes(between)) lists.at(-1)!.push(item);
      else {
        parts.push(between);
        lists.push([item]);
      }
      end = index + item.length;
    }
    parts.push(content.slice(end));
    const found = { parts, lists };
    this.read.set(content, found);
    for (const item of lists.flat()) {
      const name = nameOf(item).toLowerCase();
      if (!/^the /i.test(item) && !this.articles.has(name)) this.articles.set(name, item);
    }
    return found;
  }

  /** A thing as the sentences read so far have it where they speak of it first: `an egg`; undefined where they never do. */
  articled(name: string): string | undefined {
    return this.articles.get(name.toLowerCase());
  }
}

/** A thing without its article. */
export function nameOf(item: string): string {
  return item.replace(/^(?:an?|the|some) /i, '');
}

const SEPARATORS = [', ', ', and ', ' and '];

/** How things are listed: one, two, and more of them. */
export function listed(items: readonly string[], { two, last }: Listing): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')}${items.length === 2 ? two : last}${items.at(-1)}`;
}

/** What stands before the last thing: of two, and of more. */
export interface Listing {
  readonly two: string;
  readonly last: string;
}

/** As the texts do it most often. */
export function listingOf(texts: Iterable<string>): Listing {
  const counts = { plain: 0, comma: 0 };
  for (const text of texts) {
    counts.comma += text.split(', and ').length - 1;
    counts.plain += text.split(/(?<!,) and /).length - 1;
  }
  const and = counts.comma >= counts.plain ? ', and ' : ' and ';
  return { two: and, last: and };
}

export function written({ parts, lists }: ReadSentence, listing: Listing): string {
  return parts.map((part, i) => `${part}${i < lists.length ? listed(lists[i], listing) : ''}`).join('');
}
