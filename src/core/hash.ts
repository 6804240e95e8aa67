// What names things by their content: SHA-256, in hexadecimal.

import { createHash } from 'node:crypto';
import { canonicalJson } from './canonical-json.js';

/** 64 hexadecimal digits of the parts one after another; text counts as UTF-8. */
export function sha256(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

/** Of a JSON value, whatever the order of its keys. */
export function contentHash(value: unknown): string {
  return sha256(canonicalJson(value));
}
