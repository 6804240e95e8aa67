// Whole numbers beyond 2^53, which JavaScript rounds silently, so that an id could become another one. Files,
// logs, calls and replies with such numbers are refused with their path; as strings they keep every digit.

import type { Json } from './canonical-json.js';

/** Strings and numbers in JSON text: digits within a string are no number. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const WHOLE = /^-?\d{16,}$/;

export class RoundedNumber extends SyntaxError {}

/** As `JSON.parse`. @throws RoundedNumber, a SyntaxError, for a whole number that would be rounded */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const isRounded = (token: string) => WHOLE.test(token) && BigInt(token) !== BigInt(Number(token));
  if (!/\d{16}/.test(text) || !text.match(TOKENS)?.some(isRounded)) return value;
  throw new RoundedNumber(roundedSentence(pathOf(value as Json, isBeyond)));
}

/** The problem of a value that was parsed elsewhere, without a full stop; undefined if there is none. */
export function roundedProblem(value: unknown): string | undefined {
  const path = pathOf(value, (part) => isBeyond(part) || (typeof part === 'bigint' && BigInt(Number(part)) !== part));
  return path === undefined ? undefined : roundedSentence(path);
}

function roundedSentence(path = ''): string {
  return `${path === '' ? 'it' : path} is a whole number beyond 2^53, which would be rounded: write it as a text, in quotes`;
}

function isBeyond(part: unknown): boolean {
  return Number.isInteger(part) && !Number.isSafeInteger(part);
}

/** JSON Pointer of the first rounded number. */
function pathOf(value: unknown, isIt: (part: unknown) => boolean): string | undefined {
  if (isIt(value)) return '';
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, part] of Object.entries(value)) {
    const path = pathOf(part, isIt);
    if (path !== undefined) return `/${key}${path}`;
  }
  return undefined;
}
