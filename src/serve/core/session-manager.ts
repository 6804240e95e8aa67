// Opens and closes sessions, and sees to it that no more episodes are under way than there are slots.

import { EventEmitter } from 'node:events';
import { LRUCache } from 'lru-cache';
import { reverieError } from '../../core/errors.js';
import type { EnvSnapshot } from '../../env/index.js';
import type { Servable } from '../../run/serving/index.js';
import { Deadline, Slots } from './queues.js';
import { Quotas, type SessionLimits } from './quotas.js';
import { Session } from './session.js';
import type { CloseReason, Owner, QuotaLimits, SessionEvent, SlotLease } from './session-contract.js';
import { sessionKey } from './session-ids.js';
import { recordOf, type SessionKeeper } from './session-keeper.js';

type Events = { event: [SessionEvent] };

export interface NewSession {
  readonly served: Servable;
  readonly id: string;
  readonly owner: Owner;
  readonly parent?: string;
  /** It was given one of the slots its maker has taken. */
  readonly hasSlot?: boolean;
  /** Milliseconds since the epoch; now unless given. */
  readonly openedAt?: number;
}

export interface ManagerOptions {
  readonly limits: SessionLimits;
  readonly quotaOf?: (owner: Owner) => QuotaLimits;
  /** Writes sessions down, so that they outlive the process. */
  readonly keeper?: SessionKeeper;
}

export class SessionManager {
  readonly events = new EventEmitter<Events>();
  readonly registry: SessionRegistry;
  readonly slots: Slots;
  readonly quotas: Quotas;
  readonly limits: SessionLimits;
  readonly keeper: SessionKeeper | undefined;
  private readonly reaper: NodeJS.Timeout;
  private readonly removals = new Set<Promise<void>>();
  private readonly lent = new Map<Owner, number>();
  private isDraining = false;

  constructor({ limits, quotaOf, keeper }: ManagerOptions) {
    this.limits = limits;
    this.keeper = keeper;
    this.quotas = new Quotas(quotaOf);
    this.registry = new SessionRegistry(limits.idleSeconds);
    this.slots = new Slots(limits.slots, limits.slotWaitSeconds * 1000);
    this.reaper = setInterval(() => this.reap(), Math.min(limits.idleSeconds * 250, 10_000)).unref();
  }

  /** Before `count` sessions are opened. @throws SERVER_DRAINING, QUOTA_EXCEEDED */
  requireRoom(owner: Owner, count: number): void {
    if (this.isDraining) throw reverieError('SERVER_DRAINING');
    this.quotas.requireSessions(owner, this.registry.countOf(owner) + (this.lent.get(owner) ?? 0), count);
  }

  /** @throws SESSION_EXISTS, SERVER_DRAINING, QUOTA_EXCEEDED */
  add(wanted: NewSession): Session {
    this.requireRoom(wanted.owner, 1);
    this.registry.requireFree(wanted.id, wanted.owner);
    const session = this.place(wanted);
    this.keepOpened(session);
    this.announce({ kind: 'opened', session: session.state });
    return session;
  }

  /** A session that was open before, in another process. */
  place({ hasSlot = false, openedAt = Date.now(), ...rest }: NewSession): Session {
    const session = new Session({
      ...rest,
      openedAt,
      origin: (one) => this.originOf(one),
      grace: this.limits.graceSeconds * 1000,
      onRest: (one) => this.releaseIfOver(one),
      onLost: (one) => void this.remove(one, 'lost'),
    });
    session.hasSlot = hasSlot;
    this.registry.add(session);
    return session;
  }

  /** @throws as `Slots.take` */
  async takeSlot(session: Session, deadline: Deadline): Promise<void> {
    if (session.hasSlot) return;
    await this.slots.take(deadline);
    session.hasSlot = true;
  }

  /** See `Sessions.holdSlots`. Lent slots count as sessions of their owner. */
  async lend(count: number, owner: Owner): Promise<SlotLease> {
    this.requireRoom(owner, count);
    const deadline = new Deadline(this.limits.stepSeconds);
    await this.slots.take(deadline, count).finally(() => deadline.end());
    const add = (more: number) => this.lent.set(owner, (this.lent.get(owner) ?? 0) + more);
    add(count);
    return {
      takeSteps: (steps) => this.quotas.takeStep(owner, steps),
      release: () => {
        add(-count);
        this.slots.release(count);
      },
    };
  }

  /** Resolves once it is closed and has given back its slot, whoever closes it. */
  async remove(session: Session, reason: CloseReason): Promise<void> {
    if (!this.registry.remove(session, reason)) return;
    const removal = this.close(session, reason);
    this.removals.add(removal);
    await removal.finally(() => this.removals.delete(removal));
  }

  /** Observers that fail are warned of; what they look at has happened all the same. */
  announce(event: SessionEvent): void {
    try {
      this.events.emit('event', event);
    } catch (error) {
      process.emitWarning(error as Error);
    }
  }

  /** Takes no new sessions; resolves once those that are there were closed, by their clients or after `seconds`. */
  async drain(seconds: number): Promise<void> {
    this.isDraining = true;
    const patience = new Deadline(seconds);
    await patience.race(this.emptied()).catch(() => {});
    patience.end();
    await Promise.all(this.registry.all().map((session) => this.remove(session, 'drain')));
    await Promise.all(this.removals);
    clearInterval(this.reaper);
    await this.keeper?.close();
  }

  /** Durable soon, and at the latest with its first reset: before that there is nothing to lose. */
  private keepOpened(session: Session): void {
    const kept = this.keeper?.keep({ record: recordOf(session), snapshot: undefined });
    kept?.catch((error: Error) => process.emitWarning(error));
  }

  /** A session that was written down and whose state is not to be read is lost. */
  private originOf(session: Session): EnvSnapshot | undefined {
    if (this.keeper === undefined || session.episode === undefined) return undefined;
    const snapshot = this.keeper.snapshotOf(session.key);
    if (snapshot !== undefined) return snapshot;
    void this.remove(session, 'lost');
    throw this.registry.unknown(session.id, session.owner);
  }

  private emptied(): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.registry.size > 0) return;
        this.events.off('event', look);
        resolve();
      };
      this.events.on('event', look);
      look();
    });
  }

  private async close(session: Session, reason: CloseReason): Promise<void> {
    const { state } = session;
    session.shut(this.registry.unknown(session.id, session.owner));
    // A session that was lost while it was being closed never rests.
    if (reason !== 'lost') await Promise.race([session.ended(), session.whenLost]);
    const closed = this.closeWorld(session);
    if (reason !== 'lost') await closed;
    if (session.hasSlot) {
      session.hasSlot = false;
      this.slots.release();
    }
    // What is drained goes on after a restart, where sessions are kept.
    if (reason !== 'drain') await this.keeper?.forget(session.key);
    this.announce({ kind: 'closed', session: state, reason });
  }

  /** An environment that fails or hangs as it is closed is no reason to keep its slot. */
  private async closeWorld(session: Session): Promise<void> {
    const grace = new Deadline(this.limits.graceSeconds);
    try {
      await grace.race(session.closeWorld());
    } catch (error) {
      process.emitWarning(error as Error);
    } finally {
      grace.end();
    }
  }

  /** An episode that is over needs no slot; the next reset takes one again. */
  private releaseIfOver(session: Session): void {
    if (!session.hasSlot || session.status === 'running') return;
    session.hasSlot = false;
    this.slots.release();
  }

  private reap(): void {
    const before = Date.now() - this.limits.idleSeconds * 1000;
    for (const session of this.registry.all()) {
      if (!session.busy && session.lastUsedAt < before) void this.remove(session, 'idle');
    }
  }
}

// Which sessions there are, whose they are, and which there were. An id is its owner's: two owners may have the same one, and
// neither learns of the other's.

/** Closed sessions that are still known as such. */
const REMEMBERED_GONE = 10_000;

class SessionRegistry {
  readonly closed: Record<CloseReason, number> = { client: 0, idle: 0, drain: 0, lost: 0, version: 0 };
  private readonly sessions = new Map<string, Session>();
  private readonly perOwner = new Map<Owner, number>();
  private readonly gone = new LRUCache<string, CloseReason>({ max: REMEMBERED_GONE });

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

  /** @param key  as `sessionKey` makes it */
  get(key: string): Session | undefined {
    return this.sessions.get(key);
  }

  /** @throws SESSION_EXISTS */
  requireFree(id: string, owner: Owner): void {
    if (this.sessions.has(sessionKey(owner, id))) throw reverieError('SESSION_EXISTS', { id });
  }

  add(session: Session): void {
    this.sessions.set(session.key, session);
    this.perOwner.set(session.owner, this.countOf(session.owner) + 1);
    this.gone.delete(session.key);
  }

  /** Whether it was there. */
  remove(session: Session, reason: CloseReason): boolean {
    if (this.sessions.get(session.key) !== session) return false;
    this.sessions.delete(session.key);
    const left = this.countOf(session.owner) - 1;
    if (left > 0) this.perOwner.set(session.owner, left);
    else this.perOwner.delete(session.owner);
    this.bury(session.id, session.owner, reason);
    return true;
  }

  /** It is closed, or was found so. */
  bury(id: string, owner: Owner, reason: CloseReason): void {
    this.closed[reason]++;
    this.gone.set(sessionKey(owner, id), reason);
  }

  /** A session of another owner is as unknown as one that never was. @throws SESSION_UNKNOWN, SESSION_GONE */
  owned(id: string, owner: Owner): Session {
    const session = this.sessions.get(sessionKey(owner, id));
    if (session !== undefined) return session;
    throw this.unknown(id, owner);
  }

  unknown(id: string, owner: Owner) {
    const reason = this.gone.get(sessionKey(owner, id));
    if (reason === undefined) return reverieError('SESSION_UNKNOWN', { id });
    return reverieError('SESSION_GONE', { id, reason, idleSeconds: this.idleSeconds });
  }
}
