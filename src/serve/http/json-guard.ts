// JSON from strangers: measured before it is parsed, so that no depth, number of keys or prototype key gets any further.

import secureJson from 'secure-json-parse';
import { reverieError } from '../../core/errors.js';
import { HTTP_LIMITS, type HttpLimits } from './http-limits.js';

export type JsonLimits = Pick<HttpLimits, 'jsonDepth' | 'jsonValues'>;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/**
 * The value of a JSON text.
 * @throws REQUEST_INVALID for what is not JSON, too deep, of too many values, or has a key that reaches a prototype
 */
export function parseJson(text: string, limits: JsonLimits = HTTP_LIMITS): unknown {
  refuseUnbounded(text, limits);
  try {
    return secureJson.parse(text);
  } catch (error) {
    throw invalid(`not JSON that can be used: ${(error as Error).message}`, error);
  }
}

/** One pass over the text, without recursion. */
function refuseUnbounded(text: string, { jsonDepth, jsonValues }: JsonLimits): void {
  // As many characters hold no more levels or values than that.
  if (text.length <= Math.min(jsonDepth, jsonValues)) return;
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA) values++;
    else if (OPENING.has(code)) {
      values++;
      if (++depth > jsonDepth) throw invalid(`nested deeper than ${jsonDepth} levels`);
    } else if (CLOSING.has(code)) depth--;
    if (values > jsonValues) throw invalid(`more than ${jsonValues} values`);
  }
}

/** Where the string that starts at `from` ends. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at;
  }
  return text.length;
}

function invalid(problem: string, cause?: unknown) {
  return reverieError('REQUEST_INVALID', { problem }, cause);
}
