// What became of a dataset's rows: counts in and out of each filter, with reasons, and how diverse the rest is.

import type { DiversityReport } from './diversity.js';

export interface FilterReport {
  readonly name: string;
  /** Episodes before and after it. */
  readonly in: number;
  readonly out: number;
  /** Turns of the agent that are to be learnt, before and after it. */
  readonly turnsIn: number;
  readonly turnsOut: number;
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
  /** In the order in which they were applied: first what episodes mark as not to be learnt (`recipe`), last what is not imitated. */
  readonly filters: readonly FilterReport[];
  readonly splits: Readonly<Record<'train' | 'validation' | 'test', number>>;
  readonly diversity: DiversityReport;
}

/** What one filter did, over episodes in the order of their rows. */
export class FilterTally {
  private readonly counts = { in: 0, out: 0, turnsIn: 0, turnsOut: 0 };
  private readonly repaired = new Map<string, number>();
  readonly dropped = new Map<string, number>();

  constructor(private readonly name: string) {}

  /** @param turnsOut undefined: the episode was dropped */
  add(turnsIn: number, turnsOut: number | undefined, reason?: string): void {
    this.counts.in++;
    this.counts.turnsIn += turnsIn;
    this.counts.turnsOut += turnsOut ?? 0;
    if (turnsOut !== undefined) this.counts.out++;
    if (reason === undefined) return;
    const reasons = turnsOut === undefined ? this.dropped : this.repaired;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }

  report(): FilterReport {
    return { name: this.name, ...this.counts, repaired: sorted(this.repaired), dropped: sorted(this.dropped) };
  }
}

export function sorted(counts: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}
