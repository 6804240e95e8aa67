// What recording and reading the truth both give, and the hashes that identify it.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../../core/canonical-json.js';
import type { VectorTruth } from '../../../../fidelity/index.js';

/** Rows, episodes and starts, without the names that go with them. */
export type TruthRows = Pick<VectorTruth, 'rows' | 'episodes' | 'starts'> & {
  /** Of the rows and the starts. */
  readonly version: string;
  readonly description: string;
  readonly notes: readonly string[];
};

/** Short hash of plain data. */
export function hashOf(...parts: readonly unknown[]): string {
  return createHash('sha256').update(canonicalJson(parts)).digest('hex').slice(0, 32);
}
