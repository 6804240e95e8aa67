// What became of a dataset's rows: counts in and out of each filter, with reasons, and how diverse the rest is.

import type { DiversityReport } from './diversity.js';

export interface FilterReport {
  readonly name: string;
  readonly in: number;
  readonly out: number;
  /** Note of the repair to number of episodes. */
  readonly repaired: Readonly<Record<string, number>>;
  /** Reason to number of episodes. */
  readonly dropped: Readonly<Record<string, number>>;
}

export interface DatasetReport {
  readonly in: number;
  readonly out: number;
  /** Of these, episodes good enough to be imitated. */
  readonly imitated: number;
  /** In the order in which they were applied. */
  readonly filters: readonly FilterReport[];
  readonly splits: Readonly<Record<'train' | 'validation' | 'test', number>>;
  readonly diversity: DiversityReport;
}
