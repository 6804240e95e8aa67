// Values in running text: ids and other words with a digit, things with a number, names.

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
