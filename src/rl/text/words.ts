// Texts as lists of small numbers: words, things with their numbers ("desk 1"), and whole phrases, hashed into one vocabulary.

const WORDS = /\p{L}+|\p{N}+/gu;
const DIGITS = /^\p{N}+$/u;

/** Of words met so far; forgotten as a whole when there are too many. */
const cache = new Map<string, readonly string[]>();
const MAX_CACHED = 50_000;

/** Words in lower case; a number joins the word before it as a further token: `go to desk 1` is go, to, desk, `desk 1`. */
export function tokensOf(text: string): readonly string[] {
  const known = cache.get(text);
  if (known !== undefined) return known;
  const found: string[] = [];
  let word = '';
  for (const [part] of text.toLowerCase().matchAll(WORDS)) {
    if (DIGITS.test(part)) found.push(`${word} ${part}`);
    else found.push(part);
    if (!DIGITS.test(part)) word = part;
  }
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(text, found);
  return found;
}

/** Whether a token names one thing among several of its kind. */
export function isNumbered(token: string): boolean {
  return token.includes(' ');
}

/** What a numbered thing is one of: `desk` of `desk 1`. */
export function kindOf(thing: string): string {
  return thing.slice(0, thing.indexOf(' '));
}

/** The token's place in a vocabulary of `size`: 1 to size - 1, as 0 stands for none (FNV-1a with murmur's finaliser). */
export function placeOf(token: string, size: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < token.length; i++) hash = Math.imul(hash ^ token.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return 1 + (((hash ^ (hash >>> 16)) >>> 0) % (size - 1));
}

/** How much of a text is among others; 0 of no text. */
export function shareOf(tokens: readonly string[], among: ReadonlySet<string>): number {
  return tokens.length === 0 ? 0 : tokens.filter((token) => among.has(token)).length / tokens.length;
}
