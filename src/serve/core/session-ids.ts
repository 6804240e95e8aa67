// Ids of sessions: what nobody may guess, and whose an id is.

import { randomBytes } from 'node:crypto';
import type { Owner } from './session-contract.js';

/** 144 bits, safe in a URL and a header. No part of any result, so not of the seeded randomness. */
export function unguessable(): string {
  return randomBytes(18).toString('base64url');
}

/** Names one session of the whole server: ids are their owners' own, and two owners may choose the same. */
export function sessionKey(owner: Owner, id: string): string {
  return `${encodeURIComponent(owner)}/${id}`;
}
