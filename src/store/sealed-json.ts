// JSON files that vouch for themselves: beside its content, the object has a `seal`, the SHA-256 of the content's
// canonical JSON. Such a file is accepted only as it was written, byte for byte.

import { contentHash } from '../core/hash.js';

export const SEAL = 'seal';

/** The file's text: the content, indented, with its seal as the last key. */
export function sealedText(content: object): string {
  const seal = contentHash(content);
  return `${JSON.stringify({ ...content, [SEAL]: seal }, null, 2)}\n`;
}

/** The content of a sealed text, without its seal. Throws an Error that says what is wrong with the text ("it …"). */
export function openSealed(text: string): Record<string, unknown> {
  const { [SEAL]: seal, ...content } = parseObject(text);
  if (seal === undefined) throw new Error('it has no seal');
  // Not the seals alone: different texts may be read as one number, and a changed digit is damage.
  if (sealedText(content) !== text) throw new Error('it was changed after it was written: its seal does not fit');
  return content;
}

/** Any JSON object, sealed or not. Throws an Error that says what is wrong with the text ("it …"). */
export function parseObject(text: string): Record<string, unknown> {
  const value = parse(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error('it does not hold an object');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`it is not JSON (${(error as Error).message})`, { cause: error });
  }
}
