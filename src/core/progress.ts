// How long work tells how far it is. Who shows it, a terminal, a server or nothing, is not the work's business.

/** One named stretch of work. Several may be open at once. */
export interface Phase {
  /** `by` more units are done; `note` is free text beside the bar, such as `return 421`. */
  advance(by?: number, note?: string): void;
  /** `done` units are done in all. */
  set(done: number, note?: string): void;
  /** The work is over; the phase's last line stays visible. */
  end(note?: string): void;
}

/** Opens a phase of `total` units (null: unknown), such as `('fit model', 20, 'epochs')`. */
export type OpenPhase = (name: string, total: number | null, unit?: string) => Phase;
