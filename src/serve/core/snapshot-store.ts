// States that clients come back to: kept by the hash of what they are, the latest of each owner.

import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { canonicalJson } from '../../canonical-json.js';
import type { EnvSnapshot } from '../../env/index.js';
import { reverieError } from '../../errors.js';
import type { Json } from '../../json.js';
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
  ) {}

  put(owner: Owner, snapshot: Omit<KeptSnapshot, 'id'>): SnapshotRef {
    const { env, stepCount } = snapshot;
    const content = { env, state: snapshot.snapshot.state, stepCount, return: snapshot.return } as unknown as Json;
    const id = createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, 32);
    const max = this.keptOf(owner);
    // A quota of none keeps none.
    if (max === 0) return { id, env, stepCount };
    const own = this.byOwner.get(owner) ?? new LRUCache<string, KeptSnapshot>({ max });
    this.byOwner.set(owner, own.set(id, { ...snapshot, id }));
    return { id, env, stepCount };
  }

  /** @throws SNAPSHOT_UNKNOWN */
  get(owner: Owner, id: string): KeptSnapshot {
    const found = this.byOwner.get(owner)?.get(id);
    if (found === undefined) throw reverieError('SNAPSHOT_UNKNOWN', { id, kept: this.keptOf(owner) });
    return found;
  }

  private keptOf(owner: Owner): number {
    return Math.min(this.most, this.mostOf(owner));
  }
}
