// `node:util` as far as the page needs it: JSON compared by what it holds.

import equal from 'fast-deep-equal';

/** As Node's, for plain JSON. */
export function isDeepStrictEqual(a: unknown, b: unknown): boolean {
  return equal(a, b);
}
