// States that clients come back to: kept by the hash of what they are, the latest of each owner.

import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { canonicalJson } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { Json } from '../../core/json.js';
import type { EnvSnapshot } from '../../env/index.js';
import type { Owner, SnapshotRef } from './session-contract.js';

/** A session's state: its environment's, and what the session counts. */
export interface KeptSnapshot extends SnapshotRef {
  readonly snapshot: EnvSnapshot;
  readonly observation: unknown;
  readonly return: number | null;
  readonly task: string | null;
  readonly seed: number | null;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

export class SnapshotStore {
  private readonly byOwner = new Map<Owner, LRUCache<string, KeptSnapshot>>();

  /**
   * @param most  snapshots kept of each owner; the least recently used make way
   * @param mostOf  of one owner, where it is less
   */
  constructor(
    private readonly most: number,
    private readonly mostOf: (owner: Owner) => number = () => Number.POSITIVE_INFINITY,
    /** Told of those that made way. */
    private readonly onForgotten: (owner: Owner, id: string) => void = () => {},
  ) {}

  put(owner: Owner, snapshot: Omit<KeptSnapshot, 'id'>): KeptSnapshot {
    const { env, stepCount } = snapshot;
    const content = { env, state: snapshot.snapshot.state, stepCount, return: snapshot.return } as unknown as Json;
    const id = createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, 32);
    const kept = { ...snapshot, id };
    this.recall(owner, kept);
    return kept;
  }

  /** One that has its id already. */
  recall(owner: Owner, kept: KeptSnapshot): void {
    const max = this.keptOf(owner);
    // A quota of none keeps none.
    if (max === 0) this.onForgotten(owner, kept.id);
    else this.byOwner.set(owner, (this.byOwner.get(owner) ?? this.storeOf(owner, max)).set(kept.id, kept));
  }

  /** @throws SNAPSHOT_UNKNOWN */
  get(owner: Owner, id: string): KeptSnapshot {
    const found = this.byOwner.get(owner)?.get(id);
    if (found === undefined) throw reverieError('SNAPSHOT_UNKNOWN', { id, kept: this.keptOf(owner) });
    return found;
  }

  private storeOf(owner: Owner, max: number): LRUCache<string, KeptSnapshot> {
    const dispose = (_: KeptSnapshot, id: string, reason: string) => {
      if (reason === 'evict') this.onForgotten(owner, id);
    };
    return new LRUCache<string, KeptSnapshot>({ max, dispose });
  }

  private keptOf(owner: Owner): number {
    return Math.min(this.most, this.mostOf(owner));
  }
}
