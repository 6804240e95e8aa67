// Which split a task belongs to: by hash of its family, so that tasks made from one another never lie on both sides.

import { createHash } from 'node:crypto';
import type { ToolsTask } from '../../env/index.js';

export type Split = 'train' | 'validation' | 'test';

export interface SplitShares {
  /** Shares of all families; the rest is for training. */
  readonly validation: number;
  readonly test: number;
}

/** The task's own split where it says one; else by its family alone: the same family, the same split, in every job. */
export function splitOf(
  { family, split }: Pick<ToolsTask, 'family' | 'split'>,
  { validation, test }: SplitShares,
): Split {
  if (split !== undefined) return split;
  const place = createHash('sha256').update(family).digest().readUInt32BE(0) / 2 ** 32;
  if (place < test) return 'test';
  return place < test + validation ? 'validation' : 'train';
}
