// Values in running text: ids and other words with a digit, things with a number, names; and texts with their values taken out.

export interface Span {
  readonly value: string;
  readonly start: number;
  /** Words before it, the nearest first. */
  readonly before: readonly string[];
}

/** `mug 1`, as things are numbered in worlds of text. */
const NUMBERED = /\b\p{Ll}+ \d+\b/gu;
const ID = /[\p{L}\p{N}#_@.+:-]*[\d_@][\p{L}\p{N}#_@.+:-]*/gu;
const NAME = /\b\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+)*/gu;

/** In their order; those that begin at one place longest first. */
export function spansOf(text: string): Span[] {
  const found = new Map<string, Span>();
  const take = (value: string, start: number): void => {
    const trimmed = value.replace(/[.,:;-]+$/, '');
    if (trimmed === '' || found.has(`${start} ${trimmed}`)) return;
    found.set(`${start} ${trimmed}`, { value: trimmed, start, before: wordsBefore(text, start) });
  };
  for (const pattern of [NUMBERED, ID, NAME]) {
    for (const match of text.matchAll(pattern)) {
      take(match[0], match.index);
      if (pattern === NAME) for (const word of match[0].matchAll(/\S+/g)) take(word[0], match.index + word.index);
    }
  }
  return [...found.values()].sort((a, b) => a.start - b.start || b.value.length - a.value.length);
}

const WORDS_BEFORE = 2;

function wordsBefore(text: string, start: number): string[] {
  const words =
    text
      .slice(Math.max(0, start - 60), start)
      .toLowerCase()
      .match(/\p{L}+/gu) ?? [];
  return words.slice(-WORDS_BEFORE).reverse();
}

// A text with its values taken out: the frame, and what stood in it.

export interface TextTemplate {
  /** The text with `{}` for each value. */
  readonly frame: string;
  readonly parts: readonly string[];
}

/** Of all values with a digit; names are left where they are. */
export function templateOf(text: string): TextTemplate {
  let frame = '';
  let at = 0;
  const parts: string[] = [];
  for (const { value, start } of spansOf(text)) {
    if (start < at || !/\d/.test(value)) continue;
    frame += `${text.slice(at, start)}{}`;
    parts.push(value);
    at = start + value.length;
  }
  return { frame: frame + text.slice(at), parts };
}

/** `EMP-1042` is `A-9`, `mug 1` is `a 9`. */
export function shapeOf(value: string | number): string {
  if (typeof value === 'number') return 'number';
  return value
    .replaceAll(/\p{Lu}\p{Ll}+/gu, 'Aa')
    .replaceAll(/\p{Lu}+(?!a)/gu, 'A')
    .replaceAll(/\p{Ll}{2,}/gu, (run) => (run === 'a' ? run : 'a'))
    .replaceAll(/\d+/g, '9');
}

export function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
}
