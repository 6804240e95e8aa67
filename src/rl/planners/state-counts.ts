// Exploring where states are things and not numbers: each is known by its hash, and one seldom seen is worth coming to
// (Strehl & Littman 2008, J. Comput. Syst. Sci. 74; Bellemare et al. 2016, 1606.01868). For `Choices.worth` of the tree search.

export class StateCounts {
  private readonly counts = new Map<string, number>();

  static from(counts: Readonly<Record<string, number>>): StateCounts {
    const found = new StateCounts();
    for (const [hash, count] of Object.entries(counts)) found.counts.set(hash, count);
    return found;
  }

  /** Different states visited. */
  get states(): number {
    return this.counts.size;
  }

  /** A state was come to. @param hash such as `stateHash` of a typed state */
  visit(hash: string): void {
    this.counts.set(hash, (this.counts.get(hash) ?? 0) + 1);
  }

  /** (1 + visits)^(−1/2): 1 for a state never seen. */
  bonus(hash: string): number {
    return 1 / Math.sqrt(1 + (this.counts.get(hash) ?? 0));
  }

  /** Visits by hash: what `from` goes on with. */
  toJSON(): Record<string, number> {
    return Object.fromEntries(this.counts);
  }
}
