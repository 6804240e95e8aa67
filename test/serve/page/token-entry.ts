// Tokens of servers that only some may use.

import { createHash } from 'node:crypto';

/** A token that is its owner's name. */
export function tokenOf(owner: string, operator: boolean) {
  return { owner, operator, quota: {}, sha256: createHash('sha256').update(owner).digest('hex') };
}
