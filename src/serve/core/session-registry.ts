// Which sessions there are, whose they are, and which there were.

import { LRUCache } from 'lru-cache';
import { reverieError } from '../../core/errors.js';
import type { Session } from './session.js';
import type { CloseReason, Owner } from './session-contract.js';

/** Closed sessions that are still known as such. */
const REMEMBERED_GONE = 10_000;

interface Gone {
  readonly owner: Owner;
  readonly reason: CloseReason;
}

export class SessionRegistry {
  readonly closed: Record<CloseReason, number> = { client: 0, idle: 0, drain: 0, lost: 0, version: 0 };
  private readonly sessions = new Map<string, Session>();
  private readonly perOwner = new Map<Owner, number>();
  private readonly gone = new LRUCache<string, Gone>({ max: REMEMBERED_GONE });

  constructor(private readonly idleSeconds: number) {}

  get size(): number {
    return this.sessions.size;
  }

  all(): readonly Session[] {
    return [...this.sessions.values()];
  }

  countOf(owner: Owner): number {
    return this.perOwner.get(owner) ?? 0;
  }

  get(id: string): Session | undefined {
    return this.sessions.get(id);
  }

  /** @throws SESSION_EXISTS */
  requireFree(id: string): void {
    if (this.sessions.has(id)) throw reverieError('SESSION_EXISTS', { id });
  }

  add(session: Session): void {
    this.sessions.set(session.id, session);
    this.perOwner.set(session.owner, this.countOf(session.owner) + 1);
    this.gone.delete(session.id);
  }

  /** Whether it was there. */
  remove(session: Session, reason: CloseReason): boolean {
    if (this.sessions.get(session.id) !== session) return false;
    this.sessions.delete(session.id);
    const left = this.countOf(session.owner) - 1;
    if (left > 0) this.perOwner.set(session.owner, left);
    else this.perOwner.delete(session.owner);
    this.bury(session.id, session.owner, reason);
    return true;
  }

  /** It is closed, or was found so. */
  bury(id: string, owner: Owner, reason: CloseReason): void {
    this.closed[reason]++;
    this.gone.set(id, { owner, reason });
  }

  /** A session of another owner is as unknown as one that never was. @throws SESSION_UNKNOWN, SESSION_GONE */
  owned(id: string, owner: Owner): Session {
    const session = this.sessions.get(id);
    if (session?.owner === owner) return session;
    throw this.unknown(id, owner);
  }

  /** @param owner  undefined: the operator, who may know of all */
  unknown(id: string, owner: Owner | undefined) {
    const gone = this.sessions.has(id) ? undefined : this.gone.get(id);
    if (gone === undefined || (owner !== undefined && gone.owner !== owner))
      return reverieError('SESSION_UNKNOWN', { id });
    return reverieError('SESSION_GONE', { id, reason: gone.reason, idleSeconds: this.idleSeconds });
  }
}
