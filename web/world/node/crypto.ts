// `node:crypto` as far as the page needs it: SHA-256, at once and not in a later turn, as states are named by it.

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

const bytesOf = (part: string | Uint8Array) => (typeof part === 'string' ? new TextEncoder().encode(part) : part);

/** @param algorithm always `sha256` */
export function createHash(algorithm: string) {
  requireSha256(algorithm);
  const hash = sha256.create();
  const chain = {
    update(part: string | Uint8Array) {
      hash.update(bytesOf(part));
      return chain;
    },
    /** @param encoding always `hex` */
    digest: (_encoding: 'hex') => bytesToHex(hash.digest()),
  };
  return chain;
}

export function hash(algorithm: string, text: string): string {
  requireSha256(algorithm);
  return bytesToHex(sha256(bytesOf(text)));
}

function requireSha256(algorithm: string): void {
  if (algorithm !== 'sha256') throw new Error(`no ${algorithm} on this page`);
}
