// Ids and tokens that nobody may guess: no part of any result, so not of the seeded randomness.

import { randomBytes } from 'node:crypto';

/** 144 bits, safe in a URL and a header. */
export function unguessable(): string {
  return randomBytes(18).toString('base64url');
}
