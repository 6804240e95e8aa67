// JSON from a stranger: refused if it is nested too deep, mended if it is nearly JSON, never trusted to be small.

import { jsonrepair } from 'jsonrepair';
import type { Json } from '../core/json.js';

export type JsonReading =
  | { readonly ok: true; readonly value: Json; readonly repaired: boolean }
  | { readonly ok: false; readonly problem: string };

/** Longer texts are not mended: what is that long and broken was cut off or is no JSON. */
const LONGEST_REPAIR = 256 * 1024;

/** Reads JSON, which may stand in a code fence or amid a sentence and may have small faults, each mended once. */
export function readJson(text: string, maxDepth: number): JsonReading {
  if (depthExceeds(text, maxDepth)) return { ok: false, problem: `it is nested deeper than ${maxDepth} levels` };
  const whole = parse(text);
  if (whole) return whole;
  const inner = outermostBraces(text);
  const part = inner === undefined ? undefined : parse(inner);
  if (part) return { ...part, repaired: true };
  return repair(inner ?? text, maxDepth);
}

function parse(text: string): { ok: true; value: Json; repaired: boolean } | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return mayOverflow(text) && holdsInfinity(value) ? undefined : { ok: true, value, repaired: false };
  } catch {
    return undefined;
  }
}

function repair(text: string, maxDepth: number): JsonReading {
  const faulty = { ok: false, problem: 'it is not JSON' } as const;
  if (text.length > LONGEST_REPAIR || bracketsExceed(text, maxDepth)) return faulty;
  try {
    const repaired = parse(jsonrepair(text));
    return repaired ? { ...repaired, repaired: true } : faulty;
  } catch (error) {
    return { ok: false, problem: `it is not JSON (${(error as Error).message})` };
  }
}

/** The text from the first opening bracket to the last closing one of its kind. */
function outermostBraces(text: string): string | undefined {
  const start = text.search(/[{[]/);
  if (start < 0) return undefined;
  const end = text.lastIndexOf(text[start] === '{' ? '}' : ']');
  return end > start ? text.slice(start, end + 1) : undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether brackets outside strings are nested deeper than `limit`; looks no further than needed. */
export function depthExceeds(text: string, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > limit) return true;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return false;
}

/** Index of the quote that ends the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}

/** As `depthExceeds`, with all brackets counted: in broken JSON nobody knows where strings end. */
function bracketsExceed(text: string, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x7b || code === 0x5b) {
      if (++depth > limit) return true;
    } else if ((code === 0x7d || code === 0x5d) && depth > 0) depth--;
  }
  return false;
}

/** Numbers beyond the range of doubles are read as Infinity, which JSON cannot hold. */
function mayOverflow(text: string): boolean {
  return /[eE]\+?\d{3}|\d{300}/.test(text);
}

function holdsInfinity(value: Json): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsInfinity);
}
