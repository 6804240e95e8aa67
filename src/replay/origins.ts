// The dictionary of origins: rows share few combinations of backend, versions, scenario, task, policy and seed, so a
// row stores one number. Entries no row refers to any more are dropped, so a long run does not grow without bound.

/** What all rows of one appended batch have in common. */
export interface Origin {
  readonly backend: string;
  readonly modelVersion: string;
  readonly scenario: string;
  readonly task: string;
  readonly policyVersion: string;
  readonly seed: number;
}

/** Below this many entries dropping unused ones is not worth a pass over the rows. */
const COMPACT_FROM = 1024;

export class OriginTable {
  private entries: Origin[] = [];
  private counts: number[] = [];
  private live = 0;
  private readonly ids = new Map<string, number>();

  /** Rebuilds the table of a snapshot: its entries, and the `origin` column that refers to them. */
  static from(entries: readonly Origin[], column: Uint32Array): OriginTable {
    const table = new OriginTable();
    for (const entry of entries) table.add(entry);
    for (let row = 0; row < column.length; row++) table.retain(column[row], 1);
    return table;
  }

  list(): readonly Origin[] {
    return this.entries;
  }

  at(id: number): Origin {
    return this.entries[id];
  }

  /** Number of an origin, new or known. */
  intern(origin: Origin): number {
    return this.ids.get(keyOf(origin)) ?? this.add(origin);
  }

  retain(id: number, rows: number): void {
    if (rows === 0) return;
    if (this.counts[id] === 0) this.live++;
    this.counts[id] += rows;
  }

  release(id: number): void {
    this.counts[id]--;
    if (this.counts[id] === 0) this.live--;
  }

  /** Drops unused entries and renumbers `column` once more than half of the entries are unused. */
  compact(column: Uint32Array): void {
    if (this.entries.length < COMPACT_FROM || this.live * 2 > this.entries.length) return;
    const renumbered = new Uint32Array(this.entries.length);
    const { entries, counts } = this;
    this.entries = [];
    this.counts = [];
    this.ids.clear();
    for (let id = 0; id < entries.length; id++) {
      if (counts[id] === 0) continue;
      renumbered[id] = this.add(entries[id]);
      this.counts[renumbered[id]] = counts[id];
    }
    for (let row = 0; row < column.length; row++) column[row] = renumbered[column[row]];
  }

  private add(origin: Origin): number {
    const id = this.entries.length;
    this.entries.push(origin);
    this.counts.push(0);
    this.ids.set(keyOf(origin), id);
    return id;
  }
}

function keyOf(o: Origin): string {
  return JSON.stringify([o.backend, o.modelVersion, o.scenario, o.task, o.policyVersion, o.seed]);
}
