// How an environment came to be as it is: a snapshot and what was done since. Dynamics are deterministic, so that whoever
// restores the one and does the other has it as it was, to the byte, in any thread.

import type { EnvSnapshot } from '../../env/index.js';
import type { Deed, Past } from './messages.js';

/** Deeds between two snapshots: doing them again after a death must not take long, nor must snapshots at every step. */
const DEEDS_BETWEEN = 64;

export class Journal {
  private state: Past = { deeds: [] };
  /** The snapshot is wanted after every step by whoever has the environment. */
  private isAsked = false;

  get past(): Past {
    return this.state;
  }

  /** A snapshot of this moment, where it is known. */
  get current(): EnvSnapshot | undefined {
    return this.state.deeds.length === 0 ? this.state.snapshot : undefined;
  }

  /** Whether the next deed is to bring a snapshot of the state after it. */
  get wantsSnapshot(): boolean {
    return this.isAsked || this.state.deeds.length >= DEEDS_BETWEEN - 1;
  }

  /** Somebody wants to know the snapshot of this moment, and so perhaps that of the next. */
  ask(): void {
    this.isAsked = true;
  }

  /** The environment did it. @param snapshot  of the state after it, if known */
  record(deed: Deed, snapshot: EnvSnapshot | undefined): void {
    if (deed.kind !== 'restore') this.isAsked = false;
    if (snapshot !== undefined) this.know(snapshot);
    else if (deed.kind === 'restore') this.state = { deeds: [deed] };
    else this.state = { ...this.state, deeds: [...this.state.deeds, deed] };
  }

  /** The snapshot of this moment. */
  know(snapshot: EnvSnapshot): void {
    this.state = { snapshot, deeds: [] };
  }

  /** Answers what brings this moment back. */
  mark(): () => void {
    const { state } = this;
    return () => {
      this.state = state;
    };
  }
}
