// Calls by their task id, so that a client whose stream broke gets the answer of the call it made, not a second step.

import { LRUCache } from 'lru-cache';
import type { Owner } from '../../core/session-contract.js';
import { unguessable } from '../../core/unguessable.js';

/** How a call ended; `text` is what the stream's last event carries. */
export interface Outcome {
  readonly event: 'end' | 'error';
  readonly text: string;
}

export interface Call {
  readonly id: string;
  /** Never rejects. */
  readonly outcome: Promise<Outcome>;
}

interface Entry extends Call {
  readonly session: string;
  readonly owner: Owner;
}

/** Milliseconds that the outcome of a call is kept (ORS, call stream). */
const LINGER = 60_000;
/** Characters of all outcomes that are kept; the oldest make way. */
const KEPT = 64 << 20;

export class CallTable {
  private readonly running = new Map<string, Entry>();
  private readonly finished = new LRUCache<string, Entry>({ maxSize: KEPT, ttl: LINGER });

  start(session: string, owner: Owner, work: () => Promise<Outcome>): Call {
    const entry: Entry = { id: unguessable(), session, owner, outcome: work() };
    this.running.set(entry.id, entry);
    void entry.outcome.then(({ text }) => {
      this.running.delete(entry.id);
      this.finished.set(entry.id, entry, { size: text.length + 1 });
    });
    return entry;
  }

  /** The call of this id that was made in this session. */
  find(id: string, session: string, owner: Owner): Call | undefined {
    const entry = this.running.get(id) ?? this.finished.get(id);
    return entry?.session === session && entry.owner === owner ? entry : undefined;
  }
}
